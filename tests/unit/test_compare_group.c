/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The geometric mean of a group: known answers, its interval by inverting the permutation test
 * the slow way, and how often it holds the truth beside a percentile bootstrap.
 */
#include "scripts/tools/compare/group.h"

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/family.h"
#include "tests/unit/check.h"
#include "tests/unit/compare_example.h"

static const size_t first_rows[] = {0, 1, 2, 3, 4, 5, 6, 7};

static void test_known(void)
{
	const double none = (double)NAN;
	/* Ratios 2 and 8, the third row incomplete. */
	double y[3 * 8];
	static const size_t second[] = {1, 1};
	struct fb_row_group g;
	struct example e;

	example_halves(&e, 4, 4);
	for (size_t u = 0; u < 8; u++) {
		y[u] = u >= 4 ? log(2) : 0;
		y[8 + u] = 3 + (u >= 4 ? log(8) : 0);
		y[16 + u] = u == 5 ? none : 100 * (double)u;
	}
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 3, 1, &g), FB_OK);
	CHECK_INT(g.rows, 2);
	CHECK_NEAR(g.ratio, 4, 1e-12);
	CHECK_NEAR(g.low, 4, 1e-12);
	CHECK_NEAR(g.high, 4, 1e-12);
	CHECK_INT(fb_group_ratio(&e.design, y, second, 2, 1, &g), FB_OK);
	CHECK_NEAR(g.ratio, 8, 1e-12);
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows + 2, 1, 1, &g), FB_OK);
	CHECK_INT(g.rows, 0);
	CHECK(isnan(g.ratio) && isnan(g.low) && isnan(g.high));
	CHECK_INT(fb_group_ratio(&e.design, y, NULL, 0, 1, &g), FB_OK);
	CHECK_INT(g.rows, 0);
	/* 4 against 4 have one finite interval: from least to greatest difference of subsets. */
	for (size_t u = 0; u < 8; u++)
		y[u] = (double)(1 << u);
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 1, 1, &g), FB_OK);
	CHECK_NEAR(log(g.ratio), 60 - 15 / 4., 1e-12);
	CHECK_NEAR(log(g.low), 16 - 8, 1e-12);
	CHECK_NEAR(log(g.high), 128 - 1, 1e-12);
	example_halves(&e, 3, 3);
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 1, 1, &g), FB_OK);
	CHECK(isnan(g.low) && isnan(g.high) && isfinite(g.ratio));
	/* Blocks of differences 1, 2, 4, 8, 16, 32: the least and the greatest of all means. */
	example_interleave(&e, 12);
	e.design.block = e.block;
	for (size_t u = 0; u < 12; u++)
		y[u] = 7 * floor((double)u / 2) + (e.side[u] ? (double)(1 << u / 2) : 0);
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 1, 1, &g), FB_OK);
	CHECK_NEAR(log(g.ratio), 63 / 6., 1e-12);
	CHECK_NEAR(log(g.low), 1, 1e-12);
	CHECK_NEAR(log(g.high), 32, 1e-12);
	y[3] = (double)INFINITY;
	g.ratio = 42;
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 1, 1, &g), FB_EINPUT);
	CHECK_NEAR(g.ratio, 42, 0);
}

/* One-sided: the share of choices of 5 of 10 whose mean difference is at least the real one. */
static double one_sided_p(const double *y, double shift)
{
	double real = 0;
	int all = 0, far = 0;

	for (int i = 0; i < 10; i++)
		real += i >= 5 ? y[i] - shift : 0;
	for (int set = 0; set < 1 << 10; set++) {
		double sum = 0;
		int members = 0;

		for (int i = 0; i < 10; i++) {
			members += set >> i & 1;
			sum += set >> i & 1 ? y[i] - (i >= 5 ? shift : 0) : 0;
		}
		if (members != 5)
			continue;
		all++;
		far += sum >= real - 1e-9;
	}
	return (double)far / all;
}

/* Just inside of the interval the test accepts, just outside it does not. */
static void test_inversion(void)
{
	double y[10], turned[10];
	struct fb_row_group g;
	struct example e;
	struct fb_rng rng;

	example_halves(&e, 5, 5);
	fb_rng_seed(&rng, 5);
	for (int trial = 0; trial < 20; trial++) {
		for (int i = 0; i < 10; i++) {
			y[i] = example_normal(&rng);
			turned[i] = -y[i];
		}
		CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 1, 1, &g), FB_OK);
		CHECK(one_sided_p(y, log(g.low) + 1e-6) > 0.025);
		CHECK(one_sided_p(y, log(g.low) - 1e-6) <= 0.025);
		CHECK(one_sided_p(turned, -log(g.high) + 1e-6) > 0.025);
		CHECK(one_sided_p(turned, -log(g.high) - 1e-6) <= 0.025);
	}
}

/* Ends of the percentile bootstrap of the difference of means, which group.h does without. */
static void bootstrap(const double *y, size_t n, struct fb_rng *rng, double *low, double *high)
{
	double mean[2 * 399];

	for (size_t k = 0; k < 399; k++) {
		mean[k] = 0;
		for (size_t i = 0; i < n; i++)
			mean[k] +=
				(y[n + fb_rng_below(rng, n)] - y[fb_rng_below(rng, n)]) / (double)n;
	}
	fb_sort(mean, 399, mean + 399);
	*low = mean[9];
	*high = mean[389];
}

enum { MOST_ROWS = 8 };

struct held {
	double ratio, blocks, bootstrap; /* shares of trials */
};

static struct held coverage(size_t launches, int trials, uint64_t seed)
{
	double y[MOST_ROWS * EXAMPLE_LAUNCHES];
	struct example halves, blocks;
	struct held held = {0};
	struct fb_rng rng;

	example_halves(&halves, launches, launches);
	example_interleave(&blocks, 2 * launches);
	blocks.design.block = blocks.block;
	fb_rng_seed(&rng, seed);
	for (int t = 0; t < trials; t++) {
		struct fb_row_group g = {0};
		double low, high;

		for (size_t u = 0; u < 2 * launches; u++) {
			double launch = 0.02 * example_normal(&rng);

			for (size_t r = 0; r < MOST_ROWS; r++)
				y[r * 2 * launches + u] = launch + 0.03 * example_normal(&rng);
		}
		CHECK(!fb_group_ratio(&halves.design, y, first_rows, MOST_ROWS, (uint64_t)t, &g));
		held.ratio += (g.low <= 1 && g.high >= 1) / (double)trials;
		CHECK(!fb_group_ratio(&blocks.design, y, first_rows, MOST_ROWS, (uint64_t)t, &g));
		held.blocks += (g.low <= 1 && g.high >= 1) / (double)trials;
		bootstrap(y, launches, &rng, &low, &high);
		held.bootstrap += (low <= 0 && high >= 0) / (double)trials;
	}
	return held;
}

static void test_coverage(void)
{
	/* All assignments of 7 launches a side, and some of 10. */
	struct held held = coverage(7, 2000, 6), drawn = coverage(10, 150, 7);

	printf("group intervals hold the ratio in %.1f%%, by blocks %.1f%%, bootstrap %.1f%%\n",
	       100 * held.ratio, 100 * held.blocks, 100 * held.bootstrap);
	CHECK_NEAR(held.ratio, 0.95, 0.015);
	CHECK_NEAR(held.blocks, 0.953, 0.015);
	CHECK(held.bootstrap < 0.93);
	CHECK_NEAR(drawn.ratio, 0.95, 0.05);
	CHECK_NEAR(drawn.blocks, 0.95, 0.05);
}

int main(void)
{
	test_known();
	test_inversion();
	test_coverage();
	return check_done("compare_group");
}
