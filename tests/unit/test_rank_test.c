/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mann-Whitney's test and the Hodges-Lehmann shift: known answers, all assignments of small sets
 * gone through, and the rates of false alarms and of right intervals with fixed seeds.
 */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/measure/rank_test.h"
#include "tests/unit/check.h"

static double normal(struct fb_rng *rng)
{
	double radius = sqrt(-2 * log(1 - fb_rng_unit(rng)));

	return radius * cos(2 * M_PI * fb_rng_unit(rng));
}

/* p by going through all ways to choose na of n <= 16 values. */
static double brute_force_p(const double *a, int na, const double *b, int nb)
{
	double pool[16], rank[16], observed = 0, mean = na * (na + nb + 1) / 2.0;
	int n = na + nb, all = 0, far = 0;

	for (int i = 0; i < n; i++)
		pool[i] = i < na ? a[i] : b[i - na];
	for (int i = 0; i < n; i++) {
		rank[i] = 0.5;
		for (int j = 0; j < n; j++)
			rank[i] += pool[j] < pool[i] ? 1 : pool[j] == pool[i] ? 0.5 : 0;
		observed += i < na ? rank[i] : 0;
	}
	for (int set = 0; set < 1 << n; set++) {
		double sum = 0;

		if (__builtin_popcount((unsigned)set) != na)
			continue;
		for (int i = 0; i < n; i++)
			sum += set >> i & 1 ? rank[i] : 0;
		all++;
		far += fabs(sum - mean) >= fabs(observed - mean);
	}
	return (double)far / all;
}

static void test_mann_whitney_exact(void)
{
	static const double smallest_p[] = {0,		0,	    0,		0,
					    2 / 70.,	2 / 252.,   2 / 924.,	2 / 3432.,
					    2 / 12870., 2 / 48620., 2 / 184756.};
	double low[20], high[20];
	struct fb_mann_whitney t;
	struct fb_rng rng;

	for (int i = 0; i < 20; i++) {
		low[i] = i + 1;
		high[i] = i + 100;
	}
	for (size_t n = 4; n <= 10; n++) {
		CHECK_INT(fb_mann_whitney(high, n, low, n, &t), FB_OK);
		CHECK(t.exact);
		CHECK_NEAR(t.p, smallest_p[n], 1e-12);
		CHECK_NEAR(t.u, (double)(n * n), 0);
	}
	CHECK_INT(fb_mann_whitney(low, 20, high, 20, &t), FB_OK);
	CHECK_NEAR(t.p, 2 / 137846528820., 1e-20);
	CHECK_NEAR(t.u, 0, 0);
	fb_rng_seed(&rng, 5);
	for (int trial = 0; trial < 60; trial++) {
		int na = 1 + (int)fb_rng_below(&rng, 6), nb = 1 + (int)fb_rng_below(&rng, 6);
		uint64_t ties = trial % 2 ? 4 : 1000000;

		for (int i = 0; i < na || i < nb; i++) {
			low[i] = (double)fb_rng_below(&rng, ties);
			high[i] = (double)fb_rng_below(&rng, ties) + (double)ties / 4;
		}
		CHECK_INT(fb_mann_whitney(low, (size_t)na, high, (size_t)nb, &t), FB_OK);
		CHECK_NEAR(t.p, brute_force_p(low, na, high, nb), 1e-12);
	}
	for (int i = 0; i < 20; i++)
		low[i] = 3;
	CHECK_INT(fb_mann_whitney(low, 10, low, 10, &t), FB_OK);
	CHECK_NEAR(t.p, 1, 0);
	CHECK_NEAR(t.u, 50, 0);
}

static void test_mann_whitney_normal(void)
{
	double a[60], b[60];
	struct fb_mann_whitney t, exact;
	int alarms = 0;
	struct fb_rng rng;

	for (int i = 0; i < 51; i++) {
		a[i] = i;
		b[i] = i + 10.5;
	}
	CHECK_INT(fb_mann_whitney(a, 51, b, 51, &t), FB_OK);
	CHECK(!t.exact);
	/* 40 of the values of a exceed 40 + 39 + ... + 1 of b. */
	CHECK_NEAR(t.u, 820, 0);
	CHECK_NEAR(t.p, erfc((1300.5 - 820.5) / sqrt(2 * 51. * 51. * 103. / 12)), 1e-15);
	CHECK_INT(fb_mann_whitney(a, 50, b, 50, &t), FB_OK);
	CHECK(t.exact);
	CHECK_NEAR(t.p, 0.001055016471113667, 1e-15); /* scipy 1.17, method exact */
	/* All values equal, and the tie correction: three groups of 14. */
	for (int i = 0; i < 21; i++) {
		a[i] = i < 14;
		b[i] = i < 14 ? 2 : 0;
	}
	CHECK_INT(fb_mann_whitney(a, 21, b, 21, &t), FB_OK);
	double variance = 21. * 21. / 12 * (43 - 3 * (14. * 14 * 14 - 14) / (42. * 41));
	double u = 14 * 7 + 7 * 7 / 2.;

	CHECK_NEAR(t.u, u, 0);
	CHECK_NEAR(t.p, erfc((220.5 - u - 0.5) / sqrt(2 * variance)), 1e-12);
	CHECK_INT(fb_mann_whitney(a, 7, a, 21, &t), FB_OK);

	fb_rng_seed(&rng, 6);
	for (int trial = 0; trial < 2000; trial++) {
		for (int i = 0; i < 40; i++)
			a[i] = normal(&rng);
		fb_mann_whitney(a, 10, a + 10, 10, &exact);
		alarms += exact.p <= 0.05;
		/* One value more on a side takes the other path and must not matter much. */
		if (trial < 20) {
			fb_mann_whitney(a, 20, a + 20, 20, &exact);
			a[40] = a[39]; /* a tie among more than 20 */
			fb_mann_whitney(a, 20, a + 20, 21, &t);
			CHECK(exact.exact && !t.exact && fabs(t.p - exact.p) < 0.25);
		}
	}
	CHECK_NEAR(alarms / 2000., 0.045, 0.015);
}

/*
 * Beyond what integers hold the ranks are compared with the distribution of U by the recurrence
 * P(a, b, u) = (a P(a - 1, b, u - b) + b P(a, b - 1, u)) / (a + b), which only adds.
 */
static void test_ci_rank_large(void)
{
	enum { A = 60, B = 70, PAIRS = A * B };
	static double p[B + 1][PAIRS + 1], row[PAIRS + 1]; /* p[b] of a - 1, then of a */
	double below = 0, alphas[] = {0.2, 0.05, 0.01, 1e-6};
	size_t k = 0;

	for (int b = 0; b <= B; b++)
		p[b][0] = 1;
	for (int a = 1; a <= A; a++) {
		for (int b = 0; b <= B; b++) {
			for (int u = 0; u <= PAIRS; u++)
				row[u] = ((u >= b ? a * p[b][u - b] : 0) +
					  (b > 0 ? b * p[b - 1][u] : 0)) /
					 (a + b);
			memcpy(p[b], row, sizeof(row));
		}
	}
	for (int i = 3; i >= 0; i--) {
		while (below + p[B][k] <= alphas[i] / 2)
			below += p[B][k++];
		CHECK_INT(fb_shift_ci_rank(A, B, alphas[i]), k);
	}
	/* The normal rank beyond 200 a side goes on where the exact one ends. */
	for (size_t n = 200; n <= 201; n++) {
		double count = (double)n, spread = sqrt(count * count * (2 * count + 1) / 12);
		double rank = count * count / 2 + 0.5 - 1.959964 * spread;

		CHECK_NEAR((double)fb_shift_ci_rank(n, n, 0.05), rank, 1.5);
		CHECK_NEAR((double)fb_shift_ci_rank(n, n / 2, 0.05),
			   (double)fb_shift_ci_rank(n / 2, n, 0.05), 0);
	}
	CHECK_NEAR((double)fb_shift_ci_rank(201, 50, 0.05),
		   2 * (double)fb_shift_ci_rank(200, 50, 0.05) -
			   (double)fb_shift_ci_rank(199, 50, 0.05),
		   2.5);
}

static void test_hodges_lehmann(void)
{
	static const size_t known[][2] = {{2, 0}, {3, 0},  {4, 1},  {5, 3},
					  {6, 6}, {8, 14}, {10, 24}};
	double a[30], b[30];
	struct fb_shift shift;
	int held = 0;
	struct fb_rng rng;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK_INT(fb_shift_ci_rank(known[i][0], known[i][0], 0.05), known[i][1]);
	CHECK_INT(fb_shift_ci_rank(0, 5, 0.05), 0);
	CHECK_INT(fb_shift_ci_rank(3, 20, 0.05), fb_shift_ci_rank(20, 3, 0.05));
	test_ci_rank_large();

	a[0] = 0;
	b[0] = 2.5;
	CHECK_INT(fb_hodges_lehmann(a, 1, b, 1, 0.05, &shift), FB_OK);
	CHECK_NEAR(shift.shift, 2.5, 0);
	CHECK(isinf(shift.low) && shift.low < 0 && isinf(shift.high) && shift.high > 0);
	for (int i = 0; i < 5; i++) {
		a[i] = 1 << i;
		b[i] = a[i] + 10;
	}
	CHECK_INT(fb_hodges_lehmann(a, 5, b, 5, 0.05, &shift), FB_OK);
	CHECK_NEAR(shift.shift, 10, 0);
	/* Differences 10 + 2^j - 2^i; the third smallest is 10 + 4 - 16 ... */
	CHECK_NEAR(shift.low, -2, 0);
	CHECK_NEAR(shift.high, 22, 0);

	fb_rng_seed(&rng, 8);
	for (int trial = 0; trial < 4000; trial++) {
		for (int i = 0; i < 10; i++) {
			a[i] = normal(&rng);
			b[i] = normal(&rng) + 0.7;
		}
		fb_hodges_lehmann(a, 10, b, 10, 0.05, &shift);
		held += shift.low <= 0.7 && shift.high >= 0.7;
	}
	CHECK_NEAR(held / 4000., 0.957, 0.012);
}

static void test_rank_errors(void)
{
	double a[2] = {1, (double)NAN}, b[2] = {2, 3};
	struct fb_mann_whitney t = {.u = 42};
	struct fb_shift shift = {.shift = 42};

	CHECK_INT(fb_mann_whitney(a, 2, b, 2, &t), FB_EINPUT);
	CHECK_INT(fb_mann_whitney(a, 0, b, 2, &t), FB_EINPUT);
	CHECK_INT(fb_mann_whitney(b, 2, a, 0, &t), FB_EINPUT);
	CHECK_INT(fb_hodges_lehmann(b, 2, a, 2, 0.05, &shift), FB_EINPUT);
	CHECK_INT(fb_hodges_lehmann(b, 2, b, 2, 0, &shift), FB_EINPUT);
	CHECK_NEAR(t.u + shift.shift, 84, 0);
}

int main(void)
{
	test_mann_whitney_exact();
	test_mann_whitney_normal();
	test_hodges_lehmann();
	test_rank_errors();
	return check_done("rank_test");
}
