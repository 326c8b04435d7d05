/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometric mean over a group of rows; see group.h. */
#include "scripts/tools/compare/group.h"

#include <math.h>

#include "common/base/error.h"
#include "scripts/tools/compare/effect.h"
#include "scripts/tools/lib/memory.h"

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
	for (size_t u = 0; u < n; u++)
		mean[u] /= fmax((double)*rows, 1);
	return FB_OK;
}

int fb_group_ratio(const struct fb_design *design, const double *y, const size_t *index,
		   size_t count, struct fb_row_group *out)
{
	struct fb_row_group group = {.ratio = (double)NAN, .low = (double)NAN, .high = (double)NAN};
	double *mean = fb_new(design->launches + 1, sizeof(*mean));
	struct fb_effect effect;
	int ret;

	ret = mean_over_rows(design, y, index, count, mean, &group.rows);
	if (!ret && group.rows > 0) {
		ret = fb_effect(design, mean, &effect);
		if (!ret) {
			group.ratio = effect.ratio;
			group.low = effect.low;
			group.high = effect.high;
		}
	}
	if (!ret)
		*out = group;
	return ret;
}
