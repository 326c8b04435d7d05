/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict on a row. A row is only called the same when that has been shown. A row that is
 * neither shown to be the same nor shown to have changed is UNSURE.
 *
 *   REGRESSED  family p <= 0.05, ratio >= 1 + theta, and the whole interval above 1
 *   IMPROVED   the mirror image: ratio <= 1 / (1 + theta), the whole interval below 1
 *   SAME       the whole interval inside [1 / (1 + theta), 1 + theta]
 *   UNSURE     anything else
 *
 * theta is the least change that matters in practice.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_VERDICT_H
#define FB_SCRIPTS_TOOLS_COMPARE_VERDICT_H

#include "scripts/tools/compare/effect.h"

enum fb_verdict { FB_SAME, FB_IMPROVED, FB_REGRESSED, FB_UNSURE, FB_VERDICTS };

/* "SAME", "IMPROVED", "REGRESSED", "UNSURE". Static storage. */
const char *fb_verdict_name(enum fb_verdict verdict);

/* 5%, and three standard deviations of the row's own noise. */
#define FB_LEAST_THETA	0.05
#define FB_THETA_NOISES 3.0

/* The parts of a row's theta; a field that is 0 or NAN does not count. */
struct fb_threshold {
	double least;	 /* FB_LEAST_THETA, or what the user says for all rows or for this one */
	double noise;	 /* A/A standard deviation of y of this row (self_test.h) */
	double floor_us; /* no change below this counts; see limits.c */
	double time_us;	 /* what floor_us is compared with: the lesser of both sides' times */
};

/*
 * theta = max(least, 3 * noise, floor_us / time_us). A row whose noise is unknown has the first
 * and the last. Taking the lesser time makes |time of B - time of A| reach the floor in either
 * direction.
 */
double fb_theta(const struct fb_threshold *threshold);

/* The verdict. p is the adjusted one of fb_family_row. NAN anywhere makes UNSURE. */
enum fb_verdict fb_verdict(const struct fb_effect *effect, double p, double theta);

#endif
