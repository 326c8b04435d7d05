/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much longer a decode worker's steps take while a cache is on its way to it. Steps with more
 * requests take longer anyway, and when more requests come, more caches arrive. So only steps with
 * equal numbers of requests are compared. And a transfer is more likely to begin during a long step
 * than during a short one. So a step during which a transfer began is compared with a mean of the
 * steps without transfers in which each step has the weight of its time.
 */
#ifndef FB_KVTRANSFER_SERVE_INTERFERENCE_H
#define FB_KVTRANSFER_SERVE_INTERFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fb_step_kind {
	FB_STEP_ALONE,	   /* without a transfer */
	FB_STEP_UNDER_WAY, /* a transfer had begun before */
	FB_STEP_BEGINNING, /* the first transfer began during it */
	FB_STEP_KINDS,
};

/* The steps of one number of requests. */
struct fb_step_times {
	double seconds[FB_STEP_KINDS];
	uint64_t steps[FB_STEP_KINDS];
	double squares; /* of the times of steps alone, summed up */
};

void fb_step_times_add(struct fb_step_times *times, enum fb_step_kind kind, double seconds);

/*
 * Adds to *with the time of all steps that had a transfer, and to *without the time that they would
 * have taken without one, by the mean of steps with as many requests and no transfer. Numbers of
 * requests without such steps are left out. *with / *without is the interference.
 */
void fb_step_times_sum(const struct fb_step_times *times, size_t n, double *with, double *without);

/* The steps of a worker. */
struct fb_step_watch {
	struct fb_step_times *times; /* by their requests */
	uint32_t requests;	     /* of the last step */
	double began;		     /* the turn, before it looks at messages and mover */
	double seconds;		     /* from there to the end of the last step; 0: counted */
	bool moving;		     /* a transfer was under way when the step began */
};

/*
 * Call it in each turn after looking at messages and mover. `seen`: transfers that the turn has
 * seen, `left`: those of them still under way during the turn's step. Counts the previous turn's
 * step, during which some of the seen transfers may have begun and ended.
 */
void fb_step_watch_begin(struct fb_step_watch *watch, uint32_t seen, uint32_t left, double began);
/* The turn's step is computed. */
void fb_step_watch_end(struct fb_step_watch *watch, uint32_t requests, double now);

#endif
