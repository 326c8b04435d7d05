/* SPDX-License-Identifier: BSD-3-Clause */
/* What could have been found: known answers from notes on the method, from tables and scipy. */
#include "scripts/tools/compare/power.h"

#include "tests/unit/check.h"

static void test_tails(void)
{
	/* scipy 1.17: 2 * t.sf(t, degrees) */
	static const struct {
		double t;
		size_t degrees;
		double p;
	} known[] = {{0, 3, 1},
		     {1, 1, 0.5},
		     {2.5, 2, 0.12961172022151082},
		     {3, 5, 0.030099247897462586},
		     {4.5, 18, 0.00027699939350699765},
		     {2.1, 7, 0.07387119621292265},
		     {6, 98, 3.322310044269268e-08},
		     {0.3, 4, 0.7791214282774598}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK_NEAR(fb_student_p(known[i].t, known[i].degrees), known[i].p, 1e-14);
	CHECK_NEAR(fb_student_p(1.96, 100000), 0.05, 1e-4);
	CHECK_NEAR(fb_student_p((double)INFINITY, 7), 0, 1e-15);
	CHECK(isnan(fb_student_p(-1, 7)) && isnan(fb_student_p(1, 0)));
	CHECK(isnan(fb_student_p((double)NAN, 7)));
	CHECK_NEAR(fb_normal_upper(0.025), 1.9599639845400545, 1e-12);
	CHECK_NEAR(fb_normal_upper(0.2), 0.8416212335729142, 1e-12);
	CHECK_NEAR(fb_normal_upper(0.5), 0, 1e-12);
	CHECK_NEAR(fb_normal_upper(0.975), -1.9599639845400545, 1e-12);
	CHECK(isnan(fb_normal_upper(0)) && isnan(fb_normal_upper(1)));
}

static void test_one_row(void)
{
	CHECK_NEAR(fb_least_change(1, 10, 10, FB_ALPHA, FB_POWER), 1.28, 0.005);
	CHECK_NEAR(fb_least_change(1, 8, 8, FB_ALPHA, FB_POWER), 1.43, 0.005);
	CHECK_NEAR(fb_least_change(1, 5, 5, FB_ALPHA, FB_POWER), 1.81, 0.005);
	CHECK_NEAR(fb_least_change(0.03, 10, 10, 0.05, 0.8),
		   0.03 * (1.959964 + 0.841621) * sqrt(2 / 9.55), 1e-7);
	/* 10 against 40 is worth 16 against 16. */
	CHECK_NEAR(fb_least_change(1, 10, 40, 0.05, 0.8), fb_least_change(1, 16, 16, 0.05, 0.8),
		   1e-12);
	CHECK_NEAR(fb_least_change(0, 5, 5, 0.05, 0.8), 0, 0);
	CHECK_INT(fb_launches_needed(0.03, 0.05, FB_ALPHA, FB_POWER), 7);
	CHECK_INT(fb_launches_needed(0.13, 0.05, FB_ALPHA, FB_POWER), 117);
	CHECK_INT(fb_launches_needed(0.001, 0.05, FB_ALPHA, FB_POWER), 4);
	CHECK_INT(fb_launches_needed(100, 0.001, FB_ALPHA, FB_POWER), FB_MOST_LAUNCHES);
	CHECK_INT(fb_launches_needed((double)INFINITY, 0.05, 0.05, 0.8), FB_MOST_LAUNCHES);
	CHECK(isnan(fb_least_change(-1, 5, 5, 0.05, 0.8)));
	CHECK(isnan(fb_least_change((double)NAN, 5, 5, 0.05, 0.8)));
	CHECK(isnan(fb_least_change(1, 0, 5, 0.05, 0.8)));
	CHECK(isnan(fb_least_change(1, 5, 5, 0, 0.8)));
	CHECK(isnan(fb_least_change(1, 5, 5, 0.05, 1)));
	CHECK_INT(fb_launches_needed(0.03, 0, 0.05, 0.8), 0);
	CHECK_INT(fb_launches_needed((double)NAN, 0.05, 0.05, 0.8), 0);
}

static void test_family(void)
{
	/* scipy 1.17: the noncentrality with nct.sf(t, degrees, x) = 0.8 */
	static const struct {
		double t, degrees, distance;
	} known[] = {{2.1, 18, 2.9617246893935745},
		     {4.6, 18, 5.59207346769097},
		     {5.5, 14, 6.606271228941326},
		     {9, 8, 10.750076234048889}};
	struct fb_family_power f = {.rows = 200, .power = FB_POWER};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		f.critical_t = known[i].t;
		f.degrees = known[i].degrees;
		CHECK_NEAR(fb_family_least_change(&f, 0.5, 2), known[i].distance,
			   0.005 * known[i].distance);
	}
	/* 200 independent rows, 10 launches a side: t.isf(0.05 / 400, 18) */
	f.critical_t = 4.546530482370359;
	f.degrees = 18;
	double change = fb_family_least_change(&f, 0.03, sqrt(0.2));

	CHECK_NEAR(change / 0.03, 2.48, 0.01);
	CHECK_INT(fb_family_launches_needed(&f, 0.03, expm1(change * 1.0001)), 10);
	CHECK_INT(fb_family_launches_needed(&f, 0.03, expm1(change * 0.98)), 11);
	CHECK(fb_family_launches_needed(&f, 0.13, 0.05) >
	      fb_launches_needed(0.13, 0.05, FB_ALPHA, FB_POWER));
	CHECK_INT(fb_family_launches_needed(&f, 0, 0.05), 4);
	CHECK_INT(fb_family_launches_needed(&f, 1e6, 0.05), FB_MOST_LAUNCHES);
	/* Where nothing could be found, rows are taken for independent. */
	f.critical_t = (double)INFINITY;
	f.degrees = 4;
	CHECK(isinf(fb_family_least_change(&f, 0.03, 1)));
	CHECK_INT(fb_family_launches_needed(&f, 0.03, expm1(change * 1.0001)), 10);
	f.blocks = true;
	CHECK(fb_family_launches_needed(&f, 0.03, expm1(change)) > 10);
	CHECK_INT(fb_family_launches_needed(&f, 0, 0.05), 6);
	f.critical_t = (double)NAN;
	CHECK(isnan(fb_family_least_change(&f, 0.03, 1)));
	CHECK_INT(fb_family_launches_needed(&f, (double)NAN, 0.05), 0);
	CHECK_INT(fb_family_launches_needed(&f, 0.03, -1), 0);
}

int main(void)
{
	test_tails();
	test_one_row();
	test_family();
	return check_done("compare_power");
}
