/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking rows apart into sides or blocks; see design.h. */
#include "scripts/tools/compare/design.h"

#include <math.h>

#include "common/base/error.h"

/* Whether a launch before this one belongs to the same block. */
static bool block_is_known(const struct fb_design *design, size_t launch)
{
	for (size_t i = 0; i < launch; i++)
		if (design->block[i] == design->block[launch])
			return true;
	return false;
}

static bool block_has(const struct fb_design *design, size_t launch, unsigned char side)
{
	for (size_t i = 0; i < design->launches; i++)
		if (design->block[i] == design->block[launch] && design->side[i] == side)
			return true;
	return false;
}

int fb_design_check(const struct fb_design *design, struct fb_design_size *out)
{
	struct fb_design_size size = {0};

	for (size_t i = 0; i < design->launches; i++) {
		if (design->side[i] != FB_SIDE_A && design->side[i] != FB_SIDE_B)
			return fb_error(FB_EINPUT, "launch %zu is of side %u: accepted are 0 and 1",
					i, design->side[i]);
		size.a += design->side[i] == FB_SIDE_A;
		size.b += design->side[i] == FB_SIDE_B;
	}
	if (size.a == 0 || size.b == 0)
		return fb_error(FB_EINPUT,
				"a comparison needs launches on both sides, not %zu and %zu",
				size.a, size.b);
	for (size_t i = 0; design->block && i < design->launches; i++) {
		if (block_is_known(design, i))
			continue;
		if (!block_has(design, i, FB_SIDE_A) || !block_has(design, i, FB_SIDE_B))
			return fb_error(FB_EINPUT, "block %u has launches of one side only",
					design->block[i]);
		size.blocks++;
	}
	*out = size;
	return FB_OK;
}

/* The mean of B less the mean of A in the block of a launch; NAN if a side has no value. */
static double block_difference(const struct fb_design *design, const double *y, size_t launch)
{
	double sum[2] = {0}, count[2] = {0};

	for (size_t i = launch; i < design->launches; i++) {
		if (design->block[i] != design->block[launch] || isnan(y[i]))
			continue;
		sum[design->side[i]] += y[i];
		count[design->side[i]]++;
	}
	if (count[FB_SIDE_A] == 0 || count[FB_SIDE_B] == 0)
		return (double)NAN;
	return sum[FB_SIDE_B] / count[FB_SIDE_B] - sum[FB_SIDE_A] / count[FB_SIDE_A];
}

int fb_row_values(const struct fb_design *design, const double *y, double *room,
		  struct fb_row_values *out)
{
	struct fb_row_values values = {.a = room, .b = room + design->launches, .complete = true};

	for (size_t i = 0; i < design->launches; i++) {
		if (isinf(y[i]))
			return fb_error(FB_EINPUT, "the value of launch %zu is %g", i, y[i]);
		if (isnan(y[i]))
			values.complete = false;
		else if (design->side[i] == FB_SIDE_A)
			values.a[values.na++] = y[i];
		else
			values.b[values.nb++] = y[i];
	}
	if (design->block) {
		values.a = NULL;
		values.na = values.nb = 0;
		for (size_t i = 0; i < design->launches; i++) {
			if (block_is_known(design, i))
				continue;
			double d = block_difference(design, y, i);

			if (!isnan(d))
				values.b[values.nb++] = d;
		}
	}
	*out = values;
	return FB_OK;
}
