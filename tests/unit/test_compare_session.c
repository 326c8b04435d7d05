/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sides that ran one after the other on a machine that drifts: how often a session passes for a
 * change, and how often a change is found. Known answers by numpy for one small example.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "scripts/tools/compare/session.h"
#include "tests/unit/check.h"
#include "tests/unit/compare_example.h"

enum { ROWS = 90, LAUNCHES = 10, MOST = 2 * 3 * LAUNCHES };

static void test_known(void)
{
	/* Two sessions a side of two launches; the second row lacks all of one session. */
	static const unsigned session[] = {0, 0, 2, 2, 4, 4, 6, 6};
	double none = (double)NAN, error[2];
	double y[] = {1, 3, 5, 7, 11, 13, 9, 15, 1, 2, none, none, 3, 4, 5, 6};
	struct fb_sessions s;
	struct example e;

	example_halves(&e, 4, 4);
	CHECK_INT(fb_sessions_check(&e.design, session, y, 2, error, &s), FB_OK);
	CHECK_INT(s.count[0], 2);
	CHECK_INT(s.count[1], 2);
	CHECK(s.enough && s.degrees == 2);
	/* Means 2 6 12 12: between 8 / 2; within (2 + 2 + 2 + 18) / 4 / 2 = 3. */
	CHECK_NEAR(s.inflation, 4 / 3., 1e-12);
	CHECK_NEAR(error[0], sqrt(4 / 3. * 3), 1e-12);
	CHECK(isnan(error[1]));
	/* scipy 1.16: expm1(0.01 * t.isf(0.05 / 90 / 2, 8 + 2)) */
	CHECK_NEAR(fb_session_theta(&s, 0.01, 90, 0.05), 0.050999, 2e-4);
	/* A row may lack a launch of a session, be it the first: means 3 6 12 12, degrees 3. */
	static const double late[] = {NAN, 3, 5, 7, 11, 13, 9, 15};

	CHECK_INT(fb_sessions_check(&e.design, session, late, 1, error, &s), FB_OK);
	CHECK_NEAR(s.inflation, 1, 1e-12);
	CHECK_NEAR(error[0], sqrt(22 / 3. * 2.5 / 4), 1e-12);
	/* One session a side tells nothing. */
	static const unsigned one[] = {0, 0, 0, 0, 4, 4, 4, 4};

	CHECK_INT(fb_sessions_check(&e.design, one, y, 1, error, &s), FB_OK);
	CHECK(!s.enough && isnan(error[0]) && s.count[0] == 1 && s.count[1] == 1);
}

/* Launches in order of time, with that correlation from one to the next; rows share some of it. */
static void simulate(double correlation, double shared, size_t launches, struct fb_rng *rng,
		     double *y)
{
	double own = sqrt(1 - shared), common = sqrt(shared), fresh = sqrt(1 - pow(correlation, 2));

	for (size_t u = 0; u < launches; u++) {
		double all = example_normal(rng);

		for (size_t r = 0; r < ROWS; r++) {
			double e = own * example_normal(rng) + common * all;
			double *at = &y[r * launches + u];

			*at = 0.02 * (u ? fresh * e : e) + (u ? correlation * at[-1] : 0);
		}
	}
}

static double difference(const double *y, size_t launches)
{
	double sum = 0;

	for (size_t u = 0; u < launches; u++)
		sum += (u < launches / 2 ? -2 : 2) * y[u] / (double)launches;
	return sum;
}

static void test_drifting(void)
{
	static const struct {
		size_t sessions;
		double correlation, shared, most_false, found;
	} known[] = {{3, 0, 0, 0.05, 0.99},
		     {3, 0.5, 0, 0.1, 0.99},
		     {3, 0.5, 0.5, 0.1, 0.99},
		     {3, 0.5, 0.9, 0.1, 0.98},
		     {2, 0.5, 0.5, 0.1, 0.95}};
	enum { TRIALS = 200, SHIFTED = 5 };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		static double y[ROWS * MOST];
		size_t n = 2 * known[i].sessions * LAUNCHES;
		double error[ROWS], alarms = 0, found = 0;
		unsigned session[MOST];
		struct fb_sessions s;
		struct example e;
		struct fb_rng rng;

		example_halves(&e, n / 2, n / 2);
		for (size_t u = 0; u < n; u++)
			session[u] = (unsigned)(u / LAUNCHES);
		fb_rng_seed(&rng, 60 + i);
		for (int t = 0; t < TRIALS; t++) {
			bool alarm = false;

			simulate(known[i].correlation, known[i].shared, n, &rng, y);
			if (fb_sessions_check(&e.design, session, y, ROWS, error, &s))
				exit(1);
			for (size_t r = 0; r < ROWS; r++) {
				double theta = fb_session_theta(&s, error[r], ROWS, 0.05);
				double d = difference(y + r * n, n);

				alarm |= fabs(d) > log1p(theta);
				/* 10% slower moves means, and no variation. */
				if (r < SHIFTED)
					found += (d + log(1.1) > log1p(theta)) / (double)SHIFTED;
			}
			alarms += alarm;
		}
		printf("%zu sessions a side, AR %.1f, %.0f%% shared: %.1f%% alarm without cause, "
		       "10%% slower found %.1f%%\n",
		       known[i].sessions, known[i].correlation, 100 * known[i].shared,
		       100 * alarms / TRIALS, 100 * found / TRIALS);
		CHECK(alarms / TRIALS <= known[i].most_false);
		CHECK(found / TRIALS >= known[i].found);
	}
}

int main(void)
{
	test_known();
	test_drifting();
	return check_done("compare_session");
}
