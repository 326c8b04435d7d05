/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometric mean of a group: known answers, and how often its interval holds the truth. */
#include "scripts/tools/compare/group.h"

#include "common/base/error.h"
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
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 3, &g), FB_OK);
	CHECK_INT(g.rows, 2);
	CHECK_NEAR(g.ratio, 4, 1e-12);
	CHECK_NEAR(g.low, 4, 1e-12);
	CHECK_NEAR(g.high, 4, 1e-12);
	CHECK_INT(fb_group_ratio(&e.design, y, second, 2, &g), FB_OK);
	CHECK_NEAR(g.ratio, 8, 1e-12);
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows + 2, 1, &g), FB_OK);
	CHECK_INT(g.rows, 0);
	CHECK(isnan(g.ratio) && isnan(g.low) && isnan(g.high));
	CHECK_INT(fb_group_ratio(&e.design, y, NULL, 0, &g), FB_OK);
	CHECK_INT(g.rows, 0);
	/* A wild launch a side does not move the mean: ratios 2 and 8 still make 4. */
	y[0] = y[8] = y[6] = 9;
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 2, &g), FB_OK);
	CHECK_NEAR(g.ratio, 4, 1e-12);
	y[3] = (double)INFINITY;
	g.ratio = 42;
	CHECK_INT(fb_group_ratio(&e.design, y, first_rows, 1, &g), FB_EINPUT);
	CHECK_NEAR(g.ratio, 42, 0);
}

static void test_coverage(void)
{
	enum { ROWS = 8, LAUNCHES = 10, TRIALS = 2000 };
	double y[ROWS * 2 * LAUNCHES], held[2] = {0};
	struct example way[2];
	struct fb_rng rng;

	example_halves(&way[0], LAUNCHES, LAUNCHES);
	example_interleave(&way[1], 2 * LAUNCHES);
	way[1].design.block = way[1].block;
	fb_rng_seed(&rng, 6);
	for (int t = 0; t < TRIALS; t++) {
		struct fb_row_group g = {0};

		for (size_t u = 0; u < 2 * (size_t)LAUNCHES; u++) {
			double launch = 0.02 * example_normal(&rng);

			for (size_t r = 0; r < ROWS; r++)
				y[r * 2 * LAUNCHES + u] = launch + 0.03 * example_normal(&rng);
		}
		for (int i = 0; i < 2; i++) {
			CHECK(!fb_group_ratio(&way[i].design, y, first_rows, ROWS, &g));
			held[i] += (g.low <= 1 && g.high >= 1) / (double)TRIALS;
		}
	}
	printf("group intervals hold the ratio in %.1f%%, by blocks %.1f%%\n", 100 * held[0],
	       100 * held[1]);
	CHECK_NEAR(held[0], 0.957, 0.015);
	CHECK_NEAR(held[1], 0.951, 0.015);
}

int main(void)
{
	test_known();
	test_coverage();
	return check_done("compare_group");
}
