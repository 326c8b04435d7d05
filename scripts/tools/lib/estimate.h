/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time of a row over several launches, estimated in the same way for every table, figure and
 * comparison. A side's time is the median over launches, and a ratio is the quotient of two such
 * medians, so the numbers of one line never contradict each other. One outlier changes neither.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_ESTIMATE_H
#define FB_SCRIPTS_TOOLS_LIB_ESTIMATE_H

#include <stddef.h>

/* The estimator's name, for the text below a table. */
#define FB_ESTIMATOR "median over launches"

struct fb_estimate {
	double us;		  /* the median; NAN: no launch */
	double low_us, high_us;	  /* its 95% interval; least and most below 6 launches */
	double least_us, most_us; /* NAN: no launch */
};

/* The estimate of us[0 .. n), one value for each launch. us gets sorted and has room for 2 * n. */
struct fb_estimate fb_estimate_launches(double *us, size_t n);

/*
 * A robust standard deviation of x[0 .. n) around a centre: 1.4826 times the median distance from
 * it, which equals the standard deviation of normal values, and which outliers hardly change. x is
 * overwritten with these distances; scratch has room for 2 * n values. NAN for n = 0.
 */
double fb_spread(double *x, size_t n, double centre, double *scratch);

#endif
