/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular result files: rows without variation, without some launches, without a side; and values
 * that must be refused.
 */
#include "common/base/error.h"
#include "scripts/tools/compare/effect.h"
#include "scripts/tools/compare/family.h"
#include "tests/unit/check.h"
#include "tests/unit/compare_example.h"

/* Equal values, one differing value, perfect separation without any noise. */
static void test_degenerate(void)
{
	enum { N = 20 };
	struct fb_family_row out[5];
	struct fb_family family;
	double y[5 * N];
	struct example e;

	example_halves(&e, 10, 10);
	for (size_t u = 0; u < N; u++) {
		y[u] = 0.1 + 0.2;
		y[N + u] = u == 3 ? 7 : 1;
		y[2 * N + u] = u >= 10 ? 1.1 : 1.0;
		y[3 * N + u] = u >= 10 ? 1.00001 : 1.0;
		y[4 * N + u] = 0;
	}
	CHECK_INT(fb_family_test(&e.design, y, 5, NULL, out, &family), FB_OK);
	CHECK_NEAR(out[0].t, 0, 0);
	CHECK_NEAR(out[0].p, 1, 0);
	CHECK_NEAR(out[4].p, 1, 0);
	CHECK_NEAR(fabs(out[1].t), 1, 1e-9);
	CHECK(out[1].p > 0.5);
	CHECK_NEAR(out[2].t, 0.1 / (FB_FAMILY_LEAST_SD * sqrt(0.2)), 1e-2);
	CHECK(out[2].p <= 2e-4);
	/* A difference of a tenth of the least standard deviation is rounding, not a change. */
	CHECK_NEAR(out[3].t, 1e-5 / (FB_FAMILY_LEAST_SD * sqrt(0.2)), 1e-3);
	CHECK(out[3].p > 0.2);
	/* One launch a side; and no row at all. */
	example_halves(&e, 1, 1);
	CHECK_INT(fb_family_test(&e.design, y, 5, NULL, out, &family), FB_OK);
	CHECK_NEAR(out[1].p, 1, 0);
	CHECK(isinf(family.critical_t));
	CHECK_INT(fb_family_test(&e.design, y, 0, NULL, out, &family), FB_OK);
	CHECK(isnan(family.critical_t));
	CHECK_INT(family.complete + family.incomplete + family.untested, 0);
}

static void test_holm(void)
{
	double p[] = {0.01, 0.04, 0.03, 0.005}, big[] = {0.9, 0.5}, none[1] = {0};

	/* Sorted 0.005 0.01 0.03 0.04, times 4 3 2 1, made monotone. */
	fb_holm(p, 4);
	CHECK_NEAR(p[3], 0.02, 1e-15);
	CHECK_NEAR(p[0], 0.03, 1e-15);
	CHECK_NEAR(p[2], 0.06, 1e-15);
	CHECK_NEAR(p[1], 0.06, 1e-15);
	fb_holm(big, 2);
	CHECK_NEAR(big[0], 1, 0);
	CHECK_NEAR(big[1], 1, 0);
	fb_holm(none, 0);
}

/* Rows that lack launches go to the second list and share the level by rows. */
static void test_incomplete(void)
{
	enum { ROWS = 8, N = 16 };
	const double none = (double)NAN;
	struct fb_family_row out[ROWS], all[ROWS];
	struct fb_family family, whole;
	struct fb_effect effect;
	double y[ROWS * N];
	struct example e;

	example_halves(&e, 8, 8);
	for (size_t i = 0; i < (size_t)ROWS * N; i++)
		y[i] = (double)(i * 7 % 11) + (i % N >= 8 ? floor((double)i / N) * 2 : 0);
	CHECK_INT(fb_family_test(&e.design, y, 5, NULL, all, &whole), FB_OK);
	for (size_t u = 0; u < N; u++) {
		y[5 * N + u] = u == 0 ? none : (double)u; /* 7 v 8, all of A below all of B */
		y[6 * N + u] = u == 9 ? none : (double)(u % 2) + 0.01 * (double)u;
		y[7 * N + u] = u < 8 ? none : 1;
	}
	CHECK_INT(fb_family_test(&e.design, y, ROWS, NULL, out, &family), FB_OK);
	CHECK_INT(family.complete, 5);
	CHECK_INT(family.incomplete, 2);
	CHECK_INT(family.untested, 1);
	for (size_t r = 0; r < 5; r++) {
		CHECK_INT(out[r].list, FB_LIST_MAX_T);
		CHECK_NEAR(out[r].p, fmin(1, all[r].p * 7 / 5), 1e-12);
	}
	CHECK_NEAR(family.least_p, whole.least_p * 7 / 5, 1e-15);
	CHECK(family.critical_t > whole.critical_t);
	/* Holm doubles the least p of two, and the two are 2 of 7 rows. */
	CHECK_INT(out[5].list, FB_LIST_HOLM);
	CHECK_NEAR(out[5].p, 2 / 6435. * 2 * 7 / 2, 1e-12);
	CHECK(isnan(out[5].t));
	CHECK_INT(out[6].list, FB_LIST_HOLM);
	CHECK_INT(fb_effect(&e.design, y + 6 * N, &effect), FB_OK);
	CHECK(effect.p > 0.05 && effect.p < 0.25);
	CHECK_NEAR(out[6].p, effect.p * 7 / 2, 1e-12);
	CHECK_INT(out[7].list, FB_LIST_UNTESTED);
	CHECK_NEAR(out[7].p, 1, 0);
	/* Nothing but incomplete rows. */
	CHECK_INT(fb_family_test(&e.design, y + 5 * N, 1, NULL, out, &family), FB_OK);
	CHECK_NEAR(out[0].p, 2 / 6435., 1e-15);
	CHECK(isnan(family.critical_t));
}

static void test_errors(void)
{
	struct fb_family family = {.complete = 42};
	struct fb_family_row out = {.p = 42};
	struct fb_design_size size;
	double y[] = {1, 2, (double)INFINITY, 3};
	struct example e;

	example_halves(&e, 2, 2);
	CHECK_INT(fb_family_test(&e.design, y, 1, NULL, &out, &family), FB_EINPUT);
	y[2] = -(double)INFINITY;
	CHECK_INT(fb_family_test(&e.design, y, 1, NULL, &out, &family), FB_EINPUT);
	y[2] = 1;
	e.side[2] = 2;
	CHECK_INT(fb_family_test(&e.design, y, 1, NULL, &out, &family), FB_EINPUT);
	example_halves(&e, 2, 2);
	e.side[2] = e.side[3] = 0;
	CHECK_INT(fb_family_test(&e.design, y, 1, NULL, &out, &family), FB_EINPUT);
	example_halves(&e, 2, 2);
	e.block[1] = 7;
	e.design.block = e.block;
	CHECK_INT(fb_family_test(&e.design, y, 1, NULL, &out, &family), FB_EINPUT);
	CHECK_NEAR(out.p, 42, 0);
	CHECK_INT(family.complete, 42);
	example_interleave(&e, 12);
	e.design.block = e.block;
	CHECK_INT(fb_design_check(&e.design, &size), FB_OK);
	CHECK_INT(size.a, 6);
	CHECK_INT(size.b, 6);
	CHECK_INT(size.blocks, 6);
}

int main(void)
{
	test_degenerate();
	test_holm();
	test_incomplete();
	test_errors();
	return check_done("compare_incomplete");
}
