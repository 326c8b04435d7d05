/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model that a fit's times give; see fit.h. */
#include <math.h>
#include <stdlib.h>

#include "kvtransfer/handoff/fit.h"

/* Solves 3 equations by elimination with pivots. False: they have no single solution. */
static bool solve(double m[3][4])
{
	for (int c = 0; c < 3; c++) {
		int best = c;

		for (int r = c + 1; r < 3; r++)
			best = fabs(m[r][c]) > fabs(m[best][c]) ? r : best;
		for (int k = 0; k < 4; k++) {
			double swapped = m[c][k];

			m[c][k] = m[best][k];
			m[best][k] = swapped;
		}
		if (fabs(m[c][c]) < 1e-300)
			return false;
		for (int r = 0; r < 3; r++) {
			double factor = m[r][c] / m[c][c];

			for (int k = c; k < 4 && r != c; k++)
				m[r][k] -= factor * m[c][k];
		}
	}
	for (int r = 0; r < 3; r++)
		m[r][3] /= m[r][r];
	return true;
}

/*
 * a in us, b in us for a piece, us for a byte: least squares of (model - t) / t. The clocks' error
 * is the same for all points, so that it is in a alone. It is added to the divisors, because times
 * that are shorter than the error have no meaningful weight.
 */
static bool fit_sweep(const struct fb_fit *f, const double *us, double error_us, double out[3])
{
	double m[3][4] = {{0}};

	for (int k = 0; k < FB_FIT_POINTS; k++) {
		double t = us[k * FB_FIT_MODES], scale = t + error_us;
		double x[4] = {1, (double)f->point[k].pieces,
			       (double)(f->point[k].pieces * f->point[k].bytes), t};

		if (!f->point[k].pieces || !(scale > 0))
			continue;
		for (int r = 0; r < 3; r++)
			for (int c = 0; c < 4; c++)
				m[r][c] += x[r] * x[c] / (scale * scale);
	}
	if (!solve(m))
		return false;
	for (int r = 0; r < 3; r++)
		out[r] = m[r][3];
	return true;
}

/*
 * The largest piece size whose longest list is faster packed, by medians; 0: none is. NAN: there
 * are no medians.
 */
static double breakeven(const struct fb_fit *f, const double *us, double *scratch)
{
	double largest = 0;

	for (int size = 0; size < FB_FIT_SIZES; size++) {
		double median[FB_FIT_MODES], interval[3] = {NAN, NAN, NAN};
		int k = size;

		while (k + FB_FIT_SIZES < FB_FIT_POINTS && f->point[k + FB_FIT_SIZES].pieces)
			k += FB_FIT_SIZES;
		for (int m = 0; m < FB_FIT_MODES; m++) {
			const double *first = us + k * FB_FIT_MODES + m;

			for (size_t s = 0; s < f->sweeps; s++)
				scratch[s] = first[s * FB_FIT_POINTS * FB_FIT_MODES];
			fb_handoff_interval(scratch, f->sweeps, interval);
			if (isnan(interval[0]))
				return (double)NAN;
			median[m] = interval[0];
		}
		if (median[1] < median[0])
			largest = (double)f->point[k].bytes;
	}
	return largest;
}

/* A column's median and its interval over sweeps. */
static void put(struct fb_handoff_instance *i, const double *x, size_t n, int column)
{
	fb_handoff_interval(x, n, &i->value[column]);
}

void fb_fit_model(struct fb_handoff_instance *i, const double *us)
{
	const struct fb_fit *f = i->fit;
	double error_us = fb_handoff_error_us(i, FB_ENDS_BOTH);
	double *v = i->value, *a = calloc(4 * f->sweeps + 1, sizeof(*a)), *b = a + f->sweeps;
	double *rate = b + f->sweeps, model[3];
	size_t n = 0;

	for (size_t s = 0; s < f->sweeps && a; s++)
		if (fit_sweep(f, us + s * FB_FIT_POINTS * FB_FIT_MODES, error_us, model)) {
			a[n] = model[0];
			b[n] = model[1] * 1e3;
			rate[n++] = 1 / model[2] / 1e3;
		}
	if (a) {
		put(i, a, n, FB_HANDOFF_A_US);
		/* A fit may put a small constant below 0, which says nothing about clocks. */
		if (error_us > 0 && v[FB_HANDOFF_A_US] < 0)
			v[FB_HANDOFF_A_US] = 0;
		v[FB_HANDOFF_A_US] = fb_handoff_known(i, v[FB_HANDOFF_A_US], FB_ENDS_BOTH);
		if (isnan(v[FB_HANDOFF_A_US]))
			v[FB_HANDOFF_A_LOW_US] = v[FB_HANDOFF_A_HIGH_US] = (double)NAN;
		put(i, b, n, FB_HANDOFF_B_NS);
		put(i, rate, n, FB_HANDOFF_RATE_GBPS);
		v[FB_HANDOFF_BREAKEVEN_BYTES] = breakeven(f, us, a);
	}
	free(a);
}
