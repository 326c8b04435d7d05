/* SPDX-License-Identifier: BSD-3-Clause */
/* A barrier moves no data, so it is checked by what it promises. */
#ifndef FB_COLLECTIVES_BARRIER_CHECK_H
#define FB_COLLECTIVES_BARRIER_CHECK_H

#include "collectives/state.h"

/*
 * Collective (the harness checks on all ranks at the same point). Enters the instance's barrier
 * several times, a different rank late each time, and looks whether all ranks of this host had
 * entered when this one left; each that had not is one error, whose index is the rank. Ranks of
 * other hosts cannot be seen. Returns 0 or the engine's error.
 */
int fb_barrier_check(struct fb_collective_instance *instance, struct fb_mismatch *bad);

#endif
