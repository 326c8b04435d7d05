/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Max-T and Holm: known answers, all assignments gone through by a plain second implementation,
 * and what must not matter (the order of rows, units, which side is called A).
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "scripts/tools/compare/family.h"
#include "scripts/tools/compare/power.h"
#include "tests/unit/check.h"
#include "tests/unit/compare_example.h"

enum { MOST_ROWS = 64, MOST_SETS = 1 << 14, MOST_UNITS = 32 };

static int ascending(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* The normal deviate, squared, of a t (Wallace). */
static double z2_of(double t, double degrees)
{
	return pow((8 * degrees + 1) / (8 * degrees + 3), 2) * degrees * log(1 + t * t / degrees);
}

/* The t of f degrees of freedom that is as far out, with the sign of `sign`. */
static double t_of(double z2, double f, double sign)
{
	double scale = pow((8 * f + 1) / (8 * f + 3), 2) * f;

	return copysign(sqrt(f * (exp(z2 / scale) - 1)), sign);
}

struct part {
	double n, mean, squares;   /* of all values; squares: of distances to the mean */
	double kept, middle, wins; /* trimmed: how many, their mean, Winsorised squares */
};

/* The textbook's way, of values in any order; Yuen (1974). */
static struct part part_of(double *x, int n)
{
	struct part p = {.n = n};
	int g = n >= 5 ? n / 5 : 0;
	double w[MOST_UNITS], mean = 0;

	qsort(x, (size_t)n, sizeof(*x), ascending);
	p.kept = n - 2 * g;
	for (int i = 0; i < n; i++) {
		p.mean += x[i] / n;
		p.middle += i >= g && i < n - g ? x[i] / p.kept : 0;
		w[i] = i < g ? x[g] : i >= n - g ? x[n - g - 1] : x[i];
		mean += w[i] / n;
	}
	for (int i = 0; i < n; i++) {
		p.squares += pow(x[i] - p.mean, 2);
		p.wins += pow(w[i] - mean, 2);
	}
	return p;
}

/*
 * The statistic of one row when `set` says which launches are B, as a t: Student's, Welch's for
 * sides of unequal number with at least 4 each, or Yuen's, which is more.
 */
static double t_of_set(const double *y, size_t n, unsigned set)
{
	double side[2][MOST_UNITS], f, error, z2;
	int count[2] = {0, 0};

	for (size_t i = 0; i < n; i++)
		side[set >> i & 1][count[set >> i & 1]++] = y[i];
	struct part a = part_of(side[0], count[0]), b = part_of(side[1], count[1]);
	double va = 1 / a.n, vb = 1 / b.n;

	if (count[0] != count[1] && fmin(a.n, b.n) >= 4) {
		error = a.squares / (a.n - 1) / a.n + b.squares / (b.n - 1) / b.n;
		f = pow(va + vb, 2) / (va * va / (a.n - 1) + vb * vb / (b.n - 1));
	} else {
		error = (a.squares + b.squares) / ((double)n - 2) * (va + vb);
		f = (double)n - 2;
	}
	z2 = z2_of((b.mean - a.mean) / sqrt(error), f);
	if (fmin(a.n, b.n) < 5)
		return t_of(z2, f, b.mean - a.mean);
	double da = (a.n - 1) / a.kept / (a.kept - 1), db = (b.n - 1) / b.kept / (b.kept - 1);
	double g = pow(da + db, 2) / (da * da / (a.kept - 1) + db * db / (b.kept - 1));

	error = a.wins / a.kept / (a.kept - 1) + b.wins / b.kept / (b.kept - 1);
	return t_of(fmax(z2, z2_of((b.middle - a.middle) / sqrt(error), g)), f,
		    b.middle - a.middle);
}

/* The same of the differences d when `set` says which keep their sign. */
static double t_of_signs(const double *d, size_t n, unsigned set)
{
	double x[MOST_UNITS], f = (double)n - 1, z2;

	for (size_t i = 0; i < n; i++)
		x[i] = set >> i & 1 ? d[i] : -d[i];
	struct part p = part_of(x, (int)n);

	z2 = z2_of(p.mean / sqrt(p.squares / f / p.n), f);
	if (n < 5)
		return t_of(z2, f, p.mean);
	return t_of(fmax(z2, z2_of(p.middle / sqrt(p.wins / p.kept / (p.kept - 1)), p.kept - 1)), f,
		    p.middle);
}

static int ones(unsigned set)
{
	int n = 0;

	for (; set; set &= set - 1)
		n++;
	return n;
}

typedef double statistic(const double *row, size_t n, unsigned set);

/* y[rows][n]; adjusted p by the definition, over all sets of as many launches as `real`. */
static void brute_force(const double *y, size_t rows, size_t n, unsigned real, statistic *t,
			int step_down, double *p)
{
	static double all[MOST_ROWS][MOST_SETS];
	double own[MOST_ROWS], plain[MOST_ROWS];
	size_t sets = 0;

	for (unsigned set = 0; set < 1u << n; set++) {
		if (t == t_of_set && ones(set) != ones(real))
			continue;
		for (size_t r = 0; r < rows; r++)
			all[r][sets] = fabs(t(y + r * n, n, set));
		sets++;
	}
	for (size_t r = 0; r < rows; r++)
		own[r] = fabs(t(y + r * n, n, real));
	for (size_t r = 0; r < rows; r++) {
		size_t reached = 0;

		for (size_t s = 0; s < sets; s++) {
			double most = 0;

			for (size_t q = 0; q < rows; q++)
				if (!step_down || own[q] <= own[r])
					most = fmax(most, all[q][s]);
			reached += most >= own[r] * (1 - 1e-9);
		}
		plain[r] = (double)reached / (double)sets;
	}
	/* No p is less than that of a row with a larger t. */
	for (size_t r = 0; r < rows; r++) {
		p[r] = plain[r];
		for (size_t q = 0; q < rows; q++)
			if (own[q] >= own[r])
				p[r] = fmax(p[r], plain[q]);
	}
}

/* Rows of noise, half of which B is slower in, with a launch effect; on the statistic's grid. */
static void make_rows(double *y, size_t rows, const struct example *e, uint64_t seed)
{
	size_t n = e->design.launches;
	struct fb_rng rng;

	fb_rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++) {
		double launch = 0.02 * example_normal(&rng);

		for (size_t r = 0; r < rows; r++)
			y[r * n + i] =
				rint(0x1p22 * (3 + launch + 0.03 * example_normal(&rng) +
					       (e->side[i] && r % 2 ? 0.01 * (double)r : 0))) /
				0x1p22;
	}
}

static void test_brute_force(void)
{
	static const size_t sizes[][2] = {{2, 2}, {3, 3}, {4, 3}, {2, 5}, {5, 5},
					  {1, 4}, {6, 6}, {4, 6}, {7, 4}};
	struct fb_family_row out[7];
	struct fb_family family;
	double y[7 * 12] = {0}, p[7];
	struct example e;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t a = sizes[i][0], b = sizes[i][1], n = a + b;
		unsigned real = ((1u << b) - 1) << a;

		example_halves(&e, a, b);
		make_rows(y, 7, &e, 40 + i);
		for (int step = 0; step <= 1; step++) {
			struct fb_family_options o = {.single_step = !step};

			CHECK_INT(fb_family_test(&e.design, y, 7, &o, out, &family), FB_OK);
			brute_force(y, 7, n, real, t_of_set, step, p);
			for (size_t r = 0; r < 7; r++) {
				CHECK_NEAR(out[r].p, p[r], 1e-12);
				CHECK_NEAR(out[r].t, t_of_set(y + r * n, n, real),
					   1e-9 * fabs(out[r].t));
			}
			CHECK(family.exhaustive);
			if (a == b || a < 4 || b < 4)
				CHECK_NEAR(family.degrees, (double)n - 2, 0);
			else
				CHECK(family.degrees < (double)n - 2 && family.degrees > 3);
			CHECK_NEAR(family.least_p * (double)family.assignments, 1, 1e-12);
		}
	}
}

/* Blocks of two launches; the test sees their differences. */
static void test_brute_force_blocks(void)
{
	struct fb_family_row out[7];
	struct fb_family family;
	double y[7 * 20] = {0}, d[7 * 10] = {0}, p[7];
	struct example e;

	for (size_t blocks = 2; blocks <= 10; blocks += 4) {
		size_t n = 2 * blocks;

		example_interleave(&e, n);
		e.design.block = e.block;
		make_rows(y, 7, &e, blocks);
		for (size_t r = 0; r < 7; r++)
			for (size_t k = 0; k < blocks; k++) {
				const double *two = y + r * n + 2 * k;

				d[r * blocks + k] = (two[1] - two[0]) * (e.side[2 * k] ? -1 : 1);
			}
		CHECK_INT(fb_family_test(&e.design, y, 7, NULL, out, &family), FB_OK);
		brute_force(d, 7, blocks, (1u << blocks) - 1, t_of_signs, 1, p);
		for (size_t r = 0; r < 7; r++) {
			CHECK_NEAR(out[r].p, p[r], 1e-12);
			CHECK_NEAR(out[r].t, t_of_signs(d + r * blocks, blocks, (1u << blocks) - 1),
				   1e-9 * fabs(out[r].t));
		}
		CHECK(family.exhaustive);
		CHECK_INT(family.assignments, 1u << (blocks - 1));
	}
}

/* The least p that R launches a side can give, for a row and for Holm over rows; F3's table. */
static void test_least_p(void)
{
	static const struct {
		size_t launches, holm_rows;
		double p;
	} known[] = {{4, 1, 2 / 70.},	     {5, 6, 2 / 252.},	   {6, 23, 2 / 924.},
		     {7, 85, 2 / 3432.},     {8, 321, 2 / 12870.}, {9, 1215, 2 / 48620.},
		     {10, 4618, 2 / 184756.}};
	struct fb_family_row out;
	struct fb_family family;
	double y[20];
	struct example e;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = known[i].launches;

		CHECK_NEAR(fb_least_p(n, n), known[i].p, 1e-15);
		CHECK_INT((size_t)(0.05 / fb_least_p(n, n)), known[i].holm_rows);
		example_halves(&e, n, n);
		for (size_t u = 0; u < 2 * n; u++)
			y[u] = (double)u;
		CHECK_INT(fb_family_test(&e.design, y, 1, NULL, &out, &family), FB_OK);
		/* All assignments up to 8 launches a side, then 9999 draws and the real one. */
		CHECK_NEAR(family.least_p, n <= 8 ? known[i].p : 1e-4, 1e-15);
		CHECK_INT(family.exhaustive, n <= 8);
		CHECK(out.p >= family.least_p && out.p <= family.least_p + 2e-4);
	}
	CHECK_NEAR(fb_least_p(1, 1), 1, 0);
	CHECK_NEAR(fb_least_p(3, 5), 2 / 56., 1e-15);
}

/* What does not change what is known must not change what is said. */
static void test_invariance(void)
{
	enum { ROWS = 40, N = 20 };
	struct fb_family_row out[ROWS], other[ROWS];
	struct fb_family family, again;
	double y[ROWS * N], moved[ROWS * N];
	struct example e, swapped;

	example_interleave(&e, N);
	make_rows(y, ROWS, &e, 3);
	CHECK_INT(fb_family_test(&e.design, y, ROWS, NULL, out, &family), FB_OK);
	CHECK_INT(family.assignments, FB_FAMILY_DRAWS + 1);
	CHECK(!family.exhaustive);
	CHECK(out[0].p > 0.5);
	/* Ten standard deviations: no draw but the real assignment, which counts, reaches that. */
	CHECK_NEAR(out[ROWS - 1].p, family.least_p, 1e-15);
	CHECK_INT(fb_family_test(&e.design, y, ROWS, NULL, other, &again), FB_OK);
	for (size_t r = 0; r < ROWS; r++)
		CHECK(other[r].p == out[r].p && other[r].t == out[r].t);
	/* Another unit for each row, and rows backwards. */
	for (size_t r = 0; r < ROWS; r++)
		for (size_t u = 0; u < N; u++)
			moved[r * N + u] = 4 * y[(ROWS - 1 - r) * N + u] + (double)(r % 7) - 2;
	CHECK_INT(fb_family_test(&e.design, moved, ROWS, NULL, other, &again), FB_OK);
	for (size_t r = 0; r < ROWS; r++) {
		CHECK_NEAR(other[ROWS - 1 - r].p, out[r].p, 0);
		CHECK_NEAR(other[ROWS - 1 - r].t, out[r].t, 1e-9 * fabs(out[r].t));
	}
	CHECK_NEAR(again.critical_t, family.critical_t, 1e-9);
	/* The sides' names: other draws, so nearly the same p; t turns round. */
	example_interleave(&swapped, N);
	for (size_t u = 0; u < N; u++)
		swapped.side[u] = !swapped.side[u];
	CHECK_INT(fb_family_test(&swapped.design, y, ROWS, NULL, other, &again), FB_OK);
	for (size_t r = 0; r < ROWS; r++) {
		CHECK_NEAR(other[r].p, out[r].p, 0.02);
		CHECK_NEAR(other[r].t, -out[r].t, 1e-9 * fabs(out[r].t));
	}
	CHECK_NEAR(again.critical_t, family.critical_t, 0.15);
	/* A row of the family is not judged more mildly than alone. */
	for (size_t r = 0; r < ROWS; r++) {
		CHECK_INT(fb_family_test(&e.design, y + r * N, 1, NULL, other, &again), FB_OK);
		CHECK(other[0].p <= out[r].p);
	}
}

/* p <= 0.05 is |t| reaching critical_t. */
static void test_critical(void)
{
	enum { ROWS = 60, N = 20 };
	struct fb_family_options single = {.single_step = true};
	struct fb_family_row out[ROWS];
	struct fb_family family;
	double y[ROWS * N];
	struct example e;
	int significant = 0;

	example_interleave(&e, N);
	make_rows(y, ROWS, &e, 5);
	CHECK_INT(fb_family_test(&e.design, y, ROWS, &single, out, &family), FB_OK);
	for (size_t r = 0; r < ROWS; r++) {
		CHECK_INT(out[r].p <= 0.05, fabs(out[r].t) > family.critical_t);
		significant += out[r].p <= 0.05;
	}
	CHECK(significant > 5 && significant < 30);
	/* Only the largest of 35 assignments is below 0.05. */
	significant = 0;
	example_halves(&e, 4, 4);
	for (uint64_t set = 0; set < 200; set++) {
		make_rows(y, 2, &e, set);
		CHECK_INT(fb_family_test(&e.design, y, 2, &single, out, &family), FB_OK);
		CHECK_INT(out[1].p <= 0.05, fabs(out[1].t) > family.critical_t);
		significant += out[1].p <= 0.05;
	}
	CHECK(significant > 0 && significant < 60);
	/* Three launches a side: no row can reach 0.05. */
	example_halves(&e, 3, 3);
	CHECK_INT(fb_family_test(&e.design, y, ROWS, NULL, out, &family), FB_OK);
	CHECK(isinf(family.critical_t) && family.least_p > 0.05);
}

int main(void)
{
	test_brute_force();
	test_brute_force_blocks();
	test_least_p();
	test_invariance();
	test_critical();
	return check_done("compare_family");
}
