/* SPDX-License-Identifier: BSD-3-Clause */
/* Times between ranks on several hosts, whose clocks differ; see common/measure/moments.h. */
#ifndef FB_KVTRANSFER_HANDOFF_CLOCK_H
#define FB_KVTRANSFER_HANDOFF_CLOCK_H

#include "common/measure/moments.h"

struct fb_handoff_instance;

/* Ranks whose moments a time compares. */
enum fb_handoff_ends { FB_ENDS_SENDERS, FB_ENDS_RECEIVERS, FB_ENDS_BOTH, FB_HANDOFF_ENDS };

/* The clocks of a case. Members are equal on all ranks, except for `moments`. */
struct fb_handoff_clock {
	struct fb_moments moments;
	bool apart[FB_HANDOFF_ENDS]; /* on several hosts */
	bool unknown;		     /* some time was not known */
	bool wrong;		     /* some time was below 0 by more than its error */
};

/* Collective: which ends are apart. in: this rank takes part in a transfer. */
void fb_handoff_find_ends(struct fb_handoff_instance *i, bool in, bool receives);
/* Collective: a mark before, or behind, what is timed. 0 or FB_ENOMEM (printed) on all ranks. */
int fb_handoff_mark(struct fb_handoff_instance *i);
/* This rank's moment on the clock of rank 0. */
double fb_handoff_global(const struct fb_handoff_instance *i, double t);
/* How far a time between the ends can be wrong at most, in us; 0: they are on one host. */
double fb_handoff_error_us(const struct fb_handoff_instance *i, enum fb_handoff_ends ends);
/*
 * Returns the time; or NAN if it is not longer than its error (sets `unknown`), or if it is below 0
 * by more than its error (sets `wrong`: a clock, or the estimate of the error, was not right).
 */
double fb_handoff_known(struct fb_handoff_instance *i, double us, enum fb_handoff_ends ends);

#endif
