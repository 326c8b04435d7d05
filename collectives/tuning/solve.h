/* SPDX-License-Identifier: BSD-3-Clause */
/* Small systems of linear equations, for models of few parameters. */
#ifndef FB_COLLECTIVES_TUNING_SOLVE_H
#define FB_COLLECTIVES_TUNING_SOLVE_H

#include <stdbool.h>

enum { FB_SOLVE_MOST = 4 };

/*
 * Solves a x = b of n <= FB_SOLVE_MOST unknowns by Gaussian elimination with pivots; `a` and `b`
 * are spoilt. Returns false, with x untouched, where there is not one solution.
 */
bool fb_solve(double a[FB_SOLVE_MOST][FB_SOLVE_MOST], double b[FB_SOLVE_MOST], int n,
	      double x[FB_SOLVE_MOST]);

#endif
