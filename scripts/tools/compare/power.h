/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The power of a comparison: the least change it detects, and the launches that a change of given
 * size needs. It is printed with every UNSURE, so that nobody takes UNSURE for "unchanged".
 *
 * noise is the standard deviation of y between launches (fb_effect.noise). Changes are on the
 * logarithmic scale: exp(change) is the ratio.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_POWER_H
#define FB_SCRIPTS_TOOLS_COMPARE_POWER_H

#include <stdbool.h>
#include <stddef.h>

/* The usual: 5% false alarms, 80% of real changes found. */
#define FB_ALPHA 0.05
#define FB_POWER 0.8

/*
 * For one row judged alone by Mann-Whitney's test, whose efficiency is 3 / pi of Student's t for
 * normal noise: (z[1 - alpha/2] + z[power]) * noise * sqrt((1/na + 1/nb) / 0.955). NAN for bad
 * arguments (a count of 0, noise negative or not finite, alpha or power outside (0, 1)).
 */
double fb_least_change(double noise, size_t na, size_t nb, double alpha, double power);

/*
 * Launches a side that a change of ratio 1 + theta needs by the same formula; at least 4, since
 * fewer give no finite interval, at most FB_MOST_LAUNCHES. 0 for bad arguments (theta <= 0 too).
 */
size_t fb_launches_needed(double noise, double theta, double alpha, double power);

/* How hard it is to stand out in a family of rows; from struct fb_family. */
struct fb_family_power {
	double critical_t, degrees;
	size_t rows; /* of the family */
	bool blocks; /* launches form blocks: `degrees` is their number - 1 */
	double power;
	double alpha; /* of the family, that critical_t is for; 0: FB_ALPHA */
};

/*
 * The change of a row that is found with that power when |t| has to reach critical_t; `scale` is
 * the standard error of the difference in units of noise: sqrt(1/na + 1/nb), with blocks
 * sqrt(2/blocks). By a normal approximation of the noncentral t. INFINITY where critical_t is;
 * NAN for bad arguments.
 */
double fb_family_least_change(const struct fb_family_power *family, double noise, double scale);

/*
 * Launches a side (with blocks: blocks) with which a row of ratio 1 + theta is found in that
 * family. Correlated rows count as the number of independent rows that would have the same
 * critical_t now; if that is infinite or NAN, as `rows`. At least 4 (with blocks 6), since fewer
 * give no finite interval; at most FB_MOST_LAUNCHES. 0 for bad arguments.
 */
enum { FB_MOST_LAUNCHES = 100000 };

size_t fb_family_launches_needed(const struct fb_family_power *family, double noise, double theta);

/* The least two-sided p of Mann-Whitney's test: 2 / C(na + nb, na), at most 1. */
double fb_least_p(size_t na, size_t nb);

/* P(|T| > t) of Student's t with a whole number of degrees of freedom >= 1; t >= 0. */
double fb_student_p(double t, size_t degrees);

/* The t that |T| exceeds with probability p; 0 < p < 1, degrees are rounded down. */
double fb_student_upper(double p, double degrees);

/* The z with P(Z > z) = p for 0 < p < 1; NAN otherwise. */
double fb_normal_upper(double p);

#endif
