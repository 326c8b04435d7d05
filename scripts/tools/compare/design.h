/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The design of a comparison: launches of two sides, A (base) and B (new), and the values of rows.
 *
 * The unit is the launch, never the repetition: every row has at most one value for each launch,
 * y = ln(median time in us), and n in every formula is a number of launches. Repetitions within a
 * launch share its addresses, placement and clocks, so their spread does not show what another
 * launch would measure.
 *
 * Values are logarithms because a change multiplies a time: a difference of y is the logarithm of a
 * ratio, and less is better. A rate is compared by the logarithm of its inverse.
 *
 * Values are y[row * launches + launch]; NAN: that launch has no value for the row (it was
 * skipped, or the launch failed). Infinite values are refused by every function that takes y.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_DESIGN_H
#define FB_SCRIPTS_TOOLS_COMPARE_DESIGN_H

#include <stdbool.h>
#include <stddef.h>

enum fb_side { FB_SIDE_A = 0, FB_SIDE_B = 1 };

/* Which launch belongs to what. The arrays are borrowed. */
struct fb_design {
	size_t launches;
	const unsigned char *side; /* [launches], enum fb_side */
	/*
	 * [launches]: launches of equal number are one block (A B, or A B B A), run next to each
	 * other, and only differences inside of blocks count. NULL: launches are independent.
	 */
	const unsigned *block;
};

/* How many launches each side has, and how many blocks there are (0 without blocks). */
struct fb_design_size {
	size_t a, b, blocks;
};

/*
 * Checks a design. Returns FB_EINPUT, with *out unchanged, for a side without a launch, a label
 * that is neither side, or a block that lacks a side.
 */
int fb_design_check(const struct fb_design *design, struct fb_design_size *out);

/*
 * The input of the tests: without blocks the values of A and the values of B; with blocks a
 * difference (mean of B - mean of A) for each block that has values of both sides.
 */
struct fb_row_values {
	double *a;     /* [na]; with blocks NULL */
	double *b;     /* [nb]; with blocks the differences */
	size_t na, nb; /* na = 0 with blocks */
	bool complete; /* no launch lacks a value */
};

/*
 * Splits the values y[launches] of one row by side. *out points into `room`, which is for
 * 2 * design->launches doubles; design must be valid. Returns FB_EINPUT for an infinite value.
 */
int fb_row_values(const struct fb_design *design, const double *y, double *room,
		  struct fb_row_values *out);

#endif
