/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a row took, said of several launches: the one estimator of every table, figure and
 * comparison. A side's time is the median over launches, and a ratio is the quotient of two such
 * medians, so the numbers of one line never contradict each other. A wild launch moves neither.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_ESTIMATE_H
#define FB_SCRIPTS_TOOLS_LIB_ESTIMATE_H

#include <stddef.h>

/* To be named under a table. */
#define FB_ESTIMATOR "median over launches"

struct fb_estimate {
	double us;		  /* the median; NAN: no launch */
	double low_us, high_us;	  /* its 95% interval from six launches on, else the next two */
	double least_us, most_us; /* NAN: no launch */
};

/* Of us[0 .. n), one value for each launch, which get sorted. us has room for 2 * n values. */
struct fb_estimate fb_estimate_launches(double *us, size_t n);

#endif
