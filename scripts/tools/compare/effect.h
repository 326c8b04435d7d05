/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One row by itself: how much slower B is, how certain that is, and how much the row varies between
 * launches.
 *
 * A side's time is its median over launches, and the ratio is the quotient of the two medians
 * (lib/estimate.h), so the numbers of a line agree with each other and with every other table. The
 * ratio's interval inverts the exact distribution of Mann-Whitney's U. It holds for any
 * distribution of launches, as long as B's differs from A's by a shift only. With blocks the
 * interval inverts the distribution of Wilcoxon's signed rank sum of the blocks' differences. If
 * launches have several speeds, the quotient may lie outside of the interval, which is then widened
 * to contain it.
 *
 * The p here is of this row alone. It is shown, but no verdict uses it, because among many rows
 * some have p < 0.05 by chance. Verdicts use the p of fb_family_test().
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_EFFECT_H
#define FB_SCRIPTS_TOOLS_COMPARE_EFFECT_H

#include "scripts/tools/compare/design.h"

struct fb_effect {
	size_t na, nb;	   /* launches of A and B that have a value */
	size_t blocks;	   /* blocks that have values of both sides; 0 without blocks */
	double a_us, b_us; /* medians over a side's launches; NAN: no launch */
	double ratio;	   /* b_us / a_us; NAN: a side (or every block) is missing */
	double low, high;  /* 95% confidence interval of the ratio; both NAN: none is finite,
			      * which is so below 4 launches a side or 6 blocks */
	double p;	   /* two-sided, of this row alone; NAN like ratio */
	bool p_exact;	   /* by counting; false: normal approximation (ties or > 200 launches) */
	/*
	 * Standard deviation of y between launches, pooled over the sides (with blocks: of a
	 * difference, divided by the square root of 2): 0.03 is about 3% of the time. NAN: too few
	 * launches to tell.
	 */
	double noise;
	double noise_a, noise_b; /* of each side; NAN below 2 launches */
	/*
	 * Whether the sides have the same spread: two-sided p of Brown and Forsythe's test
	 * (Student's t on distances to the side's own median), of this row alone. A small p is a
	 * finding by itself, and a reason to doubt a change of time that is small compared to the
	 * noise. NAN with blocks, and below 4 launches a side.
	 */
	double noise_p;
};

/*
 * The standard deviation of y[0 .. launches) without the values that are NAN; NAN below two values.
 */
double fb_launch_noise(const double *y, size_t launches);

/*
 * The effect of one row; y[design->launches]. Returns 0 or FB_EINPUT (a bad design, an infinite
 * value) with *out unchanged.
 */
int fb_effect(const struct fb_design *design, const double *y, struct fb_effect *out);

#endif
