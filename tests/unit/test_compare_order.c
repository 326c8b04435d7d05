/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches in time: rank correlation, drift, and the self-test of a machine that is left alone. */
#include "scripts/tools/compare/order.h"

#include "common/base/error.h"
#include "scripts/tools/compare/family.h"
#include "scripts/tools/compare/self_test.h"
#include "tests/unit/check.h"
#include "tests/unit/compare_example.h"

enum { ROWS = 50, N = 20 };

static void test_spearman(void)
{
	static const double a[] = {1, 2, 3, 4, 5, 6, 7, 8}, b[] = {2, 1, 4, 3, 7, 8, 6, 5};
	static const double ties_a[] = {1, 2, 2, 4, 5}, ties_b[] = {5, 5, 3, 2, 1};
	static const double flat[] = {3, 3, 3, 3, 3};
	double room[32];

	CHECK_NEAR(fb_spearman(a, a, 8, room), 1, 1e-15);
	CHECK_NEAR(fb_spearman(a, b, 8, room), 0.7380952380952381, 1e-14); /* scipy 1.17 */
	CHECK_NEAR(fb_spearman(ties_a, ties_b, 5, room), -0.9210526315789475, 1e-14);
	CHECK(isnan(fb_spearman(ties_a, flat, 5, room)));
	CHECK(isnan(fb_spearman(a, b, 1, room)));
	CHECK(isnan(fb_spearman(a, b, 0, room)));
	CHECK_NEAR(fb_spearman(a, b, 2, room), -1, 1e-15);
}

/* Rows of 3% noise, the first `drifting` of which get 20% slower in time. */
static void make_rows(double *y, size_t drifting, const struct example *e, double change,
		      uint64_t seed)
{
	struct fb_rng rng;

	fb_rng_seed(&rng, seed);
	for (size_t r = 0; r < ROWS; r++)
		for (size_t u = 0; u < N; u++)
			y[r * N + u] = 0.03 * example_normal(&rng) +
				       (r < drifting ? 0.01 * (double)u : 0) +
				       (e->side[u] ? change : 0);
}

static void test_drift(void)
{
	double y[ROWS * N], time[N], rho[ROWS];
	struct fb_order order;
	struct example e;

	for (size_t u = 0; u < N; u++)
		time[u] = 1e9 + 3600 * (double)u;
	example_interleave(&e, N);
	make_rows(y, 0, &e, 0, 1);
	CHECK_INT(fb_order_check(&e.design, time, y, ROWS, rho, &order), FB_OK);
	CHECK_INT(order.rows, ROWS);
	CHECK(order.drifting <= 2 && !order.drift);
	CHECK_NEAR(order.separation, 0, 1e-12);
	/* A change between the sides is no drift, interleaved or not. */
	make_rows(y, 0, &e, 1, 1);
	CHECK_INT(fb_order_check(&e.design, time, y, ROWS, NULL, &order), FB_OK);
	CHECK(!order.drift);
	example_halves(&e, 10, 10);
	make_rows(y, 0, &e, 1, 1);
	CHECK_INT(fb_order_check(&e.design, time, y, ROWS, NULL, &order), FB_OK);
	CHECK(!order.drift);
	CHECK_NEAR(order.separation, 1, 1e-12);
	/* A fifth of the rows is not more than a fifth; a fifth and a bit is. */
	example_interleave(&e, N);
	make_rows(y, 10, &e, 0, 4);
	CHECK_INT(fb_order_check(&e.design, time, y, ROWS, rho, &order), FB_OK);
	CHECK_INT(order.drifting, 10);
	CHECK(!order.drift);
	CHECK(rho[0] > 0.7);
	make_rows(y, 20, &e, -0.5, 4);
	CHECK_INT(fb_order_check(&e.design, time, y, ROWS, NULL, &order), FB_OK);
	CHECK(order.drift);
	/* Backwards in time, and seen though B ran after A. */
	for (size_t u = 0; u < N; u++)
		time[u] = -time[u];
	example_halves(&e, 10, 10);
	make_rows(y, 0, &e, 0, 4);
	for (size_t i = 0; i < (size_t)ROWS * N; i++)
		y[i] = 0.02 * (double)(i % N) + 0.2 * y[i];
	CHECK_INT(fb_order_check(&e.design, time, y, ROWS, rho, &order), FB_OK);
	CHECK(order.drift && order.drifting == ROWS && rho[7] < -0.9);
}

static void test_order_edges(void)
{
	double y[2 * N], time[N], rho[2];
	struct fb_order order = {.rows = 42};
	struct example e;

	example_interleave(&e, N);
	for (size_t u = 0; u < N; u++) {
		time[u] = (double)u;
		y[u] = u < 6 ? (double)u : (double)NAN; /* too few */
		y[N + u] = 3;				/* no variation */
	}
	CHECK_INT(fb_order_check(&e.design, time, y, 2, rho, &order), FB_OK);
	CHECK_INT(order.rows, 0);
	CHECK(!order.drift && isnan(rho[0]) && isnan(rho[1]));
	CHECK_INT(fb_order_check(&e.design, time, y, 0, NULL, &order), FB_OK);
	order.rows = 42;
	time[4] = (double)NAN;
	CHECK_INT(fb_order_check(&e.design, time, y, 2, rho, &order), FB_EINPUT);
	time[4] = 4;
	y[N] = (double)INFINITY;
	CHECK_INT(fb_order_check(&e.design, time, y, 2, rho, &order), FB_EINPUT);
	CHECK_INT(order.rows, 42);
}

static void test_self(void)
{
	double y[ROWS * N], noise[ROWS], theta[ROWS], share = 0;
	struct fb_self_test t, again;
	struct example e;

	example_interleave(&e, N);
	/* Splits of one set share its launches: one share says little, the mean of many is 5%. */
	for (uint64_t set = 0; set < 40; set++) {
		make_rows(y, set % 2 ? ROWS : 0, &e, 0, 100 + set);
		CHECK_INT(fb_self_test(y, ROWS, N, NULL, set, noise, &t), FB_OK);
		share += t.share / 40;
		CHECK(t.flagged <= t.alarms && t.enough);
		CHECK_INT(t.good, t.share <= 0.1);
		CHECK_INT(t.splits, FB_SELF_TEST_SPLITS);
		/* A machine that drifts fails by halves, not when interleaved. */
		CHECK(set % 2 ? t.halves_p <= 0.001 : t.halves_p > 0.001);
		CHECK(t.halves_p >= 1e-4 / 1.001);
		CHECK(t.interleaved_p > 0.001);
	}
	printf("splits at random alarm in %.1f%%\n", 100 * share);
	CHECK_NEAR(share, 0.05, 0.01);
	CHECK_INT(fb_self_test(y, ROWS, N, NULL, 39, noise, &again), FB_OK);
	CHECK(again.alarms == t.alarms && again.halves_p == t.halves_p);

	make_rows(y, 0, &e, 0, 7);
	CHECK_INT(fb_self_test(y, ROWS, N, NULL, 1, noise, &t), FB_OK);
	double mean = 0;

	for (size_t r = 0; r < ROWS; r++)
		mean += noise[r] / ROWS;
	CHECK_NEAR(mean, 0.03, 0.002);
	/* No change is too small: every alarm is flagged. */
	for (size_t r = 0; r < ROWS; r++)
		theta[r] = 0;
	CHECK_INT(fb_self_test(y, ROWS, N, theta, 1, noise, &again), FB_OK);
	CHECK_INT(again.alarms, t.alarms);
	CHECK(again.alarms > 0);
	CHECK_INT(again.flagged, again.alarms);
	CHECK(t.flagged < again.flagged);
}

static void test_self_edges(void)
{
	double y[3 * 9], noise[3];
	struct fb_self_test t = {.rows = 42};

	for (size_t u = 0; u < 9; u++) {
		y[u] = (double)(u * u % 7);
		y[9 + u] = u == 2 ? (double)NAN : 5;
		y[18 + u] = u == 8 ? (double)NAN : 1; /* only the launch that is left out */
	}
	CHECK_INT(fb_self_test(y, 3, 9, NULL, 1, noise, &t), FB_OK);
	CHECK_INT(t.launches, 8);
	CHECK_INT(t.rows, 2);
	CHECK(!t.enough && t.good && t.share <= 0.1);
	CHECK_NEAR(noise[1], 0, 0);
	CHECK(noise[0] > 1);
	CHECK_INT(fb_self_test(y, 3, 3, NULL, 1, noise, &t), FB_OK);
	CHECK(isnan(t.share) && isnan(t.halves_p) && !t.good && t.rows == 0);
	CHECK_INT(fb_self_test(y, 1, 1, NULL, 1, noise, &t), FB_OK);
	CHECK(isnan(noise[0]));
	CHECK_INT(fb_self_test(y, 0, 9, NULL, 1, NULL, &t), FB_OK);
	CHECK_INT(fb_self_test(y, 0, 0, NULL, 1, NULL, &t), FB_OK);
	t.rows = 42;
	y[8] = (double)INFINITY;
	CHECK_INT(fb_self_test(y, 3, 9, NULL, 1, noise, &t), FB_EINPUT);
	CHECK_INT(t.rows, 42);
}

int main(void)
{
	test_spearman();
	test_drift();
	test_order_edges();
	test_self();
	test_self_edges();
	return check_done("compare_order");
}
