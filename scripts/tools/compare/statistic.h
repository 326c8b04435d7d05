/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistic of one row, by which max-T orders rows and assignments.
 *
 * It is the larger of two statistics, both on the normal scale so that they can be compared.
 * Student's t (Welch's where the sides differ in number) finds most when launches are normal.
 * Yuen's t of trimmed means leaves a fifth of the launches at either end of each side out of the
 * means and replaces them by their neighbours for the variance. If one launch of eight, or two of
 * ten, are three times slower, Student's t misses changes of 2x, which Yuen's t finds.
 *
 * A permutation test is exact for any function of values and labels, and so for this one. With
 * blocks both statistics have their one-sample form, of differences with signs.
 *
 * Values are the distances of y to a middle launch, in whole units of 2^-22, so that sums of the
 * same values are equal in whatever order they are added.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_STATISTIC_H
#define FB_SCRIPTS_TOOLS_COMPARE_STATISTIC_H

#include "scripts/tools/compare/design.h"

/* Constants of the design. Without trimming, trim and trimmed.degrees are 0. */
struct fb_statistic_scale {
	double weight[2]; /* variance of the difference by sum of squares of a side */
	double floor;	  /* least variance to reckon with, see FB_FAMILY_LEAST_SD */
	double degrees;	  /* of freedom; for sides of equal variance */
	double normal;	  /* z^2 is this times log(1 + t^2 / degrees) */
};

struct fb_statistic {
	bool signs;
	size_t n[2];	/* launches of A and B; with signs 0 and the blocks */
	size_t trim[2]; /* so many at either end */
	struct fb_statistic_scale plain, trimmed;
};

struct fb_statistic fb_statistic_of(const struct fb_design *design,
				    const struct fb_design_size *size);

/* Values in units, limited to a factor of 3000 from the centre; value[0 .. n) may be y itself. */
void fb_statistic_units(const double *y, size_t n, double centre, double *value);

/* One side: sums of all, of the trimmed at both ends, and the values next to these. */
struct fb_side_sums {
	double sum, squares;
	double cut_sum, cut_squares;
	double next_low, next_high;
};

/* How far B lies above A, and the variance of that. */
struct fb_statistic_parts {
	double plain, plain_variance, trimmed, trimmed_variance;
};

/* side[0] is not looked at with signs. */
static inline struct fb_statistic_parts fb_statistic_parts(const struct fb_statistic *s,
							   const struct fb_side_sums side[2])
{
	struct fb_statistic_parts parts = {0, 0, 0, 0};

	for (int k = s->signs ? 1 : 0; k < 2; k++) {
		const struct fb_side_sums *x = &side[k];
		double n = (double)s->n[k], g = (double)s->trim[k], sign = k ? 1 : -1;
		double kept = x->sum - x->cut_sum, wins = kept + g * (x->next_low + x->next_high);
		double squares = x->squares - x->cut_squares +
				 g * (x->next_low * x->next_low + x->next_high * x->next_high);

		parts.plain += sign * x->sum / n;
		parts.plain_variance += s->plain.weight[k] * (x->squares - x->sum * x->sum / n);
		parts.trimmed += sign * kept / (n - 2 * g);
		parts.trimmed_variance += s->trimmed.weight[k] * (squares - wins * wins / n);
	}
	if (!(parts.plain_variance > s->plain.floor))
		parts.plain_variance = s->plain.floor;
	if (!(parts.trimmed_variance > s->trimmed.floor))
		parts.trimmed_variance = s->trimmed.floor;
	return parts;
}

/* z^2 of both together. */
double fb_statistic_z2(const struct fb_statistic *s, const struct fb_statistic_parts *parts);

/* The sums of a side, values ascending; with signs of the signed differences. */
struct fb_side_sums fb_side_sums(const double *sorted, size_t n, size_t trim);

/* The plain t of the same significance as a z^2, and the inverse. */
double fb_statistic_t(const struct fb_statistic *s, double z2);
double fb_statistic_z2_of_t(const struct fb_statistic *s, double t);

/*
 * The least change, as a difference of y, that would have reached z2 in a share `power` of
 * comparisons like this one: launches of both sides are resampled from the measured ones (each
 * side's values less its median), so outliers stay as frequent. a[0 .. na) and b[0 .. nb),
 * with blocks na = 0 and the differences in b. INFINITY for an infinite z2. room is for
 * 3 * (na + nb) doubles.
 */
double fb_statistic_least_change(const struct fb_statistic *s, const struct fb_row_values *values,
				 double z2, double power, double *room);

#endif
