/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The self-test of the harness before the first measurement: the cost of its clock, the skew with
 * which ranks leave its barrier, and the agreement of the ranks' clocks.
 *
 * The results go into environment.csv. They decide the flag `timer` of each row, and the flag
 * `skew` of rows that cannot measure the skew themselves (several hosts).
 */
#ifndef FB_COMMON_MEASURE_SELFTEST_H
#define FB_COMMON_MEASURE_SELFTEST_H

#include "common/measure/barrier.h"
#include "common/measure/clock.h"
#include "common/measure/clocksync.h"
#include "common/measure/watchdog.h"
#include "common/system/environment.h"

struct fb_selftest {
	struct fb_clock_cost timer; /* the slowest rank's */
	double skew_median_us, skew_p95_us;
	unsigned skew_samples;
	struct fb_clocksync sync; /* this rank's line, all ranks' bounds */
	bool one_host;
};

/*
 * Collective, after fb_clock_open on every rank: makes the ranks of each host use one clock and
 * one calibration, that of the host's first rank.
 */
void fb_selftest_share_clock(const struct fb_group *world, struct fb_clock *clock);

/*
 * Collective; takes about 0.1 s (0.5 s for each level of the tree of hosts, if several). Limits
 * that are exceeded are warned of by rank 0. Returns the same value on all ranks: 0 or
 * FB_ENOMEM (printed).
 */
int fb_selftest_run(const struct fb_group *world, const struct fb_clock *clock,
		    struct fb_barrier *barrier, struct fb_watchdog *watchdog,
		    struct fb_selftest *test);

/* Adds the results as facts (equal on all ranks). */
void fb_selftest_facts(const struct fb_selftest *test, const struct fb_clock *clock,
		       struct fb_facts *facts);

#endif
