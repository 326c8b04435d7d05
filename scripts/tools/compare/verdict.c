/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on a row; see verdict.h. */
#include "scripts/tools/compare/verdict.h"

#include <math.h>

#include "scripts/tools/compare/power.h"

const char *fb_verdict_name(enum fb_verdict verdict)
{
	static const char *const names[FB_VERDICTS] = {
		[FB_SAME] = "SAME",
		[FB_IMPROVED] = "IMPROVED",
		[FB_REGRESSED] = "REGRESSED",
		[FB_UNSURE] = "UNSURE",
	};

	return names[verdict];
}

double fb_theta(const struct fb_threshold *threshold)
{
	double theta = 0;

	/* fmax() ignores NAN. */
	theta = fmax(theta, threshold->least);
	theta = fmax(theta, FB_THETA_NOISES * threshold->noise);
	if (threshold->time_us > 0)
		theta = fmax(theta, threshold->floor_us / threshold->time_us);
	return theta;
}

enum fb_verdict fb_verdict(const struct fb_effect *effect, double p, double theta)
{
	double limit = 1 + theta;

	/* Comparisons with NAN are false, so that a row with any unknown value is UNSURE. */
	if (p <= FB_ALPHA && effect->ratio >= limit && effect->low > 1)
		return FB_REGRESSED;
	if (p <= FB_ALPHA && effect->ratio <= 1 / limit && effect->high < 1)
		return FB_IMPROVED;
	if (effect->low >= 1 / limit && effect->high <= limit)
		return FB_SAME;
	return FB_UNSURE;
}
