/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inner loop of max-T: the statistic (statistic.h) of many rows under many assignments.
 *
 * Sums over the launches that an assignment calls B are looked up in tables of 16 entries, for four
 * launches at a time. The tables also give a set of bits, one for each launch in ascending order of
 * its value, whose first and last bits are the launches to trim. Whether a statistic exceeds the
 * largest one so far is decided without division or logarithm; only the few that do need these.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_MAX_T_H
#define FB_SCRIPTS_TOOLS_COMPARE_MAX_T_H

#include "scripts/tools/compare/assign.h"
#include "scripts/tools/compare/statistic.h"

#include <stdint.h>

/* Rows in the form in which they are scanned. */
struct fb_ready_rows {
	struct fb_statistic statistic;
	size_t rows, units; /* units: launches, or blocks */
	double *value;	    /* [rows * units]: see statistic.h */
};

/*
 * Makes this form of the rows index[0 .. rows) of y[..][design->launches], none of which may lack a
 * value. Returns FB_EINPUT for an infinite value, with *out unchanged.
 */
int fb_ready_rows_make(const struct fb_design *design, const struct fb_design_size *size,
		       const double *y, const size_t *index, size_t rows,
		       struct fb_ready_rows *out);

/*
 * z of one row under one assignment, positive where B is greater (by the trimmed means, if there
 * are any). room is for 3 * units doubles.
 */
double fb_ready_z(const struct fb_ready_rows *rows, size_t row, const unsigned char *nibble,
		  double *room);

/* Sums of the same numbers in another order may differ by this part of z^2. */
#define FB_Z2_ROUNDING 1e-9

/* How many of sorted[0 .. n), ascending, are at least x. */
size_t fb_count_reaching(const double *sorted, size_t n, double x);

struct fb_scan {
	const struct fb_ready_rows *rows;
	const struct fb_assignments *assignments;
	const size_t *order;	 /* [rows->rows]: the order to take rows in; NULL: as they are */
	const double *threshold; /* [rows->rows], in that order, ascending; NULL: none is counted */
	/*
	 * [rows->rows], in that order: in how many assignments the largest z^2 among a row and
	 * those before it reaches the row's threshold. NULL with threshold.
	 */
	uint32_t *reached;
	double *maximum; /* [assignments->count]: the largest z^2 of all rows; 0 for no row */
};

/* Goes through all assignments for all rows. */
void fb_scan(const struct fb_scan *scan);

#endif
