/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The geometric mean of the ratios of a group of rows, for people; it judges nothing.
 *
 * The mean of y over the group's rows is one number for each launch. So the group is treated as one
 * row (effect.h), and its interval holds however much its rows depend on each other.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_GROUP_H
#define FB_SCRIPTS_TOOLS_COMPARE_GROUP_H

#include "scripts/tools/compare/design.h"

struct fb_row_group {
	size_t rows;	  /* that took part: those with a value in every launch */
	double ratio;	  /* geometric mean over rows; NAN: no row */
	double low, high; /* as in struct fb_effect */
};

/*
 * The rows index[0 .. count) of y[..][design->launches]. Returns 0 or FB_EINPUT (bad design,
 * infinite value) with *out unchanged.
 */
int fb_group_ratio(const struct fb_design *design, const double *y, const size_t *index,
		   size_t count, struct fb_row_group *out);

#endif
