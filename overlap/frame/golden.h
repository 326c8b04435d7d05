/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden-section search for the least time where times are known with an interval only.
 *
 * The time falls and then rises over x. Of two inner points whose intervals are separate, what lies
 * behind the slower one is given up. Where they overlap, the least lies between the two as far
 * as these intervals show, and both ends are given up. The search ends when the range is
 * `least` wide or has been narrowed so on both sides twice in a row.
 */
#ifndef FB_OVERLAP_FRAME_GOLDEN_H
#define FB_OVERLAP_FRAME_GOLDEN_H

#include <stdbool.h>

enum { FB_GOLDEN_MOST = 40 };

struct fb_golden_point {
	double x, median, low, high;
};

struct fb_golden {
	double from, to, least;
	struct fb_golden_point point[FB_GOLDEN_MOST];
	int npoints, close; /* close: overlaps in a row */
};

void fb_golden_open(struct fb_golden *golden, double from, double to, double least);
/* Where to measure next; false: the search is over. */
bool fb_golden_next(struct fb_golden *golden, double *x);
/* What was measured there; low or high NAN: no interval. */
void fb_golden_put(struct fb_golden *golden, struct fb_golden_point point);
/* The fastest point; NULL: there is none. */
const struct fb_golden_point *fb_golden_best(const struct fb_golden *golden);

#endif
