/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How serve searches for a knee: when it is decided whether a request, and enough of them, meet the
 * objective; which rates are tried; that what is known from the search before does not bias the
 * next one; and the interval of repetitions.
 */
#include "common/base/rng.h"
#include "kvtransfer/serve/account.h"
#include "kvtransfer/serve/knee.h"
#include "tests/unit/check.h"

/*
 * A request of 11 tokens, the first within 1 s and the others 0.1 s apart: at each moment its fate
 * is open as long as tokens that all come now would meet the objective.
 */
static void test_fate_of_requests(void)
{
	const struct fb_objective objective = {1, 0.1};
	struct fb_served s = {.planned = 5, .output = 11};

	CHECK_INT(fb_served_fate(&s, &objective, 5.9), FB_FATE_OPEN);
	CHECK_INT(fb_served_fate(&s, &objective, 6.1), FB_FATE_MISSED);
	s.first = s.last = 5.5;
	s.tokens = 1;
	CHECK_INT(fb_served_fate(&s, &objective, 6.4), FB_FATE_OPEN);
	CHECK_INT(fb_served_fate(&s, &objective, 6.6), FB_FATE_MISSED);
	/* Slow at first, but there is time left. */
	s.tokens = 2;
	s.last = 6.2;
	CHECK_INT(fb_served_fate(&s, &objective, 6.3), FB_FATE_OPEN);
	s.tokens = 11;
	s.last = 6.4;
	CHECK_INT(fb_served_fate(&s, &objective, 9), FB_FATE_MET);
	s.last = 6.6;
	CHECK_INT(fb_served_fate(&s, &objective, 9), FB_FATE_MISSED);
	s.last = 6.4;
	s.first = 6.1;
	s.tokens = 10;
	CHECK_INT(fb_served_fate(&s, &objective, 6.4), FB_FATE_MISSED);
	/* The answer is one token. */
	s = (struct fb_served){.planned = 5, .output = 1, .tokens = 1, .first = 5.5, .last = 5.5};
	CHECK_INT(fb_served_fate(&s, &objective, 9), FB_FATE_MET);
}

/* What is decided early is what the share of all would have decided, whatever the others do. */
static void test_fate_of_shares(void)
{
	static const double wanted[] = {0, 0.5, 0.9, 0.95, 1};
	enum { MOST = 21 };

	for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		for (uint32_t n = 1; n < MOST; n++)
			for (uint32_t met = 0; met <= n; met++)
				for (uint32_t missed = 0; met + missed <= n; missed++) {
					uint32_t most = n - missed;
					bool low = (double)met / n >= wanted[w];
					bool high = (double)most / n >= wanted[w];

					CHECK_INT(fb_share_fate(met, missed, n, wanted[w]),
						  low	 ? FB_FATE_MET
						  : high ? FB_FATE_OPEN
							 : FB_FATE_MISSED);
				}
}

/* Requests without all their tokens were cancelled: they count as missed, and not as requests. */
static void test_cancelled(void)
{
	const struct fb_objective objective = {1, 1};
	struct fb_account a = {.requests = 0};
	struct fb_served s[4];

	memset(s, 0, sizeof(s));
	for (int i = 0; i < 4; i++) {
		s[i].output = 2;
		for (int k = 0; k < 2 && k + i < 4; k++)
			fb_account_token(&a, &s[i], 0.5 + k);
	}
	CHECK_NEAR(fb_account_replay(&a, s, 4, &objective), 0.75, 1e-9);
	CHECK_INT(a.requests, 3);
	CHECK_INT(a.met, 3);
	CHECK_NEAR(a.span, 1.5, 1e-9);
	fb_account_close(&a);
}

/* --- the search for a knee -------------------------------------------------------------------- */

/*
 * A service that meets the objective below its knee, where the knee of a replay is off by a normal
 * deviate of `noise` on a logarithmic scale. Returns what the search finds and how many replays it
 * took.
 */
static double search(struct fb_rng *rng, double knee, double noise, double first, double known,
		     unsigned number, int *replays)
{
	struct fb_knee k;

	fb_knee_begin(&k, first, known, 1, number);
	for (*replays = 0; k.rate > 0 && *replays < 100; ++*replays) {
		double u = fb_rng_unit(rng), v = fb_rng_unit(rng);
		double normal = sqrt(-2 * log(1 - u)) * cos(2 * 3.14159265358979 * v);

		fb_knee_note(&k, k.rate < knee * exp(noise * normal));
	}
	CHECK(*replays < 100);
	return fb_knee_result(&k);
}

static void test_requests(void)
{
	CHECK_INT(fb_knee_requests(44, 1, 100), 440);
	CHECK_INT(fb_knee_requests(4, 1, 100), 100);
	CHECK_INT(fb_knee_requests(1e6, 1, 100), 1600);
	CHECK_INT(fb_knee_requests(44, 1e-6, 1), 1);
}

static void test_exact_knee(void)
{
	struct fb_knee warm_up;
	struct fb_rng rng;
	int replays;

	/* The first rate of a warm-up is the one that was asked for. */
	fb_knee_begin(&warm_up, 30, 0, 42, 0);
	CHECK(warm_up.rate == 30);
	fb_rng_seed(&rng, 7);
	for (unsigned k = 0; k < 400; k++) {
		double knee = exp2(4 * fb_rng_unit(&rng) - 2);
		/* Known from far too low to far too high; 0: not at all. */
		double known = k % 4 ? knee * exp2(fb_rng_unit(&rng) * 6 - 3) : 0;
		double found = search(&rng, knee, 0, 1, known, k, &replays);

		CHECK(found > knee / 1.0444 && found < knee * 1.0444);
		CHECK(replays <= 11);
		found = search(&rng, knee, 0, 1, found, k, &replays);
		CHECK(found > knee / 1.0444 && found < knee * 1.0444);
		CHECK_INT(replays, FB_KNEE_FEWEST);
	}
	/* No rate is too high, or every one. */
	CHECK(isnan(search(&rng, 1e9, 0, 4, 0, 1, &replays)));
	CHECK_INT(replays, 12);
	CHECK(isnan(search(&rng, 1e9, 0, 4, 4 * 2048, 2, &replays)));
	CHECK(search(&rng, 1e-9, 0, 4, 0, 1, &replays) == 0);
	CHECK(search(&rng, 1e-9, 0, 4, (double)NAN, 1, &replays) == 0);
	CHECK_INT(replays, 12);
}

/* 120 requests and 1 s for the first token: at most 60/s, at which they arrive within 2 s. */
static void test_steady_knee(void)
{
	CHECK_NEAR(fb_knee_steady(33.2, 120, 1), 33.2, 1e-9);
	CHECK_NEAR(fb_knee_steady(60, 120, 1), 60, 1e-9);
	CHECK(isnan(fb_knee_steady(60.1, 120, 1)));
	CHECK(isnan(fb_knee_steady(149, 120, 1)));
	CHECK_NEAR(fb_knee_steady(149, 300, 1), 149, 1e-9);
	CHECK_NEAR(fb_knee_steady(149, 120, 0.2), 149, 1e-9);
	CHECK(isnan(fb_knee_steady((double)NAN, 120, 1)));
	CHECK(fb_knee_steady(0, 120, 1) == 0);
	/* Two objectives, ten, and no knee. */
	CHECK_NEAR(fb_knee_excess(60, 120, 1, 0.9), 1 + 1 / 1.8, 1e-9);
	CHECK(fb_knee_excess(44, fb_knee_requests(44, 1, 100), 1, 0.9) == 1);
	CHECK(fb_knee_excess((double)NAN, 120, 1, 0.9) == 1 && fb_knee_excess(0, 0, 1, 0.9) == 1);
}

/* Mean and standard deviation of logarithms, and the correlation of each with the one before. */
struct moments {
	double mean, deviation, correlation;
};

/* Of many searches, each of which knows the knee of the one before, or `first` only. */
static struct moments many_searches(double noise, bool knows)
{
	enum { SEARCHES = 8000 };
	static double x[SEARCHES];
	struct moments m = {0, 0, 0};
	struct fb_rng rng;
	double known = 0;
	int replays;

	fb_rng_seed(&rng, 11);
	for (unsigned k = 0; k < SEARCHES; k++) {
		double found = search(&rng, 1, noise, 5, known, k, &replays);

		known = knows ? found : 0;
		x[k] = log(found);
		m.mean += x[k] / SEARCHES;
	}
	for (int k = 0; k < SEARCHES; k++)
		m.deviation += (x[k] - m.mean) * (x[k] - m.mean) / SEARCHES;
	for (int k = 1; k < SEARCHES; k++)
		m.correlation += (x[k] - m.mean) * (x[k - 1] - m.mean) / SEARCHES / m.deviation;
	m.deviation = sqrt(m.deviation);
	return m;
}

/* Chance decides about replays near the knee, and what it decided once is not passed on. */
static void test_unbiased_knee(void)
{
	/* With much noise a search depends a little on the one before: docs/kvtransfer.md. */
	static const double noises[] = {0, 0.01, 0.06, 0.12, 0.18};

	for (size_t n = 0; n < sizeof(noises) / sizeof(noises[0]); n++) {
		double noise = noises[n];
		bool much = noise > 0.1;
		struct moments plain = many_searches(noise, false);
		struct moments knows = many_searches(noise, true);

		CHECK_NEAR(plain.mean, 0, 0.005);
		CHECK_NEAR(knows.mean, 0, much ? 0.02 : 0.005);
		CHECK_NEAR(knows.deviation, plain.deviation, much ? 0.025 : 0.005);
		CHECK_NEAR(knows.correlation, 0, much ? 0.13 : 0.04);
	}
}

/*
 * The interval of the median of six searches has the knee as often as it should, although each
 * search knows the one before and the first one what a warm-up has shown. Of an interval from the
 * least to the greatest of six values these are 97%.
 */
static void test_coverage_of_knees(void)
{
	static const double noises[] = {0, 0.01, 0.06, 0.18};
	enum { ROWS = 4000, SEARCHES = 6 };

	for (size_t n = 0; n < sizeof(noises) / sizeof(noises[0]); n++) {
		struct fb_rng rng;
		int replays, covered = 0;

		fb_rng_seed(&rng, 5);
		for (unsigned row = 0; row < ROWS; row++) {
			double known = exp2(fb_rng_unit(&rng) - 0.5), low = 1e9, high = 0;

			for (unsigned k = 1; k <= SEARCHES; k++) {
				known = search(&rng, 1, noises[n], 5, known, SEARCHES * row + k,
					       &replays);
				low = fmin(low, known);
				high = fmax(high, known);
			}
			covered += low <= 1 && high >= 1;
		}
		CHECK_NEAR((double)covered / ROWS, noises[n] > 0.1 ? 0.955 : 0.97, 0.01);
	}
}

/* Knees are spread over the whole interval of 9% that a search leaves, not over a few rates. */
static void test_spread_of_knees(void)
{
	bool seen[10] = {false};
	double known = 0;
	struct fb_rng rng;
	int replays, parts = 0;

	fb_rng_seed(&rng, 3);
	for (unsigned k = 1; k <= 60; k++) {
		int part;

		known = search(&rng, 1, 0, 1, known, k, &replays);
		part = (int)((8 * log2(known) + 0.5) * 10);
		if (!CHECK(part >= 0 && part < 10))
			return;
		parts += !seen[part];
		seen[part] = true;
	}
	CHECK(parts >= 9);
}

/*
 * Quotients of both knees, a pair in each repetition: the interval of their median is between the
 * ends of six, also of six that rise: order says nothing. A seventh repetition without a quotient
 * is one that the six say nothing about.
 */
static void test_interval_of_pairs(void)
{
	double rising[] = {0.9, 1.1, 1.2, 1.3, 1.4, 1.5};
	double quotient[] = {1.3, 0.9, 1.2, 1.5, 1.1, 1.4}, nothing[3] = {1, 2, 3}, result[3];
	struct fb_series s = {.value = quotient, .n = 6};

	fb_series_interval(&s, 6, result);
	CHECK_NEAR(result[0], 1.25, 1e-9);
	CHECK_NEAR(result[1], 0.9, 1e-9);
	CHECK_NEAR(result[2], 1.5, 1e-9);
	s.value = rising;
	fb_series_interval(&s, 6, result);
	CHECK_NEAR(result[1], 0.9, 1e-9);
	CHECK_NEAR(result[2], 1.5, 1e-9);
	s.value = quotient;
	fb_series_interval(&s, 7, result);
	CHECK_NEAR(result[0], 1.25, 1e-9);
	CHECK(isnan(result[1]) && isnan(result[2]));
	s.n = 5;
	fb_series_interval(&s, 5, result);
	CHECK_NEAR(result[0], 1.2, 1e-9);
	CHECK(isnan(result[1]) && isnan(result[2]));
	s.n = 0;
	fb_series_interval(&s, 2, nothing);
	CHECK(nothing[0] == 1 && nothing[1] == 2 && nothing[2] == 3);
}

int main(void)
{
	test_fate_of_requests();
	test_fate_of_shares();
	test_cancelled();
	test_requests();
	test_exact_knee();
	test_steady_knee();
	test_unbiased_knee();
	test_coverage_of_knees();
	test_spread_of_knees();
	test_interval_of_pairs();
	return check_done("knee");
}
