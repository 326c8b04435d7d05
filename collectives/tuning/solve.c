/* SPDX-License-Identifier: BSD-3-Clause */
/* Gaussian elimination; see solve.h. */
#include "collectives/tuning/solve.h"

#include <math.h>

static void swap(double *x, double *y)
{
	double kept = *x;

	*x = *y;
	*y = kept;
}

/* What rounding leaves of a number at most where nothing should be left. */
static const double rounding = 1e-14;

/* Brings the largest of column k from row k on to row k; false: beside `most` all are zero. */
static bool pivot(double a[FB_SOLVE_MOST][FB_SOLVE_MOST], double b[FB_SOLVE_MOST], int n, int k,
		  double most)
{
	int best = k;

	for (int i = k + 1; i < n; i++)
		if (fabs(a[i][k]) > fabs(a[best][k]))
			best = i;
	for (int j = 0; j < n; j++)
		swap(&a[k][j], &a[best][j]);
	swap(&b[k], &b[best]);
	return fabs(a[k][k]) > rounding * most;
}

bool fb_solve(double a[FB_SOLVE_MOST][FB_SOLVE_MOST], double b[FB_SOLVE_MOST], int n,
	      double x[FB_SOLVE_MOST])
{
	double most[FB_SOLVE_MOST] = {0};

	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			most[k] = fmax(most[k], fabs(a[i][k]));
	for (int k = 0; k < n; k++) {
		if (!pivot(a, b, n, k, most[k]))
			return false;
		for (int i = k + 1; i < n; i++) {
			double factor = a[i][k] / a[k][k];

			for (int j = k; j < n; j++)
				a[i][j] -= factor * a[k][j];
			b[i] -= factor * b[k];
		}
	}
	for (int k = n - 1; k >= 0; k--) {
		x[k] = b[k];
		for (int j = k + 1; j < n; j++)
			x[k] -= a[k][j] * x[j];
		x[k] /= a[k][k];
	}
	return true;
}
