/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock against the kernel's: rate, order, and the step that all its differences share, for
 * the processor's counter where there is one and for CLOCK_MONOTONIC_RAW.
 */
#include "common/clock.h"
#include "common/error.h"
#include "tests/unit/check.h"

static void test_clock(const struct fb_clock *clock)
{
	const struct fb_clock kernel = {.seconds_per_tick = 1e-9, .name = "monotonic_raw"};
	struct fb_clock_cost cost = fb_clock_measure(clock, 100000),
			     few = fb_clock_measure(clock, 1);
	uint64_t start = fb_clock_ticks(clock), ns = fb_clock_ticks(&kernel), last = start;
	double steps, worst = 0;

	printf("%s: read twice %.1f ns, p99 %.1f ns, step %.3f ns\n", clock->name, cost.median_ns,
	       cost.p99_ns, cost.step_ns);
	CHECK(cost.median_ns > 0 && cost.median_ns < 10000);
	CHECK(cost.median_ns < 2 * cost.p99_ns); /* preemptions do not get in */
	CHECK(few.median_ns >= 0 && few.p99_ns >= 0);
	CHECK(cost.step_ns > 0 && cost.step_ns <= 1000);
	for (int i = 0; i < 100000; i++) {
		uint64_t now = fb_clock_ticks(clock);

		CHECK(now >= last);
		last = now;
		steps = fb_clock_seconds(clock, now - start) * 1e9 / cost.step_ns;
		worst = fmax(worst, fabs(steps - round(steps)));
	}
	CHECK(worst < 0.01);
	while (fb_clock_ticks(&kernel) - ns < 50000000)
		;
	ns = fb_clock_ticks(&kernel) - ns;
	/* A preemption between readings of both clocks costs milliseconds on a busy machine. */
	CHECK_NEAR(fb_clock_seconds(clock, fb_clock_ticks(clock) - start) / ((double)ns * 1e-9), 1,
		   0.5);
}

int main(void)
{
	const struct fb_clock kernel = {.seconds_per_tick = 1e-9, .name = "monotonic_raw"};
	struct fb_clock clock;

	CHECK_INT(fb_clock_open(&clock), FB_OK);
	test_clock(&clock);
	test_clock(&kernel);
	return check_done("clock");
}
