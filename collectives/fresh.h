/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --producer: each call has an input of its own, written right before it, and its output is
 * compared right behind it. On GPUs kernels do both, on the stream of the calls or in one graph
 * with them. Results that were computed from the input of the call before are wrong then.
 */
#ifndef FB_COLLECTIVES_FRESH_H
#define FB_COLLECTIVES_FRESH_H

#include "collectives/state.h"

/* Pure: whether a case can have a producer. Writes the reason otherwise. */
bool fb_fresh_can(const struct fb_case *c, enum fb_producer producer, enum fb_collective collective,
		  char reason[FB_REASON_CHARS]);

/* Sets instance->fresh; the instance's request is prepared. 0 or an error (printed). */
int fb_fresh_open(struct fb_collective_instance *instance);
void fb_fresh_close(struct fb_collective_instance *instance);

/* These functions have the contract of fb_program's members of the same name. */
int fb_fresh_prime(struct fb_collective_instance *instance);
int fb_fresh_ready(struct fb_collective_instance *instance, int calls);
int fb_fresh_run(struct fb_collective_instance *instance, int calls);
int fb_fresh_check(struct fb_collective_instance *instance, struct fb_mismatch *bad);

/* The columns fresh_calls, stale_calls and stale_bound. Collective. */
void fb_fresh_describe(const struct fb_collective_instance *instance, struct fb_traits *traits);

#endif
