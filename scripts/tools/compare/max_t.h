/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inner loop of max-T: the statistic of many rows under many assignments.
 *
 * The pooled t of a row has t^2 = f * r^2 / (1 - r^2), where f are its degrees of freedom and r^2
 * is the share of the row's variation that lies between the sides; r is a sum over launches: with
 * values centred and divided by the root of their variation (which no assignment changes), r is
 * the sum over the launches called B, times a constant. So rows are ordered by r^2 as by |t|, and
 * a statistic costs one addition for every four launches, because sums of four are looked up in
 * a table of 16. With blocks r is the sum of differences with signs, divided likewise.
 *
 * Where the sides differ in number t is Welch's, since a pooled variance is mostly that of the
 * larger side: then r^2 is divided by a second sum, which weighs squares by the side they are on.
 * With sides of equal number both are the same.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_MAX_T_H
#define FB_SCRIPTS_TOOLS_COMPARE_MAX_T_H

#include "scripts/tools/compare/assign.h"

#include <stdint.h>

/* Rows made ready: r of an assignment is the sum over units of value, or, with signs, +-value. */
struct fb_ready_rows {
	size_t rows, groups;
	bool signs;	/* a unit that is 0 counts as -value, not as nothing */
	double degrees; /* of freedom of t; Welch's for sides of equal variance */
	double *value;	/* [rows * groups * FB_NIBBLE], owned; padded by 0 */
	double *floor;	/* [rows], owned: least 1 - r^2 to reckon with, see FB_FAMILY_LEAST_SD */
	/* What r^2 is divided by: the sum of weight * value^2, and `pad` of the row. */
	bool welch;	  /* false: by 1 */
	double weight[2]; /* of a unit that is 0, or 1 */
	double *pad;	  /* [rows], owned: for the variation that the row is short of the least */
};

/*
 * Makes the rows index[0 .. rows) of y[..][design->launches] ready; none may lack a value. Returns
 * FB_EINPUT for an infinite value, or FB_ENOMEM, with *out unchanged.
 */
int fb_ready_rows_make(const struct fb_design *design, const struct fb_design_size *size,
		       const double *y, const size_t *index, size_t rows,
		       struct fb_ready_rows *out);
void fb_ready_rows_free(struct fb_ready_rows *rows);

/* r of one row under one assignment; positive where B is greater. */
double fb_ready_r(const struct fb_ready_rows *rows, size_t row, const unsigned char *nibble);

/* The t that belongs to an r. least: the least 1 - r^2 to reckon with. */
double fb_t_of_r(double r, double degrees, double least);

/* Sums of the same numbers in another order differ by less than this (r^2 is at most 1). */
#define FB_R_ROUNDING 1e-10

struct fb_scan {
	const struct fb_ready_rows *rows;
	const struct fb_assignments *assignments;
	const size_t *order;	 /* [rows->rows]: the order to take rows in; NULL: as they are */
	const double *threshold; /* [rows->rows], in that order, ascending; NULL: none is counted */
	/*
	 * [rows->rows], in that order: in how many assignments the largest r^2 among a row and
	 * those before it reaches the row's threshold. NULL with threshold.
	 */
	uint32_t *reached;
	double *maximum; /* [assignments->count]: the largest r^2 of all rows; 0 for no row */
};

/* Goes through all assignments for all rows. Returns FB_ENOMEM. */
int fb_scan(const struct fb_scan *scan);

#endif
