/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives all ranks a common time.
 *
 * Ranks of one host read the same clock, so their offsets are not estimated. Ping-pongs only prove
 * that the difference to rank 0's clock can be zero, because time name spaces and broken counters
 * exist. Between hosts each clock is modelled as a line relative to rank 0's:
 *
 *	offset(t) = intercept + slope * (t - epoch)	global = t - offset(t)
 *
 * by the method of Hunold and Carpen-Amarie ("Hierarchical clock synchronization in MPI", 2018,
 * HCA3): a binomial tree, in which each child fits its line to many offsets measured against
 * its parent's already corrected clock, and serves as a parent from then on. An offset is
 * bounded by ping-pongs as in SKaMPI: the parent's stamp lies between sending and receiving.
 * Afterwards every clock is checked against rank 0's directly, and the bound says how far off
 * it can be. Clocks drift on, so that the lines are good for about 10 s.
 */
#ifndef FB_COMMON_MEASURE_CLOCKSYNC_H
#define FB_COMMON_MEASURE_CLOCKSYNC_H

#include "common/system/group.h"

#include <stddef.h>

/* The clock to synchronise, in seconds; tests put an artificial one here. */
struct fb_time_source {
	double (*now)(void *arg);
	void *arg;
};

/* fb_time_source.now of a struct fb_clock. */
double fb_clocksync_now(void *clock);

struct fb_clocksync_config {
	unsigned points;    /* offsets per line: 100 is good; 1: the line has no slope */
	unsigned exchanges; /* ping-pongs per offset, at least 1; 20 is good */
	double span_s;	    /* time over which the points are spread: longer, better slope */
	bool each_rank;	    /* learn a line for every rank, not for every host */
	bool keep_zero;	    /* one host: only prove that the offset can be zero */
};

/* This rank's line. */
struct fb_clock_line {
	double epoch, intercept, slope; /* s, s, s per s */
};

struct fb_clocksync {
	struct fb_clock_line line;
	double bound_us;    /* over all ranks: how far a corrected clock may be from rank 0's */
	double residual_us; /* over all ranks: the largest offset seen in the final check */
	bool agrees;	    /* keep_zero: on all ranks zero lies within the bounds */
};

/* Bounds of (rank 0's or the parent's clock - this rank's clock) at local time t. */
struct fb_clock_offset {
	double t, low, high; /* s */
};

/*
 * Pure. Least squares over points (middle of each one's bounds), but for those whose bounds are
 * much wider than the tightest quarter's. At least 2 points at different times, else the slope
 * is 0. The line predicts offset = own clock - reference clock.
 */
struct fb_clock_line fb_clocksync_fit(const struct fb_clock_offset *point, size_t n);

/* Pure. The reference's time at local time t. */
double fb_clocksync_to_global(const struct fb_clock_line *line, double t);

/*
 * Collective over the world. Returns the same value on all ranks: 0 or FB_ENOMEM (printed).
 * Takes about span_s for each of the log2 levels of the tree.
 */
int fb_clocksync_run(const struct fb_group *world, const struct fb_time_source *source,
		     const struct fb_clocksync_config *config, struct fb_clocksync *sync);

#endif
