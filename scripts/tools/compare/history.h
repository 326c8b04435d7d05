/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Change points of one row over many nights.
 *
 * The method is E-divisive (Matteson and James, 2014) on ranks. In a stretch of nights it finds the
 * split that maximises the energy distance between the nights before and those after it (up to an
 * end that is searched for too). The split is accepted if at most a share max_p of random orders of
 * the same nights have one as good; then both parts are searched. Finally points are moved to the
 * best split between their neighbours, and those whose two sides differ by less than theta are
 * removed, the weakest first. By ranks, single outliers do no harm and the noise may have any
 * distribution. But at max_p 0.001 ranks find a change only about ten nights after it. So a split
 * is also accepted if the means differ by four standard errors, which takes five nights.
 *
 * Random orders assume independent nights. So a point is only kept if the medians on both sides
 * differ by more than correlated nights would explain: the noise is that around all points (by
 * MAD), the nights on either side count as the number of independent nights that their lag-1
 * correlation leaves, and the level is alpha over all rows and all nights.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_HISTORY_H
#define FB_SCRIPTS_TOOLS_COMPARE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct fb_history_options {
	double max_p;	   /* 0: 0.001 */
	double alpha;	   /* of a false change in any row; 0: 0.05; 1e9: not asked */
	size_t rows;	   /* that are looked at, each by a call of its own; 0: 1 */
	double theta;	   /* least change of the median, as a ratio - 1; 0: every size counts */
	size_t least_part; /* fewest nights between two points; 0: 5. At least 2 */
	size_t draws;	   /* random orders; 0: enough for max_p, at least 999 */
	uint64_t seed;
};

struct fb_change {
	size_t first; /* index of the first night after the change */
	double ratio; /* median after / median before, up to the neighbouring points */
	double before_us, after_us; /* these medians */
	double p;		    /* adjusted for all nights of all rows */
};

/*
 * The change points of y[0 .. n) = ln(us), one a night in order of time, none missing. Points go to
 * out[0 .. *count) in order of time; room is needed for n / least_part. Returns FB_EINPUT (a value
 * that is not finite, max_p outside (0, 1), theta < 0, least_part 1); then nothing is set. Cost: 16
 * n log n for each draw where there is a change (200 nights: 25 ms a point), little where there is
 * none.
 */
int fb_history(const double *y, size_t n, const struct fb_history_options *options,
	       struct fb_change *out, size_t *count);

#endif
