/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistic of a row; see statistic.h. */
#include "scripts/tools/compare/statistic.h"

#include <math.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/family.h"

/* A fifth of the launches is trimmed at either end, from five launches a side on. */
enum { TRIM_PART = 5, RESAMPLES = 100 };

/* From so many launches a side on, its own variance is a better estimate than the pooled one. */
enum { WELCH_LAUNCHES = 4 };

static const double units = 1 << 22, most_units = 1 << 25;

/* Wallace's approximation (1959): the normal deviate of Student's t with f degrees of freedom. */
static double normal_scale(double f)
{
	return pow((8 * f + 1) / (8 * f + 3), 2) * f;
}

static void finish(struct fb_statistic_scale *scale)
{
	scale->degrees = fmax(scale->degrees, 1);
	scale->normal = normal_scale(scale->degrees);
}

/* Degrees of freedom of a sum of variances, a side's having f[k], where all launches vary alike. */
static double welch(const double variance[2], const double f[2])
{
	double sum = variance[0] + variance[1];

	return sum * sum / (variance[0] * variance[0] / f[0] + variance[1] * variance[1] / f[1]);
}

static void trim(struct fb_statistic *s, double least)
{
	struct fb_statistic_scale *scale = &s->trimmed;
	double variance[2] = {0, 0}, f[2] = {1, 1};

	for (int k = s->signs ? 1 : 0; k < 2; k++)
		if (s->n[k] < TRIM_PART)
			return;
	for (int k = s->signs ? 1 : 0; k < 2; k++) {
		s->trim[k] = s->n[k] / TRIM_PART;
		double n = (double)s->n[k], kept = n - 2 * (double)s->trim[k];

		scale->weight[k] = 1 / (kept * (kept - 1));
		scale->floor += least * (n - 1) * scale->weight[k];
		variance[k] = (n - 1) * scale->weight[k];
		f[k] = kept - 1;
	}
	scale->degrees = welch(variance, f);
	finish(scale);
}

struct fb_statistic fb_statistic_of(const struct fb_design *design,
				    const struct fb_design_size *size)
{
	struct fb_statistic s = {.signs = design->block != NULL};
	double least = pow(FB_FAMILY_LEAST_SD * units, 2);

	s.n[0] = s.signs ? 0 : size->a;
	s.n[1] = s.signs ? size->blocks : size->b;
	double a = (double)s.n[0], b = (double)s.n[1];

	if (s.signs) {
		s.plain.weight[1] = 1 / (b * fmax(b - 1, 1));
		s.plain.floor = least / b;
		s.plain.degrees = b - 1;
	} else if (size->a == size->b || size->a < WELCH_LAUNCHES || size->b < WELCH_LAUNCHES) {
		double inverse = 1 / a + 1 / b;

		s.plain.weight[0] = s.plain.weight[1] = inverse / fmax(a + b - 2, 1);
		s.plain.floor = least * inverse;
		s.plain.degrees = a + b - 2;
	} else {
		const double f[] = {a - 1, b - 1}, variance[] = {1 / a, 1 / b};

		s.plain.weight[0] = 1 / (a * (a - 1));
		s.plain.weight[1] = 1 / (b * (b - 1));
		s.plain.floor = least * (1 / a + 1 / b);
		s.plain.degrees = welch(variance, f);
	}
	finish(&s.plain);
	trim(&s, least);
	return s;
}

void fb_statistic_units(const double *y, size_t n, double centre, double *value)
{
	for (size_t i = 0; i < n; i++)
		value[i] = fmin(fmax(rint((y[i] - centre) * units), -most_units), most_units);
}

static double z2_of(const struct fb_statistic_scale *scale, double difference, double variance)
{
	return scale->normal * log1p(difference * difference / (variance * scale->degrees));
}

double fb_statistic_z2(const struct fb_statistic *s, const struct fb_statistic_parts *parts)
{
	double z2 = z2_of(&s->plain, parts->plain, parts->plain_variance);

	if (s->trimmed.degrees > 0)
		z2 = fmax(z2, z2_of(&s->trimmed, parts->trimmed, parts->trimmed_variance));
	return z2;
}

double fb_statistic_t(const struct fb_statistic *s, double z2)
{
	return sqrt(s->plain.degrees * expm1(z2 / s->plain.normal));
}

double fb_statistic_z2_of_t(const struct fb_statistic *s, double t)
{
	return s->plain.normal * log1p(t * t / s->plain.degrees);
}

struct fb_side_sums fb_side_sums(const double *sorted, size_t n, size_t trim)
{
	struct fb_side_sums x = {0};

	for (size_t i = 0; i < n; i++) {
		bool cut = i < trim || i + trim >= n;

		x.sum += sorted[i];
		x.squares += sorted[i] * sorted[i];
		x.cut_sum += cut ? sorted[i] : 0;
		x.cut_squares += cut ? sorted[i] * sorted[i] : 0;
	}
	if (n > trim) {
		x.next_low = sorted[trim];
		x.next_high = sorted[n - 1 - trim];
	}
	return x;
}

/* How much B must lie above A for one of both to reach z2. */
static double needed(const struct fb_statistic *s, const struct fb_statistic_parts *p, double z2)
{
	const struct fb_statistic_scale *plain = &s->plain, *trimmed = &s->trimmed;
	double least =
		sqrt(plain->degrees * expm1(z2 / plain->normal) * p->plain_variance) - p->plain;

	if (trimmed->degrees > 0)
		least = fmin(least, sqrt(trimmed->degrees * expm1(z2 / trimmed->normal) *
					 p->trimmed_variance) -
					    p->trimmed);
	return least;
}

double fb_statistic_least_change(const struct fb_statistic *s, const struct fb_row_values *values,
				 double z2, double power, double *room)
{
	const double *const side[] = {values->a, values->b};
	const size_t n[] = {values->na, values->nb};
	double *residual[2] = {room, room + n[0]}, *drawn = room + n[0] + n[1];
	double change[2 * RESAMPLES], spread[2] = {1, 1};
	struct fb_rng rng;

	if (isinf(z2))
		return (double)INFINITY;
	/* One seed for all rows: the same rows get the same answer. */
	fb_rng_seed(&rng, FB_FAMILY_SEED);
	for (int k = 0; k < 2; k++) {
		if (n[k] == 0)
			continue;
		memcpy(drawn, side[k], n[k] * sizeof(*drawn));
		fb_sort(drawn, n[k], residual[k]);
		fb_statistic_units(side[k], n[k], fb_sorted_median(drawn, n[k]), residual[k]);
		/* Distances to the median of the same values are too small by this factor. */
		if (n[k] > 1)
			spread[k] = sqrt((double)n[k] / ((double)n[k] - 1));
	}
	for (size_t i = 0; i < RESAMPLES; i++) {
		struct fb_side_sums sums[2] = {{.sum = 0}, {.sum = 0}};

		for (int k = 0; k < 2; k++) {
			for (size_t u = 0; u < n[k]; u++)
				drawn[u] = spread[k] * residual[k][fb_rng_below(&rng, n[k])];
			fb_sort(drawn, n[k], drawn + n[k]);
			sums[k] = fb_side_sums(drawn, n[k], s->trim[k]);
		}
		struct fb_statistic_parts parts = fb_statistic_parts(s, sums);

		change[i] = needed(s, &parts, z2);
	}
	fb_sort(change, RESAMPLES, change + RESAMPLES);
	return fmax(0, fb_sorted_quantile(change, RESAMPLES, power)) / units;
}
