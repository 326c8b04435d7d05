/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for the best bucket against an exhaustive one, on synthetic timings: what it finds
 * takes at most 2% more than the best size of all, for steps bound by latency, by bandwidth and by
 * computing, without noise and with noise within the intervals; and it ends.
 */
#include "overlap/frame/golden.h"

#include <math.h>

#include "common/base/rng.h"
#include "tests/unit/check.h"

/*
 * A step with buckets of 2^x bytes: each collective costs a latency, what is communicated while
 * backward goes on is hidden, and the last bucket is exposed.
 */
static double step_us(double x, double latency, double bandwidth, double compute, double bytes)
{
	double bucket = fmin(pow(2, x), bytes), n = ceil(bytes / bucket);
	double all = n * latency + bytes / bandwidth, last = latency + bucket / bandwidth;

	return fmax(compute + last, bucket / bytes * compute + all);
}

static void test_search(double latency, double bandwidth, double compute, double noise,
			uint64_t seed)
{
	const double from = 14, to = 30, bytes = 0x1p30;
	double best = INFINITY, x;
	struct fb_golden g;
	struct fb_rng rng;

	fb_rng_seed(&rng, seed);
	for (int step = 0; step <= 64 * (to - from); step++)
		best = fmin(best, step_us(from + step / 64.0, latency, bandwidth, compute, bytes));
	fb_golden_open(&g, from, to, 0.25);
	while (fb_golden_next(&g, &x)) {
		double t = step_us(x, latency, bandwidth, compute, bytes);
		double median = t * (1 + noise * (2 * fb_rng_unit(&rng) - 1));

		CHECK(x > from && x < to);
		fb_golden_put(&g, (struct fb_golden_point){x, median, median * (1 - noise),
							    median * (1 + noise)});
	}
	CHECK(g.npoints >= 2 && g.npoints < FB_GOLDEN_MOST);
	x = fb_golden_best(&g)->x;
	if (!CHECK(step_us(x, latency, bandwidth, compute, bytes) <= 1.02 * best))
		printf("\tlatency %g, bandwidth %g, compute %g, noise %g: %g us at 2^%g, best %g\n",
		       latency, bandwidth, compute, noise,
		       step_us(x, latency, bandwidth, compute, bytes), x, best);
}

int main(void)
{
	static const double latencies[] = {5, 30, 200}, bandwidths[] = {1e3, 1e4, 1e5};
	static const double computes[] = {1e3, 3e4, 1e6};
	struct fb_golden g;
	double x;

	for (int i = 0; i < 27; i++)
		for (uint64_t seed = 0; seed < 20; seed++)
			test_search(latencies[i % 3], bandwidths[i / 3 % 3], computes[i / 9],
				    seed ? 0.004 : 0, seed);
	/* Times that nothing separates: the search stops early. Without an interval, too. */
	for (int n = 0; n < 2; n++) {
		fb_golden_open(&g, 20, 30, 0.25);
		while (fb_golden_next(&g, &x))
			fb_golden_put(&g, (struct fb_golden_point){x, 100, n ? NAN : 99,
								    n ? NAN : 101});
		CHECK_INT(g.npoints, 4);
	}
	fb_golden_open(&g, 20, 20, 0.25);
	CHECK(!fb_golden_next(&g, &x) && !fb_golden_best(&g));
	return check_done("golden-section search");
}
