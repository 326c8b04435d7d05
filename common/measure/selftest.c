/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness's test of itself; see selftest.h. */
#include "common/base/error.h"
#include "common/measure/selftest.h"
#include "common/measure/stats.h"

#include <math.h>
#include <stdlib.h>

enum { TIMER_PAIRS = 100000, SKEW_FIRST = 20, SKEW_MAX = 1000 };

static const double skew_time_s = 0.05; /* to spend on barriers */
static const double timer_limit_ns = 100, bound_limit_us = 2;

void fb_selftest_share_clock(const struct fb_group *world, struct fb_clock *clock)
{
	int counter = clock->counter;

	MPI_Allreduce(MPI_IN_PLACE, &counter, 1, MPI_INT, MPI_MIN, world->node_comm);
	if (clock->counter && !counter)
		*clock = (struct fb_clock){.seconds_per_tick = 1e-9, .name = "monotonic_raw"};
	MPI_Bcast(&clock->seconds_per_tick, 1, MPI_DOUBLE, 0, world->node_comm);
}

/*
 * Measures how far apart ranks leave a barrier, on rank 0's clock: ends[i] becomes the last rank's
 * time, and ends[n + i] minus the first rank's, so that one reduction (maximum) gives both.
 */
static int measure_skew(const struct fb_group *world, const struct fb_clock *clock,
			struct fb_barrier *barrier, struct fb_watchdog *watchdog,
			struct fb_selftest *test)
{
	double *ends = calloc(4 * SKEW_MAX, sizeof(*ends));
	double epoch = fb_clock_now(clock), used = 0;
	int err = ends ? FB_OK : fb_error(FB_ENOMEM, "out of memory for the self test");
	unsigned n = SKEW_FIRST;

	err = fb_group_agree(world, err);
	if (err || !ends)
		goto free_ends;
	/* Rank 0's epoch for all, so that the differences keep their digits. */
	epoch = fb_clocksync_to_global(&test->sync.line, epoch);
	MPI_Bcast(&epoch, 1, MPI_DOUBLE, 0, world->comm);
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < n; i++) {
			fb_watchdog_step(watchdog, FB_PHASE_SELF_TEST);
			fb_barrier_wait(barrier);
			used = fb_clock_now(clock);
			ends[i] = fb_clocksync_to_global(&test->sync.line, used) - epoch;
			ends[n + i] = -ends[i];
		}
		/* The first pass warms up and says how many the second can afford. */
		used = (ends[n - 1] - ends[0]) / (n - 1);
		if (pass == 0)
			n = (unsigned)fmin(fmax(skew_time_s / fmax(used, 1e-9), SKEW_FIRST),
					   SKEW_MAX);
		MPI_Bcast(&n, 1, MPI_UNSIGNED, 0, world->comm);
	}
	MPI_Allreduce(MPI_IN_PLACE, ends, (int)(2 * n), MPI_DOUBLE, MPI_MAX, world->comm);
	for (unsigned i = 0; i < n; i++)
		ends[i] = (ends[i] + ends[n + i]) * 1e6;
	fb_sort(ends, n, ends + 2 * SKEW_MAX);
	test->skew_median_us = fb_sorted_median(ends, n);
	test->skew_p95_us = fb_sorted_quantile(ends, n, 0.95);
	test->skew_samples = n;
free_ends:
	free(ends);
	return err;
}

static void warn_of_limits(const struct fb_group *world, const struct fb_selftest *test)
{
	if (world->rank != 0)
		return;
	if (test->timer.median_ns > timer_limit_ns)
		fb_warn("reading the clock twice takes %.0f ns: times below %.1f us are poor",
			test->timer.median_ns, test->timer.median_ns * 20e-3);
	if (test->one_host && !test->sync.agrees)
		fb_warn("the ranks' clocks differ by up to %.3f us although they share a host",
			test->sync.bound_us);
	else if (!world->oversubscribed && test->sync.bound_us > bound_limit_us && !test->one_host)
		fb_warn("clocks of different hosts agree to %.1f us only", test->sync.bound_us);
}

int fb_selftest_run(const struct fb_group *world, const struct fb_clock *clock,
		    struct fb_barrier *barrier, struct fb_watchdog *watchdog,
		    struct fb_selftest *test)
{
	struct fb_clock copy = *clock;
	const struct fb_time_source source = {fb_clocksync_now, &copy};
	struct fb_selftest result = {.one_host = fb_group_one_host(world)};
	const struct fb_clocksync_config config = {
		.points = 100, .exchanges = 20, .span_s = 0.5, .keep_zero = result.one_host};
	double cost[3];
	int err;

	fb_watchdog_step(watchdog, FB_PHASE_SELF_TEST);
	result.timer = fb_clock_measure(clock, TIMER_PAIRS);
	cost[0] = result.timer.median_ns;
	cost[1] = result.timer.p99_ns;
	cost[2] = result.timer.step_ns;
	MPI_Allreduce(MPI_IN_PLACE, cost, 3, MPI_DOUBLE, MPI_MAX, world->comm);
	result.timer = (struct fb_clock_cost){cost[0], cost[1], cost[2]};
	fb_watchdog_step(watchdog, FB_PHASE_SELF_TEST);
	err = fb_clocksync_run(world, &source, &config, &result.sync);
	if (!err)
		err = measure_skew(world, clock, barrier, watchdog, &result);
	if (err)
		return err;
	warn_of_limits(world, &result);
	*test = result;
	return FB_OK;
}

void fb_selftest_facts(const struct fb_selftest *test, const struct fb_clock *clock,
		       struct fb_facts *facts)
{
	fb_facts_add(facts, "selftest.clock", "%s", clock->name);
	fb_facts_add(facts, "selftest.timer_median_ns", "%.1f", test->timer.median_ns);
	fb_facts_add(facts, "selftest.timer_p99_ns", "%.1f", test->timer.p99_ns);
	fb_facts_add(facts, "selftest.clock_step_ns", "%.1f", test->timer.step_ns);
	fb_facts_add(facts, "selftest.barrier_skew_median_us", "%.4f", test->skew_median_us);
	fb_facts_add(facts, "selftest.barrier_skew_p95_us", "%.4f", test->skew_p95_us);
	fb_facts_add(facts, "selftest.barrier_skew_samples", "%u", test->skew_samples);
	fb_facts_add(facts, "selftest.clock_bound_us", "%.4f", test->sync.bound_us);
	fb_facts_add(facts, "selftest.clock_residual_us", "%.4f", test->sync.residual_us);
	fb_facts_add(facts, "selftest.clock_method", "%s",
		     test->one_host ? "one host, offset 0 proved" : "HCA3");
	if (test->one_host)
		fb_facts_add(facts, "selftest.clock_agrees", "%s",
			     test->sync.agrees ? "yes" : "no");
}
