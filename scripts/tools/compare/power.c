/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the least change that a comparison could detect; see power.h. */
#include "common/measure/rank_test.h"
#include "scripts/tools/compare/power.h"

#include <math.h>

/* Efficiency of Mann-Whitney's test relative to Student's for normal noise: 3 / pi. */
static const double rank_efficiency = 0.955;

enum {
	LEAST_LAUNCHES = 4, /* the first with a finite interval */
	LEAST_BLOCKS = 6,
	EXACT_DEGREES = 1000, /* beyond that Student's t is taken for normal */
	BISECTIONS = 60
};

double fb_normal_upper(double p)
{
	if (!(p > 0 && p < 1))
		return (double)NAN;
	return p > 0.5 ? -fb_normal_point(2 - 2 * p) : fb_normal_point(2 * p);
}

/*
 * The finite series for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4). It is
 * 1 less a sum, so p below 1e-15 is 0.
 */
double fb_student_p(double t, size_t degrees)
{
	bool odd = degrees % 2 == 1;
	double angle = atan2(t, sqrt((double)degrees)), square = cos(angle) * cos(angle);
	double term = odd ? cos(angle) : 1, sum = 0;

	if (degrees == 0 || !(t >= 0))
		return (double)NAN;
	for (size_t k = odd ? 1 : 0; k + 2 <= degrees; k += 2) {
		sum += term;
		term *= square * (double)(k + 1) / (double)(k + 2);
	}
	sum *= sin(angle);
	if (odd)
		sum = (angle + sum) * M_2_PI;
	return fmax(0, 1 - sum);
}

static bool fractions_are_good(double alpha, double power)
{
	return alpha > 0 && alpha < 1 && power > 0 && power < 1;
}

/* In units of noise, times the square root of the harmonic number of launches. */
static double rank_distance(double alpha, double power)
{
	return (fb_normal_upper(alpha / 2) + fb_normal_upper(1 - power)) / sqrt(rank_efficiency);
}

double fb_least_change(double noise, size_t na, size_t nb, double alpha, double power)
{
	if (!fractions_are_good(alpha, power) || na == 0 || nb == 0 || !(noise >= 0) ||
	    isinf(noise))
		return (double)NAN;
	return rank_distance(alpha, power) * noise * sqrt(1 / (double)na + 1 / (double)nb);
}

size_t fb_launches_needed(double noise, double theta, double alpha, double power)
{
	if (!fractions_are_good(alpha, power) || !(theta > 0) || !(noise >= 0))
		return 0;
	double ratio = rank_distance(alpha, power) * noise / log1p(theta);
	double launches = ceil(2 * ratio * ratio);

	if (!(launches < FB_MOST_LAUNCHES))
		return FB_MOST_LAUNCHES;
	return launches < LEAST_LAUNCHES ? LEAST_LAUNCHES : (size_t)launches;
}

/*
 * P(T > t) of the noncentral t is about Phi of (d - t (1 - 1/4f)) / sqrt(1 + t^2/2f) for f degrees
 * of freedom and noncentrality d (Abramowitz and Stegun 26.7.10).
 */
double fb_family_least_change(const struct fb_family_power *family, double noise, double scale)
{
	double t = family->critical_t, f = family->degrees;

	if (!fractions_are_good(0.5, family->power) || !(t >= 0) || !(f >= 1) || !(noise >= 0) ||
	    isinf(noise) || !(scale > 0))
		return (double)NAN;
	if (isinf(t))
		return (double)INFINITY;
	double distance = t * (1 - 1 / (4 * f)) +
			  fb_normal_upper(1 - family->power) * sqrt(1 + t * t / (2 * f));

	return fmax(distance, 0) * scale * noise;
}

static double student_p(double t, double degrees)
{
	return degrees > EXACT_DEGREES ? erfc(t / sqrt(2)) : fb_student_p(t, (size_t)degrees);
}

double fb_student_upper(double p, double degrees)
{
	double low = 0, high = 1;

	while (student_p(high, degrees) > p && high < 1e9)
		high *= 2;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (student_p(middle, degrees) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The level of one row that gives the family's: that divided by the number of independent rows. */
static double row_level(const struct fb_family_power *family)
{
	double rows = family->rows > 1 ? (double)family->rows : 1;
	double alpha = family->alpha > 0 ? family->alpha : FB_ALPHA, p = (double)NAN;

	if (family->critical_t >= 0 && isfinite(family->critical_t) && family->degrees >= 1)
		p = student_p(family->critical_t, family->degrees);
	return p > 0 ? fmax(fmin(p, alpha), alpha / rows) : alpha / rows;
}

static bool is_enough(const struct fb_family_power *family, double noise, double change,
		      double level, size_t launches)
{
	double degrees = (double)(family->blocks ? launches - 1 : 2 * launches - 2);
	struct fb_family_power then = {
		.critical_t = fb_student_upper(level, degrees),
		.degrees = degrees,
		.power = family->power,
	};

	return fb_family_least_change(&then, noise, sqrt(2 / (double)launches)) <= change;
}

size_t fb_family_launches_needed(const struct fb_family_power *family, double noise, double theta)
{
	size_t low = family->blocks ? LEAST_BLOCKS : LEAST_LAUNCHES, high = low;

	if (!fractions_are_good(0.5, family->power) || !(noise >= 0) || !(theta > 0))
		return 0;
	double change = log1p(theta), level = row_level(family);

	while (high < FB_MOST_LAUNCHES && !is_enough(family, noise, change, level, high)) {
		low = high + 1;
		high *= 2;
	}
	if (high >= FB_MOST_LAUNCHES)
		return FB_MOST_LAUNCHES;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (is_enough(family, noise, change, level, middle))
			high = middle;
		else
			low = middle + 1;
	}
	return high;
}

double fb_least_p(size_t na, size_t nb)
{
	double p = 2;

	for (size_t i = 1; i <= na; i++)
		p *= (double)i / (double)(nb + i);
	return fmin(p, 1);
}
