/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden-section search for the x with the least time, if each time is known only as an interval.
 *
 * The time is assumed to fall and then to rise over x. Two inner points of the range are compared.
 * If their intervals are separate, the range beyond the slower point is dropped. If they overlap,
 * the measurements show no more than that the least time lies between the two points, so both ends
 * of the range are dropped. The search ends when the range is only `least` wide, or when both ends
 * have been dropped twice in a row.
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
/* Enters what was measured at fb_golden_next()'s x; low or high NAN: there is no interval. */
void fb_golden_put(struct fb_golden *golden, struct fb_golden_point point);
/* The fastest point; NULL: there is none. */
const struct fb_golden_point *fb_golden_best(const struct fb_golden *golden);

#endif
