/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares one row; see effect.h. */
#include "scripts/tools/compare/effect.h"

#include <math.h>

#include "common/base/error.h"
#include "common/measure/rank_test.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/compare/signed_rank.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"

enum { LEAST_FOR_NOISE = 4 };

struct moments {
	double count, mean, squares; /* squares: sum of squared distances to the mean */
};

static struct moments moments(const double *x, size_t n)
{
	struct moments m = {.count = (double)n};

	/* Distances to the first value are exactly 0 where all values are equal. */
	for (size_t i = 0; i < n; i++)
		m.mean += (x[i] - x[0]) / m.count;
	for (size_t i = 0; i < n; i++)
		m.squares += (x[i] - x[0] - m.mean) * (x[i] - x[0] - m.mean);
	m.mean = n > 0 ? x[0] + m.mean : (double)NAN;
	return m;
}

static double deviation(double squares, double degrees)
{
	return degrees > 0 ? sqrt(squares / degrees) : (double)NAN;
}

double fb_launch_noise(const double *y, size_t launches)
{
	double *x = fb_new(launches + 1, sizeof(*x)), noise;
	struct moments m;
	size_t n = 0;

	for (size_t i = 0; i < launches; i++)
		if (!isnan(y[i]))
			x[n++] = y[i];
	m = moments(x, n);
	noise = deviation(m.squares, m.count - 1);
	fb_drop(x);
	return noise;
}

/* The median time of a side; room is for 2 * n doubles. */
static double median_us(const double *y, size_t n, double *room)
{
	for (size_t i = 0; i < n; i++)
		room[i] = exp(y[i]);
	return fb_estimate_launches(room, n).us;
}

/* Time, launches and noise of both sides. Blocks do not matter here. */
static void describe_sides(const struct fb_row_values *sides, double *scratch,
			   struct fb_effect *out)
{
	struct moments a = moments(sides->a, sides->na), b = moments(sides->b, sides->nb);

	out->na = sides->na;
	out->nb = sides->nb;
	out->a_us = median_us(sides->a, sides->na, scratch);
	out->b_us = median_us(sides->b, sides->nb, scratch);
	out->noise_a = deviation(a.squares, a.count - 1);
	out->noise_b = deviation(b.squares, b.count - 1);
	out->noise = deviation(a.squares + b.squares, a.count + b.count - 2);
}

/* Replaces x[0 .. n) by the distances to their median; the scratch is for 2 * n. */
static void take_distances(double *x, size_t n, double *scratch)
{
	double median = fb_median(x, n, scratch);

	for (size_t i = 0; i < n; i++)
		x[i] = fabs(x[i] - median);
}

/* Brown and Forsythe's test of equal variation. The sides' values are lost. */
static double noise_p(const struct fb_row_values *sides, double *scratch)
{
	double na = (double)sides->na, nb = (double)sides->nb, difference, error;

	if (sides->na < LEAST_FOR_NOISE || sides->nb < LEAST_FOR_NOISE)
		return (double)NAN;
	take_distances(sides->a, sides->na, scratch);
	take_distances(sides->b, sides->nb, scratch);
	struct moments a = moments(sides->a, sides->na), b = moments(sides->b, sides->nb);

	difference = fabs(a.mean - b.mean);
	error = sqrt((a.squares + b.squares) / (na + nb - 2) * (1 / na + 1 / nb));
	if (!(difference > 0))
		return 1;
	return error > 0 ? fb_student_p(difference / error, sides->na + sides->nb - 2) : 0;
}

static int compare_sides(const struct fb_row_values *sides, struct fb_effect *out,
			 struct fb_shift *shift)
{
	struct fb_mann_whitney test;
	int ret = fb_hodges_lehmann(sides->a, sides->na, sides->b, sides->nb, FB_ALPHA, shift);

	if (!ret)
		ret = fb_mann_whitney(sides->a, sides->na, sides->b, sides->nb, &test);
	if (ret)
		return ret;
	out->p = test.p;
	out->p_exact = test.exact;
	return FB_OK;
}

static int compare_blocks(const struct fb_row_values *blocks, struct fb_effect *out,
			  struct fb_shift *shift)
{
	struct moments d = moments(blocks->b, blocks->nb);
	int ret = fb_walsh_shift(blocks->b, blocks->nb, FB_ALPHA, shift);

	out->noise = deviation(d.squares / 2, d.count - 1);
	if (!ret)
		ret = fb_signed_rank(blocks->b, blocks->nb, &out->p, &out->p_exact);
	return ret;
}

static int effect(const struct fb_design *design, const double *y, double *room,
		  struct fb_effect *out)
{
	const struct fb_design unpaired = {.launches = design->launches, .side = design->side};
	struct fb_row_values sides, blocks;
	struct fb_shift shift;
	bool comparable;
	int ret = fb_row_values(&unpaired, y, room, &sides);

	if (ret)
		return ret;
	describe_sides(&sides, room + 2 * design->launches, out);
	comparable = sides.na > 0 && sides.nb > 0;
	if (design->block) {
		ret = fb_row_values(design, y, room, &blocks);
		if (ret)
			return ret;
		out->blocks = blocks.nb;
		comparable = blocks.nb > 0;
	}
	if (!comparable)
		return FB_OK;
	ret = design->block ? compare_blocks(&blocks, out, &shift)
			    : compare_sides(&sides, out, &shift);
	if (ret)
		return ret;
	if (!design->block)
		out->noise_p = noise_p(&sides, room + 2 * design->launches);
	out->ratio = out->b_us / out->a_us;
	if (isfinite(shift.low) && isfinite(shift.high)) {
		out->low = fmin(exp(shift.low), out->ratio);
		out->high = fmax(exp(shift.high), out->ratio);
	}
	return FB_OK;
}

int fb_effect(const struct fb_design *design, const double *y, struct fb_effect *out)
{
	const double none = (double)NAN;
	struct fb_effect result = {
		.a_us = none,
		.b_us = none,
		.ratio = none,
		.low = none,
		.high = none,
		.p = none,
		.noise = none,
		.noise_a = none,
		.noise_b = none,
		.noise_p = none,
	};
	struct fb_design_size size;
	int ret = fb_design_check(design, &size);

	if (ret)
		return ret;
	double *room = fb_new(4 * design->launches, sizeof(*room));

	ret = effect(design, y, room, &result);
	fb_drop(room);
	if (!ret)
		*out = result;
	return ret;
}
