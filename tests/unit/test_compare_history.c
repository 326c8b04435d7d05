/* SPDX-License-Identifier: BSD-3-Clause */
/* Change points over nights: planted ones are found where they are, noise has none. */
#include "scripts/tools/compare/history.h"

#include "common/base/error.h"
#include "tests/unit/check.h"
#include "tests/unit/compare_example.h"

enum { MOST = 400 };

struct level {
	size_t nights;
	double us;
};

/* Nights of 2% noise at given levels; returns how many. */
static size_t make_nights(double *y, const struct level *levels, size_t count, struct fb_rng *rng)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < levels[i].nights; k++)
			y[n++] = log(levels[i].us) + 0.02 * example_normal(rng);
	return n;
}

static void test_known(void)
{
	/* 12 nights of 1 us, 12 of 2 us: the only split without a misplaced night. */
	const struct fb_history_options o = {.theta = 0.05};
	struct fb_change c[4];
	double y[24];
	size_t count = 77;

	for (int i = 0; i < 24; i++)
		y[i] = (i >= 12 ? log(2) : 0) + 1e-3 * (i * 5 % 7);
	CHECK_INT(fb_history(y, 24, &o, c, &count), FB_OK);
	CHECK_INT(count, 1);
	CHECK_INT(c[0].first, 12);
	CHECK_NEAR(c[0].ratio, 2, 0.01);
	CHECK_NEAR(c[0].before_us, 1, 0.01);
	CHECK_NEAR(c[0].after_us, 2, 0.02);
	CHECK_NEAR(c[0].p, 0.001, 1e-12);
	/* Equal nights, one wild night, hardly any nights. */
	for (int i = 0; i < 24; i++)
		y[i] = 1;
	CHECK_INT(fb_history(y, 24, &o, c, &count), FB_OK);
	CHECK_INT(count, 0);
	y[7] = 9;
	count = 77;
	CHECK_INT(fb_history(y, 24, &o, c, &count), FB_OK);
	CHECK_INT(count, 0);
	for (size_t n = 0; n < 10; n++) {
		count = 77;
		CHECK_INT(fb_history(y, n, &o, c, &count), FB_OK);
		CHECK_INT(count, 0);
	}
}

static int is_near(size_t got, size_t want)
{
	return got + 2 >= want && got <= want + 2;
}

/* A rise, a fall after 30 nights, and a rise that is too small to matter. */
static void test_planted(void)
{
	static const struct level levels[] = {{60, 10}, {30, 12}, {50, 10}, {60, 10.3}};
	struct fb_history_options o = {.theta = 0.05};
	int both = 0, small = 0, extra = 0;
	struct fb_change c[MOST / 5];
	double y[MOST];
	struct fb_rng rng;

	fb_rng_seed(&rng, 31);
	for (int trial = 0; trial < 10; trial++) {
		size_t n = make_nights(y, levels, 4, &rng), count = 0;

		o.theta = 0.05;
		o.seed = (uint64_t)trial;
		CHECK_INT(fb_history(y, n, &o, c, &count), FB_OK);
		both += count == 2 && is_near(c[0].first, 60) && is_near(c[1].first, 90) &&
			fabs(c[0].ratio - 1.2) < 0.03 && c[1].ratio < 1;
		extra += count > 2;
		/* Every change counts: the small one is found too, not so exactly. */
		o.theta = 0;
		CHECK_INT(fb_history(y, n, &o, c, &count), FB_OK);
		small += count >= 3 && c[2].first > 130 && c[2].first < 150;
	}
	CHECK(both >= 9);
	CHECK(extra <= 1);
	CHECK(small >= 8);
}

/* Histories without a change: one in a thousand splits is accepted at max_p 0.001, 5% at 0.05. */
static void test_false_alarms(void)
{
	struct fb_history_options strict = {.theta = 0}, lax = {.max_p = 0.05, .draws = 199};
	int alarms = 0, wild = 0;
	struct fb_change c[20];
	double y[100];
	struct fb_rng rng;

	fb_rng_seed(&rng, 8);
	for (int trial = 0; trial < 1000; trial++) {
		size_t count = 0;

		/* Whole hundredths of skewed values: ties, and some nights far out. */
		for (int i = 0; i < 60; i++)
			y[i] = floor(100 * exp(0.5 * example_normal(&rng))) / 100;
		strict.seed = lax.seed = (uint64_t)trial;
		CHECK_INT(fb_history(y, 60, &strict, c, &count), FB_OK);
		wild += count > 0;
		CHECK_INT(fb_history(y, 60, &lax, c, &count), FB_OK);
		alarms += count > 0;
	}
	printf("without a change: %d and %d of 1000 histories have one\n", wild, alarms);
	CHECK(wild <= 5);
	CHECK_NEAR(alarms / 1000., 0.05, 0.02);
}

/* Energy distance of the first k and the other nights by its definition, on mid-ranks. */
static double brute_force_score(const double *y, size_t n, size_t k)
{
	double rank[40], a = (double)k, b = (double)(n - k), sum[3] = {0};

	for (size_t i = 0; i < n; i++) {
		rank[i] = 0;
		for (size_t j = 0; j < n; j++)
			rank[i] += y[j] < y[i] ? 1 : y[j] == y[i] ? 0.5 : 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			sum[(i >= k) + (j >= k)] += fabs(rank[i] - rank[j]);
	return a * b / (a + b) *
	       (2 * sum[1] / (a * b) - 2 * sum[0] / (a * (a - 1)) - 2 * sum[2] / (b * (b - 1)));
}

/* A single point lies at the best split by the definition, with ties and without. */
static void test_split(void)
{
	struct fb_history_options o = {.max_p = 0.99, .draws = 99};
	struct fb_change c[20];
	int found = 0;
	double y[40];
	struct fb_rng rng;

	fb_rng_seed(&rng, 17);
	for (int trial = 0; trial < 200; trial++) {
		size_t n = 4 + fb_rng_below(&rng, 30), count = 0;

		for (size_t i = 0; i < n; i++)
			y[i] = trial % 2 ? example_normal(&rng) + (i > n / 2 ? 1 : 0)
					 : (double)fb_rng_below(&rng, 4);
		/* Parts so long that there is room for one point only. */
		o.least_part = n / 3 + 1;
		CHECK_INT(fb_history(y, n, &o, c, &count), FB_OK);
		CHECK(count <= 1);
		for (size_t k = o.least_part; count && k + o.least_part <= n; k++)
			CHECK(brute_force_score(y, n, c[0].first) >=
			      brute_force_score(y, n, k) - 1e-9);
		found += count == 1;
	}
	CHECK(found > 150);
}

static void test_errors(void)
{
	struct fb_history_options o = {.theta = 0.05};
	struct fb_change c[4];
	double y[20] = {0};
	size_t count = 42;

	y[19] = (double)NAN;
	CHECK_INT(fb_history(y, 20, &o, c, &count), FB_EINPUT);
	y[19] = (double)INFINITY;
	CHECK_INT(fb_history(y, 20, &o, c, &count), FB_EINPUT);
	y[19] = 0;
	o.theta = -1;
	CHECK_INT(fb_history(y, 20, &o, c, &count), FB_EINPUT);
	o = (struct fb_history_options){.max_p = 1};
	CHECK_INT(fb_history(y, 20, &o, c, &count), FB_EINPUT);
	o = (struct fb_history_options){.least_part = 1};
	CHECK_INT(fb_history(y, 20, &o, c, &count), FB_EINPUT);
	o = (struct fb_history_options){.draws = 99}; /* cannot give 0.001 */
	CHECK_INT(fb_history(y, 20, &o, c, &count), FB_EINPUT);
	CHECK_INT(count, 42);
}

int main(void)
{
	test_known();
	test_planted();
	test_false_alarms();
	test_split();
	test_errors();
	return check_done("compare_history");
}
