/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The geometric mean of the ratios of a group of rows, for people; it judges nothing.
 *
 * A launch's mean of y over the group's rows is one number, so the rows may move together as they
 * like: the group is one row made of all. Its interval comes from launches drawn anew, and is
 * exact in the same sense as max-T: which launches change sides is drawn, each draw gives the
 * shift at which it would be as likely as what was seen (the difference of the means of those that
 * change sides), and the interval ends at order statistics of these (Tritchler 1984, Garthwaite
 * 1996). With blocks they are means of random subsets of the differences (Hartigan 1969).
 * The percentile bootstrap is too narrow for 10 launches: it holds 92% instead of 95%.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_GROUP_H
#define FB_SCRIPTS_TOOLS_COMPARE_GROUP_H

#include "scripts/tools/compare/design.h"

#include <stdint.h>

struct fb_row_group {
	size_t rows;	  /* that took part: those with a value in every launch */
	double ratio;	  /* geometric mean over rows; NAN: no row */
	double low, high; /* 95% interval; both NAN: none is finite (below 4 launches a side) */
};

/*
 * The rows index[0 .. count) of y[..][design->launches]; seed as in family.h. Returns FB_EINPUT
 * (bad design, infinite value) or FB_ENOMEM with *out unchanged.
 */
int fb_group_ratio(const struct fb_design *design, const double *y, const size_t *index,
		   size_t count, uint64_t seed, struct fb_row_group *out);

#endif
