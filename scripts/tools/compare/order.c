/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank correlation with time; see order.h. */
#include "scripts/tools/compare/order.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"

enum { LEAST_LAUNCHES = 8, LEAST_SIDE = 3 };

/* The mid-rank of each of x[0 .. n), less the mean of all ranks; sorted and tmp: n doubles each. */
static void centred_ranks(const double *x, size_t n, double *sorted, double *tmp, double *rank)
{
	memcpy(sorted, x, n * sizeof(*x));
	fb_sort(sorted, n, tmp);
	for (size_t i = 0, next; i < n; i = next) {
		next = i + 1;
		while (next < n && sorted[next] == sorted[i])
			next++;
		for (size_t j = 0; j < n; j++)
			if (x[j] == sorted[i])
				rank[j] = (double)(i + next + 1) / 2 - (double)(n + 1) / 2;
	}
}

double fb_spearman(const double *x, const double *y, size_t n, double *room)
{
	double *rank_x = room, *rank_y = room + n, *sorted = room + 2 * n, *tmp = room + 3 * n;
	double xx = 0, yy = 0, xy = 0;

	centred_ranks(x, n, sorted, tmp, rank_x);
	centred_ranks(y, n, sorted, tmp, rank_y);
	for (size_t i = 0; i < n; i++) {
		xx += rank_x[i] * rank_x[i];
		yy += rank_y[i] * rank_y[i];
		xy += rank_x[i] * rank_y[i];
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

/* Launches of one side that have a value; returns how many. */
static size_t take_side(const struct fb_design *design, const double *time, const double *y,
			unsigned side, double *side_time, double *side_y)
{
	size_t n = 0;

	for (size_t i = 0; i < design->launches; i++) {
		if (design->side[i] != side || isnan(y[i]))
			continue;
		side_time[n] = time[i];
		side_y[n++] = y[i];
	}
	return n;
}

/* The mean of both sides' rho by launches; sides without differences are left out. */
static double row_rho(const struct fb_design *design, const double *time, const double *y,
		      double *room)
{
	size_t n = design->launches, used = 0;
	double sum = 0;

	for (unsigned side = FB_SIDE_A; side <= FB_SIDE_B; side++) {
		double *side_time = room, *side_y = room + n;
		size_t count = take_side(design, time, y, side, side_time, side_y);
		double rho = (double)NAN;

		if (count >= LEAST_SIDE)
			rho = fb_spearman(side_time, side_y, count, room + 2 * n);
		if (isnan(rho))
			continue;
		sum += rho * (double)count;
		used += count;
	}
	return used >= LEAST_LAUNCHES ? sum / (double)used : (double)NAN;
}

/* The distance of the sides' mean ranks in time; n / 2 when one is wholly before the other. */
static double separation(const struct fb_design *design, const struct fb_design_size *size,
			 const double *time, double *room)
{
	size_t n = design->launches;
	double *rank = room, mean[2] = {0};

	centred_ranks(time, n, room + n, room + 2 * n, rank);
	for (size_t i = 0; i < n; i++)
		mean[design->side[i]] +=
			rank[i] / (double)(design->side[i] == FB_SIDE_A ? size->a : size->b);
	return fabs(mean[FB_SIDE_B] - mean[FB_SIDE_A]) / ((double)n / 2);
}

static int check_order(const struct fb_design *design, const double *time, const double *y,
		       size_t rows)
{
	for (size_t i = 0; i < design->launches; i++)
		if (!isfinite(time[i]))
			return fb_error(FB_EINPUT, "the time of launch %zu is %g", i, time[i]);
	for (size_t i = 0; i < rows * design->launches; i++)
		if (isinf(y[i]))
			return fb_error(FB_EINPUT, "the value of row %zu, launch %zu is %g",
					i / design->launches, i % design->launches, y[i]);
	return FB_OK;
}

int fb_order_check(const struct fb_design *design, const double *time, const double *y, size_t rows,
		   double *rho, struct fb_order *out)
{
	struct fb_design_size size;
	struct fb_order order = {0};
	int ret = fb_design_check(design, &size);

	if (!ret)
		ret = check_order(design, time, y, rows);
	if (ret)
		return ret;
	double *room = fb_new(6 * design->launches, sizeof(*room));

	for (size_t i = 0; i < rows; i++) {
		double r = row_rho(design, time, y + i * design->launches, room);

		order.rows += isnan(r) ? 0 : 1;
		order.drifting += fabs(r) > FB_DRIFT_RHO ? 1 : 0;
		if (rho)
			rho[i] = r;
	}
	order.drift = (double)order.drifting > FB_DRIFT_SHARE * (double)order.rows;
	order.separation = separation(design, &size, time, room);
	fb_drop(room);
	*out = order;
	return FB_OK;
}
