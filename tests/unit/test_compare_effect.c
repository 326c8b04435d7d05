/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One row by itself: ratios and intervals with known answers, signed ranks against all choices of
 * signs, how often intervals hold the truth, and the verdict's every corner.
 */
#include "common/base/error.h"
#include "scripts/tools/compare/effect.h"
#include "scripts/tools/compare/signed_rank.h"
#include "scripts/tools/compare/verdict.h"
#include "tests/unit/check.h"
#include "tests/unit/compare_example.h"

static void test_known(void)
{
	/* 1 2 4 8 16 us against 3 times that. */
	double y[10], none = (double)NAN;
	struct fb_effect f;
	struct example e;

	example_halves(&e, 5, 5);
	for (int i = 0; i < 5; i++) {
		y[i] = log(1 << i);
		y[5 + i] = log(3 << i);
	}
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK_NEAR(f.ratio, 3, 1e-12);
	/* Differences ln 3 + k ln 2, 5 - |k| of each k: the third smallest has k = -3. */
	CHECK_NEAR(f.low, 3 / 8., 1e-12);
	CHECK_NEAR(f.high, 24, 1e-11);
	CHECK_NEAR(f.a_us, 4, 1e-12);
	CHECK_NEAR(f.b_us, 12, 1e-12);
	CHECK_NEAR(f.noise, log(2) * sqrt(2.5), 1e-12);
	CHECK_NEAR(f.noise_a, f.noise, 1e-12);
	CHECK_NEAR(f.noise_b, f.noise, 1e-12);
	CHECK_INT(f.na + f.nb + f.blocks, 10);
	CHECK_NEAR(f.noise_p, 1, 1e-12);
	CHECK(f.p_exact);
	/* Two of the 10 launches of each side are missing; then all of B. */
	y[1] = y[7] = none;
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK_INT(f.na, 4);
	CHECK_INT(f.nb, 4);
	CHECK_NEAR(f.low, 3 / 16., 1e-12);
	CHECK(isfinite(f.noise_p));
	CHECK_NEAR(f.high, 48, 1e-11);
	for (int i = 5; i < 10; i++)
		y[i] = none;
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK(isnan(f.ratio) && isnan(f.low) && isnan(f.high) && isnan(f.p) && isnan(f.b_us));
	CHECK_INT(f.nb, 0);
	CHECK(isfinite(f.a_us) && isfinite(f.noise_a) && isnan(f.noise_b));
	y[3] = (double)INFINITY;
	f.p = 42;
	CHECK_INT(fb_effect(&e.design, y, &f), FB_EINPUT);
	CHECK_NEAR(f.p, 42, 0);
}

/* {1 .. 5} against {6 .. 10}, and as many launches as there may be. */
static void test_sizes(void)
{
	static const struct {
		size_t a, b;
		int finite;
	} known[] = {{1, 1, 0},	 {2, 2, 0},  {3, 3, 0},	 {4, 4, 1},
		     {3, 20, 1}, {1, 38, 0}, {1, 39, 1}, {2, 9, 1}};
	double y[64];
	struct fb_effect f;
	struct example e;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		example_halves(&e, known[i].a, known[i].b);
		for (size_t u = 0; u < known[i].a + known[i].b; u++)
			y[u] = (double)u;
		CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
		CHECK_INT(isfinite(f.low) && isfinite(f.high), known[i].finite);
		CHECK_INT(isnan(f.low) && isnan(f.high), !known[i].finite);
		CHECK(f.ratio > 1 && f.p_exact);
	}
	example_halves(&e, 5, 5);
	for (size_t u = 0; u < 10; u++)
		y[u] = (double)u + 1;
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK_NEAR(f.p, 2 / 252., 1e-15);
	CHECK_NEAR(log(f.ratio), 5, 1e-12);
	/* No variation: a ratio of 1, surely. */
	for (size_t u = 0; u < 10; u++)
		y[u] = 0.7;
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK_NEAR(f.ratio, 1, 0);
	CHECK_NEAR(f.low, 1, 0);
	CHECK_NEAR(f.high, 1, 0);
	CHECK_NEAR(f.p, 1, 0);
	CHECK_NEAR(f.noise, 0, 0);
	CHECK_INT(fb_verdict(&f, 1, 0.05), FB_SAME);
}

/* p by all choices of signs, ranks counted the plain way. */
static double brute_force_p(const double *d, int n)
{
	double rank[12] = {0}, observed = 0;
	int far = 0;

	for (int i = 0; i < n; i++) {
		rank[i] = 0.5;
		for (int j = 0; j < n; j++)
			rank[i] += fabs(d[j]) < fabs(d[i]) ? 1 : fabs(d[j]) == fabs(d[i]) ? 0.5 : 0;
		rank[i] = d[i] == 0 ? 0 : rank[i];
		observed += d[i] > 0 ? rank[i] : -rank[i];
	}
	for (int set = 0; set < 1 << n; set++) {
		double sum = 0;

		for (int i = 0; i < n; i++)
			sum += set >> i & 1 ? rank[i] : -rank[i];
		far += fabs(sum) >= fabs(observed);
	}
	return far / (double)(1 << n);
}

static void test_signed_rank(void)
{
	static const double known[] = {1.1, -0.4, 2.3, 0.7, 3.1, -1.9, 0.2, 4.4};
	double d[201], p = 0;
	bool exact;
	struct fb_rng rng;

	CHECK_INT(fb_signed_rank(known, 8, &p, &exact), FB_OK);
	CHECK_NEAR(p, 0.1484375, 1e-15); /* scipy 1.17, method exact */
	CHECK(exact);
	fb_rng_seed(&rng, 3);
	for (int trial = 0; trial < 100; trial++) {
		int n = 1 + (int)fb_rng_below(&rng, 10);
		uint64_t values = trial % 2 ? 7 : 100000;

		for (int i = 0; i < n; i++)
			d[i] = (double)fb_rng_below(&rng, values) - (double)values / 3 + 0.5;
		if (trial % 4 == 1)
			for (int i = 0; i < n; i++)
				d[i] = floor(d[i]);
		CHECK_INT(fb_signed_rank(d, (size_t)n, &p, &exact), FB_OK);
		CHECK_NEAR(p, brute_force_p(d, n), 1e-12);
	}
	/* Beyond 200 the normal approximation; at 200 it is close to the exact p. */
	for (size_t n = 200; n <= 201; n++) {
		double positive = 0, count = (double)n;
		double spread = sqrt(count * (count + 1) * (2 * count + 1) / 24);

		for (size_t i = 0; i < n; i++) {
			d[i] = (double)(i + 1) * (i % 5 < 3 ? 1 : -1);
			positive += d[i] > 0 ? d[i] : 0;
		}
		double away = fabs(positive - count * (count + 1) / 4) - 0.5;
		double normal = erfc(away / spread / sqrt(2));

		CHECK_INT(fb_signed_rank(d, n, &p, &exact), FB_OK);
		CHECK_INT(exact, n == 200);
		CHECK_NEAR(p, normal, (exact ? 0.02 : 1e-12) * normal);
	}
	for (int i = 0; i < 201; i++)
		d[i] = 0;
	CHECK_INT(fb_signed_rank(d, 10, &p, &exact), FB_OK);
	CHECK_NEAR(p, 1, 0);
	CHECK_INT(fb_signed_rank(d, 201, &p, &exact), FB_OK);
	CHECK_NEAR(p, 1, 0);
	CHECK_INT(fb_signed_rank(d, 0, &p, &exact), FB_EINPUT);
	d[1] = (double)NAN;
	CHECK_INT(fb_signed_rank(d, 3, &p, &exact), FB_EINPUT);
}

static void test_walsh(void)
{
	/* Ranks from tables of the signed rank distribution. */
	static const size_t known[][2] = {{0, 0}, {1, 0}, {5, 0},  {6, 1},  {7, 3},
					  {8, 4}, {9, 6}, {10, 9}, {20, 53}};
	static const double d[] = {1, 2, 3, 4, 5, 6};
	double y[20];
	struct fb_shift shift;
	struct fb_effect f;
	struct example e;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK_INT(fb_walsh_ci_rank(known[i][0], 0.05), known[i][1]);
	CHECK_NEAR((double)fb_walsh_ci_rank(201, 0.05), (double)fb_walsh_ci_rank(200, 0.05) + 87,
		   2);
	CHECK_INT(fb_walsh_shift(d, 6, 0.05, &shift), FB_OK);
	CHECK_NEAR(shift.shift, 3.5, 0);
	CHECK_NEAR(shift.low, 1, 0);
	CHECK_NEAR(shift.high, 6, 0);
	CHECK_INT(fb_walsh_shift(d, 5, 0.05, &shift), FB_OK);
	CHECK(isinf(shift.low) && isinf(shift.high));
	CHECK_INT(fb_walsh_shift(d, 5, 1, &shift), FB_EINPUT);
	CHECK_INT(fb_walsh_shift(d, 0, 0.05, &shift), FB_EINPUT);

	/* Ten blocks of wildly different level, B twice A in each, but for rounding. */
	example_interleave(&e, 20);
	e.design.block = e.block;
	for (size_t u = 0; u < 20; u++)
		y[u] = floor((double)u / 2) + (e.side[u] ? log(2) + 1e-3 * (double)u : 0);
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK_INT(f.blocks, 10);
	CHECK_NEAR(f.ratio, 2, 0.03);
	CHECK(f.low > 2 && f.high < 2.05);
	CHECK_NEAR(f.p, 2 / 1024., 1e-15);
	/* Differences ln 2 + (1, 2, 5, 6, 9, 10, ...) / 1000, by their standard deviation. */
	CHECK_NEAR(f.noise, 1e-3 * sqrt(322.5 / 9) / sqrt(2), 1e-9);
	CHECK(f.noise < 0.01 && f.noise_a > 2 && isnan(f.noise_p));
	y[3] = (double)NAN;
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK_INT(f.blocks, 9);
	CHECK_INT(f.na + f.nb, 19);
	/* No block has both sides. */
	for (size_t u = 0; u < 20; u++)
		y[u] = e.side[u] ? (double)NAN : 1;
	CHECK_INT(fb_effect(&e.design, y, &f), FB_OK);
	CHECK(f.blocks == 0 && isnan(f.ratio) && isnan(f.p));
}

/* 95% intervals hold the truth in at least 95%, and not in much more, of 3000 rows. */
static void test_coverage(void)
{
	double y[20], held[3] = {0};
	struct fb_effect f;
	struct example e;
	struct fb_rng rng;

	fb_rng_seed(&rng, 11);
	for (int trial = 0; trial < 3000; trial++) {
		for (size_t kind = 0; kind < 3; kind++) {
			example_interleave(&e, 20);
			e.design.block = kind == 2 ? e.block : NULL;
			for (size_t u = 0; u < 20; u++) {
				double noise = example_normal(&rng);

				if (kind == 1)
					noise = exp(noise);
				if (kind == 2)
					noise += floor((double)u / 2);
				y[u] = 0.03 * noise + (e.side[u] ? log(1.2) : 0);
			}
			if (fb_effect(&e.design, y, &f))
				return;
			held[kind] += f.low <= 1.2 && f.high >= 1.2;
		}
	}
	printf("intervals hold the ratio in %.1f%%, %.1f%%, %.1f%%\n", held[0] / 30, held[1] / 30,
	       held[2] / 30);
	for (size_t kind = 0; kind < 3; kind++)
		CHECK(held[kind] / 3000 > 0.945 && held[kind] / 3000 < 0.97);
}

/* A noise that is three times as large is mostly seen, an equal one is not. */
static void test_noise(void)
{
	/* scipy 1.17: levene(..., center='median') */
	static const double known[] = {1, 2, 4, 8, 16.5, 3, 2, 2.5, 3, 3.1, 2.9};
	int seen = 0, alarms = 0;
	struct fb_effect f;
	struct example e;
	struct fb_rng rng;
	double y[20];

	example_halves(&e, 6, 5);
	CHECK_INT(fb_effect(&e.design, known, &f), FB_OK);
	CHECK_NEAR(f.noise_p, 0.14654389531298948, 1e-14);
	example_interleave(&e, 20);
	fb_rng_seed(&rng, 12);
	for (int trial = 0; trial < 1000; trial++) {
		for (size_t u = 0; u < 20; u++)
			y[u] = example_normal(&rng) + (e.side[u] ? 3 : 0);
		if (fb_effect(&e.design, y, &f))
			return;
		alarms += f.noise_p <= 0.05;
		for (size_t u = 0; u < 20; u++)
			y[u] *= e.side[u] ? 3 : 1;
		if (fb_effect(&e.design, y, &f))
			return;
		seen += f.noise_p <= 0.05;
	}
	printf("noise 3 times as large seen in %.1f%%, equal noise in %.1f%%\n", seen / 10.,
	       alarms / 10.);
	CHECK_NEAR(alarms / 1000., 0.05, 0.03);
	CHECK(seen > 600);
}

static void test_theta(void)
{
	const double none = (double)NAN;
	struct fb_threshold t = {.least = FB_LEAST_THETA};

	CHECK_NEAR(fb_theta(&t), 0.05, 0);
	t.noise = 0.01;
	CHECK_NEAR(fb_theta(&t), 0.05, 0);
	t.noise = 0.03;
	CHECK_NEAR(fb_theta(&t), 0.09, 1e-15);
	t.noise = none;
	CHECK_NEAR(fb_theta(&t), 0.05, 0);
	/* Half a microsecond of two. */
	t.floor_us = 0.5;
	t.time_us = 2;
	CHECK_NEAR(fb_theta(&t), 0.25, 0);
	t.time_us = none;
	CHECK_NEAR(fb_theta(&t), 0.05, 0);
	t = (struct fb_threshold){.floor_us = none, .time_us = 1};
	CHECK_NEAR(fb_theta(&t), 0, 0);
}

static void test_verdict(void)
{
	const double none = (double)NAN;
	const struct {
		double p, ratio, low, high, theta;
		enum fb_verdict verdict;
	} known[] = {
		{0.01, 1.10, 1.05, 1.15, 0.05, FB_REGRESSED},
		{0.05, 1.05, 1.01, 1.15, 0.05, FB_REGRESSED},
		{0.051, 1.10, 1.05, 1.15, 0.05, FB_UNSURE},
		{0.01, 1.10, 1.00, 1.15, 0.05, FB_UNSURE},
		{0.01, 1.04, 1.01, 1.08, 0.05, FB_UNSURE},
		{0.01, 1.04, 1.03, 1.05, 0.05, FB_SAME},
		{0.01, 0.90, 0.85, 0.95, 0.05, FB_IMPROVED},
		{0.01, 0.90, 0.85, 1.00, 0.05, FB_UNSURE},
		{0.01, 0.951, 0.93, 0.99, 0.05, FB_IMPROVED},
		{0.01, 0.96, 0.93, 0.99, 0.05, FB_UNSURE},
		{0.90, 1.00, 0.96, 1.05, 0.05, FB_SAME},
		{0.90, 1.00, 0.95, 1.05, 0.05, FB_UNSURE}, /* 1 / 1.05 is 0.952 */
		{0.90, 1.00, 0.80, 1.30, 0.05, FB_UNSURE},
		{0.01, 1.30, 1.20, 1.40, 0.50, FB_SAME},
		{none, 1.30, 1.20, 1.40, 0.05, FB_UNSURE},
		{0.01, none, none, none, 0.05, FB_UNSURE},
		{0.01, 1.30, none, none, 0.05, FB_UNSURE},
		{0.01, 1.30, 1.20, 1.40, none, FB_UNSURE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct fb_effect f = {
			.ratio = known[i].ratio, .low = known[i].low, .high = known[i].high};

		CHECK_STR(fb_verdict_name(fb_verdict(&f, known[i].p, known[i].theta)),
			  fb_verdict_name(known[i].verdict));
	}
	CHECK_STR(fb_verdict_name(FB_UNSURE), "UNSURE");
}

int main(void)
{
	test_known();
	test_sizes();
	test_signed_rank();
	test_walsh();
	test_coverage();
	test_noise();
	test_theta();
	test_verdict();
	return check_done("compare_effect");
}
