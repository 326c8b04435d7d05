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
	CHECK(c[0].p < 1e-6);
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

static int is_close(size_t got, size_t want)
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
		both += count == 2 && is_close(c[0].first, 60) && is_close(c[1].first, 90) &&
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

/* Histories without a change, with wild nights: hardly one has a point; more without that test. */
static void test_false_alarms(void)
{
	struct fb_history_options strict = {.theta = 0},
				  lax = {.max_p = 0.05, .draws = 199, .alpha = 1e9};
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
	CHECK(wild <= 20);
	CHECK_NEAR(alarms / 1000., 0.08, 0.03);
}

/*
 * Nights that are like their neighbours, of 10% noise, and no change: hardly a row has one. And a
 * change is seen five nights after it, where nights are independent and where they are not.
 */
static void test_alike_nights(void)
{
	static const struct {
		double correlation, noise, change;
		size_t rows, nights;
		double least, most; /* share of histories with a change */
	} known[] = {{0.5, 0.1, 0, 1, 60, 0, 0.05},    {0.5, 0.1, 0, 1, 200, 0, 0.05},
		     {0.8, 0.1, 0, 1, 60, 0, 0.1},     {0, 0.1, 0, 1, 60, 0, 0.05},
		     {0, 0.02, 0.1, 90, 30, 0.75, 1},  {0, 0.03, 0.2, 90, 60, 0.9, 1},
		     {0.5, 0.02, 0.2, 90, 60, 0.55, 1}};
	enum { TRIALS = 200, AFTER = 5 };

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		double y[200], fresh = sqrt(1 - pow(known[k].correlation, 2)), found = 0;
		size_t n = known[k].nights;
		struct fb_change c[40];
		struct fb_rng rng;

		fb_rng_seed(&rng, 80 + k);
		for (int trial = 0; trial < TRIALS; trial++) {
			struct fb_history_options o = {.rows = known[k].rows, .theta = 0.05};
			size_t count = 0;

			o.seed = (uint64_t)trial;
			for (size_t i = 0; i < n; i++)
				y[i] = i ? fresh * example_normal(&rng) +
						       known[k].correlation * y[i - 1]
					 : example_normal(&rng);
			for (size_t i = 0; i < n; i++)
				y[i] = known[k].noise * y[i] +
				       (i + AFTER >= n ? log1p(known[k].change) : 0);
			CHECK_INT(fb_history(y, n, &o, c, &count), FB_OK);
			found += count > 0;
		}
		printf("AR %.1f, noise %.0f%%, a change of %.0f%% %d nights ago, %zu rows, %zu "
		       "nights: %.1f%% of rows have one\n",
		       known[k].correlation, 100 * known[k].noise, 100 * known[k].change, AFTER,
		       known[k].rows, n, 100 * found / TRIALS);
		CHECK(found / TRIALS >= known[k].least && found / TRIALS <= known[k].most);
	}
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
	struct fb_history_options o = {.max_p = 0.99, .draws = 99, .alpha = 1e9};
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
	test_alike_nights();
	test_split();
	test_errors();
	return check_done("compare_history");
}
