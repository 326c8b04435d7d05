/* SPDX-License-Identifier: BSD-3-Clause */
/* How much longer made-up steps take with a transfer under way; see serve/interference.h. */
#include "common/base/rng.h"
#include "kvtransfer/serve/interference.h"
#include "tests/unit/check.h"

enum { MANY = 200000 };

static void add_steps(struct fb_step_times *times, int n, enum fb_step_kind kind, double seconds)
{
	for (int k = 0; k < n; k++)
		fb_step_times_add(times, kind, seconds);
}

/*
 * Steps of 1, 2 and 4 requests take 10, 20 and 40 ms, and 1.5 times as long with a transfer under
 * way. Means of all steps would say 57 ms to 12.5 ms, because most transfers are beside many
 * requests. Steps of 8 requests, all beside transfers, have nothing to be compared with.
 */
static void test_interference(void)
{
	const double alone = 0.01 + 2 * 0.02 + 27 * 0.04;
	struct fb_step_times times[9] = {{.squares = 0}};
	double with = 0, without = 0;

	add_steps(&times[1], 90, FB_STEP_ALONE, 0.01);
	add_steps(&times[1], 1, FB_STEP_UNDER_WAY, 0.015);
	add_steps(&times[2], 1, FB_STEP_ALONE, 0.01);
	add_steps(&times[2], 1, FB_STEP_ALONE, 0.03);
	add_steps(&times[2], 2, FB_STEP_UNDER_WAY, 0.03);
	add_steps(&times[4], 8, FB_STEP_ALONE, 0.04);
	add_steps(&times[4], 20, FB_STEP_UNDER_WAY, 0.06);
	add_steps(&times[4], 7, FB_STEP_BEGINNING, 0.06);
	add_steps(&times[8], 5, FB_STEP_UNDER_WAY, 7);
	add_steps(&times[3], 5, FB_STEP_ALONE, 7);
	fb_step_times_sum(times, 9, &with, &without);
	CHECK_NEAR(with, 1.5 * alone, 1e-9);
	CHECK_NEAR(without, alone, 1e-9);
	/* A worker's sums come on top of another's. */
	fb_step_times_sum(times, 9, &with, &without);
	CHECK_NEAR(with, 3 * alone, 1e-9);
	CHECK_NEAR(without, 2 * alone, 1e-9);
	with = without = 0;
	fb_step_times_sum(&times[8], 1, &with, &without);
	CHECK(with == 0 && without == 0);
}

/*
 * Steps of 1 to 9 ms, which transfers do not slow down, or slow down by 1.2. Transfers begin at any
 * time and end at once or after 30 ms. Most of them begin in long steps: with a plain mean of the
 * steps alone, the quotients would be 1.08 and 1.30.
 */
static void test_unlike_steps(void)
{
	for (int i = 0; i < 2; i++) {
		struct fb_step_times times = {.squares = 0};
		double now = 0, next = 0.05, until = 0, with = 0, without = 0;
		double slower = i ? 1.2 : 1;
		struct fb_step_watch watch = {.times = &times};
		bool seen = false; /* a transfer, by the worker's look behind the last step */
		struct fb_rng rng;

		fb_rng_seed(&rng, 11);
		for (int k = 0; k < MANY; k++) {
			double step = 0.001 + 0.008 * fb_rng_unit(&rng);
			bool moving = now < until;
			bool begins = !moving && next < now + step;

			fb_step_watch_begin(&watch, seen, moving, now);
			step *= moving || begins ? slower : 1;
			now += step;
			fb_step_watch_end(&watch, 0, now);
			seen = moving || begins;
			if (!begins)
				continue;
			until = next + (fb_rng_unit(&rng) < 0.7 ? 0 : 0.03);
			next = now - 0.5 * log(1 - fb_rng_unit(&rng));
		}
		fb_step_times_sum(&times, 1, &with, &without);
		CHECK_NEAR(with / without, slower, 0.01);
	}
}

/*
 * Turns of 10 ms, the k-th of which begins at 10 k ms. A transfer begins during the third and ends
 * during the fifth. Another one begins and ends during the sixth, before any turn has seen it.
 */
static void test_watch(void)
{
	static const uint32_t seen[] = {0, 0, 0, 1, 1, 1, 1}, left[] = {0, 0, 0, 1, 1, 0, 0};
	struct fb_step_times times[3] = {{.squares = 0}};
	struct fb_step_watch watch = {.times = times};

	for (int k = 0; k < 7; k++) {
		fb_step_watch_begin(&watch, seen[k], left[k], 0.01 * k);
		if (k != 1) /* which has no step */
			fb_step_watch_end(&watch, k < 5 ? 2 : 1, 0.01 * k + 0.007);
	}
	CHECK_INT(times[2].steps[FB_STEP_ALONE], 1);
	CHECK_INT(times[2].steps[FB_STEP_BEGINNING], 1);
	CHECK_INT(times[2].steps[FB_STEP_UNDER_WAY], 2);
	CHECK_INT(times[1].steps[FB_STEP_BEGINNING], 1);
	CHECK_NEAR(times[2].seconds[FB_STEP_UNDER_WAY], 0.014, 1e-9);
	CHECK_NEAR(times[2].squares, 0.007 * 0.007, 1e-9);
}

int main(void)
{
	test_interference();
	test_unlike_steps();
	test_watch();
	return check_done("interference");
}
