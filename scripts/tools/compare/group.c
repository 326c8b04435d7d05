/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The geometric mean over a group of rows; see group.h.
 *
 * The one-sided test of "B is A moved by d" asks in how many assignments B - d lies as far above
 * A as it does. An assignment that moves launches of either side to the other does so exactly for
 * d at or above mean(moved from B) - mean(moved from A), so the test's limit is an order statistic
 * of these differences. It is reached when more than alpha / 2 of all assignments agree.
 */
#include "scripts/tools/compare/group.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/assign.h"
#include "scripts/tools/compare/family.h"
#include "scripts/tools/compare/power.h"

/* Adds up the complete rows; returns how many, or an error. */
static int mean_over_rows(const struct fb_design *design, const double *y, const size_t *index,
			  size_t count, double *mean, size_t *rows)
{
	size_t n = design->launches;

	*rows = 0;
	for (size_t i = 0; i < n; i++)
		mean[i] = 0;
	for (size_t i = 0; i < count; i++) {
		const double *row = y + index[i] * n;
		bool complete = true;

		for (size_t u = 0; u < n; u++) {
			if (isinf(row[u]))
				return fb_error(FB_EINPUT, "the value of row %zu, launch %zu is %g",
						index[i], u, row[u]);
			complete = complete && !isnan(row[u]);
		}
		for (size_t u = 0; complete && u < n; u++)
			mean[u] += row[u];
		*rows += complete;
	}
	for (size_t u = 0; u<n && * rows> 0; u++)
		mean[u] /= (double)*rows;
	return FB_OK;
}

/* The shift at which an assignment is as likely as the real one; NAN for the real one itself. */
static double typical_shift(const struct fb_design *design, const struct fb_row_values *values,
			    const double *mean, const unsigned char *nibble)
{
	double from_a = 0, from_b = 0, moved = 0;

	if (design->block) {
		for (size_t u = 0; u < values->nb; u++) {
			unsigned flipped = !fb_assignment_bit(nibble, u);

			from_b += flipped ? values->b[u] : 0;
			moved += flipped;
		}
		return moved > 0 ? from_b / moved : (double)NAN;
	}
	for (size_t u = 0; u < design->launches; u++) {
		unsigned label = fb_assignment_bit(nibble, u);

		if (label == design->side[u])
			continue;
		moved += design->side[u] == FB_SIDE_B;
		*(label ? &from_a : &from_b) += mean[u];
	}
	return moved > 0 ? (from_b - from_a) / moved : (double)NAN;
}

static int interval(const struct fb_design *design, const struct fb_design_size *size,
		    const struct fb_row_values *values, const double *mean, uint64_t seed,
		    struct fb_row_group *out)
{
	const struct fb_assign_options options = {
		.most = FB_FAMILY_EXHAUSTIVE,
		.draws = FB_FAMILY_DRAWS,
		.seed = seed,
	};
	struct fb_assignments a;
	size_t n = 0;
	int ret = fb_assignments_make(design, size, &options, &a);

	if (ret)
		return ret;
	double *shift = malloc(2 * a.count * sizeof(*shift));

	if (!shift) {
		fb_assignments_free(&a);
		return fb_error(FB_ENOMEM, "no memory for %zu assignments", a.count);
	}
	for (size_t i = 0; i < a.count; i++) {
		double s = typical_shift(design, values, mean, a.nibble + i * a.groups);

		if (!isnan(s))
			shift[n++] = s;
	}
	fb_sort(shift, n, shift + a.count);
	/* n + 1: with the real one, once however often it was drawn. */
	size_t k = (size_t)(FB_ALPHA / 2 * (double)(n + 1) * (1 + 1e-12));

	if (k > 0) {
		out->low = exp(shift[k - 1]);
		out->high = exp(shift[n - k]);
	}
	free(shift);
	fb_assignments_free(&a);
	return FB_OK;
}

/* The difference of the sides' means, or the mean of the blocks' differences. */
static double mean_shift(const struct fb_row_values *values)
{
	double a = 0, b = 0;

	for (size_t i = 0; i < values->na; i++)
		a += values->a[i] / (double)values->na;
	for (size_t i = 0; i < values->nb; i++)
		b += values->b[i] / (double)values->nb;
	return b - a;
}

int fb_group_ratio(const struct fb_design *design, const double *y, const size_t *index,
		   size_t count, uint64_t seed, struct fb_row_group *out)
{
	struct fb_row_group group = {.ratio = (double)NAN, .low = (double)NAN, .high = (double)NAN};
	struct fb_row_values values;
	struct fb_design_size size;
	int ret = fb_design_check(design, &size);

	if (ret)
		return ret;
	double *mean = malloc(3 * design->launches * sizeof(*mean));

	if (!mean)
		return fb_error(FB_ENOMEM, "no memory for %zu launches", design->launches);
	ret = mean_over_rows(design, y, index, count, mean, &group.rows);
	if (!ret && group.rows > 0) {
		ret = fb_row_values(design, mean, mean + design->launches, &values);
		if (!ret)
			ret = interval(design, &size, &values, mean, seed, &group);
		if (!ret)
			group.ratio = exp(mean_shift(&values));
	}
	free(mean);
	if (!ret)
		*out = group;
	return ret;
}
