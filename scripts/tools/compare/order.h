/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the machine drifted while launches were made. A drift looks like a change if B ran after
 * A, and like noise if the sides were interleaved.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_ORDER_H
#define FB_SCRIPTS_TOOLS_COMPARE_ORDER_H

#include "scripts/tools/compare/design.h"

/*
 * A row drifts if its |rho| is above FB_DRIFT_RHO; a comparison, if more than this share of rows.
 */
#define FB_DRIFT_RHO   0.7
#define FB_DRIFT_SHARE 0.2

struct fb_order {
	size_t rows;	 /* with at least 8 launches that differ: 3 a side, not all equal */
	size_t drifting; /* of these, with |rho| > 0.7 */
	bool drift;	 /* more than 20% of them: verdicts are to be demoted to UNSURE */
	/*
	 * How far the sides are apart in time: 0: evenly interleaved; 1: all launches of one side
	 * before those of the other, so that a drift cannot be distinguished from a change.
	 */
	double separation;
};

/*
 * Spearman's rho of y with time[launch] (any unit and origin). It is computed within each side,
 * because a change between the sides is no drift, and averaged by the numbers of launches.
 * rho[rows] may be NULL; rows without differences get NAN. 0 or FB_EINPUT (bad design, infinite
 * value, NaN time).
 */
int fb_order_check(const struct fb_design *design, const double *time, const double *y, size_t rows,
		   double *rho, struct fb_order *out);

/*
 * Spearman's rank correlation of two sets of n finite values, mid-ranks for equal ones; NAN for
 * n < 2 or a constant set. room: 4 * n doubles.
 */
double fb_spearman(const double *x, const double *y, size_t n, double *room);

#endif
