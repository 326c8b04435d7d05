/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moments of ranks on several hosts, on the clock of rank 0.
 *
 * The offset between a host's clock and that of rank 0 is measured at two marks, before and after
 * what is timed, and is taken to change evenly between them (clocksync.h). Ranks of one host read
 * one clock: marks then do nothing, moments stay as they are, and the error is 0.
 */
#ifndef FB_COMMON_MEASURE_MOMENTS_H
#define FB_COMMON_MEASURE_MOMENTS_H

#include "common/measure/clocksync.h"

/* Zeroed: no mark yet. */
struct fb_moments {
	int marks;		 /* 0, 1, or 2: two and more */
	double at[2], offset[2]; /* s, at the first and the last mark: this clock - rank 0's */
	double mark_error_s[2];
	/*
	 * How far the difference between moments of two hosts can be wrong, at most: by half of
	 * the fastest ping-pong, and by what clocks drift apart while a mark is made. Equal on all
	 * ranks.
	 */
	double error_s;
};

/*
 * Collective over the world: the first or another mark. Calls after the second one replace the
 * second. Takes some ms for each host; up to 0.1 s, and three times that, where messages are slow.
 * Returns the same on all ranks: 0 or FB_ENOMEM (printed).
 */
int fb_moments_mark(const struct fb_group *world, const struct fb_time_source *source,
		    struct fb_moments *m);

/* Pure: rank 0's time at this rank's time t, which should be between the marks. */
double fb_moments_global(const struct fb_moments *m, double t);

#endif
