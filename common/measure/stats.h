/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of one row's repetitions: order statistics, a confidence interval of the median, and
 * signs that the repetitions were not alike (outliers, autocorrelation, drift).
 *
 * Everything is an order statistic or a robust measure, because times have a hard lower end and
 * a long upper tail; the mean is given for completeness only. A value that the number of samples
 * does not support is NAN (an empty CSV field), never an interpolation. Times may have any unit:
 * results have the unit of the samples.
 *
 * `scratch` has room for 2 * n doubles and belongs to the caller; its contents are overwritten. No
 * function allocates or communicates. Functions that return a double return NAN for n = 0.
 */
#ifndef FB_COMMON_MEASURE_STATS_H
#define FB_COMMON_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Fewest samples for which a quantile is reported, and for which the median has a finite CI. */
enum { FB_MIN_SAMPLES_CI = 6, FB_MIN_SAMPLES_P95 = 100, FB_MIN_SAMPLES_P99 = 1000 };

/* All row values of one set of samples; in the unit of the samples but for counts and rho. */
struct fb_summary {
	size_t n;
	double min, max, mean;
	double median;
	double median_low, median_high; /* 95% confidence interval; NAN when n_eff < 6 */

	double p05, p95; /* NAN when n < 100 */
	double p99;	 /* NAN when n < 1000 */
	double mad;	 /* median absolute deviation from the median, unscaled */
	double rho;	 /* lag-1 autocorrelation, outliers pulled in to the fence */
	double n_eff;	 /* number of independent samples these are worth, <= n */
	size_t outliers; /* samples beyond median + 5 * 1.4826 * mad; never dropped */
};

/*
 * Summarises x[0 .. n), which is in the order of measurement. n = 0 is no error: all values are
 * NAN. Returns FB_EINPUT, with *out unchanged, when a sample is NaN or infinite.
 */
int fb_summarise(const double *x, size_t n, double *scratch, struct fb_summary *out);

/*
 * Half width of the median's CI divided by the median: the figure that the stopping rule
 * compares with eps. The wider side counts. INFINITY where there is no finite CI.
 */
double fb_ci_half_width(const struct fb_summary *summary);

/* Sorts x in ascending order; tmp is room for n doubles. NaN must not occur. */
void fb_sort(double *x, size_t n, double *tmp);

/*
 * The median of samples in any order; of an even number, the mean of the middle two. scratch is
 * room for 2 n doubles.
 */
double fb_median(const double *x, size_t n, double *scratch);

/* The same of samples in ascending order. */
double fb_sorted_median(const double *sorted, size_t n);

/*
 * The q-quantile (0 < q < 1) of samples in ascending order as an order statistic: the smallest
 * sample that at least n * q samples do not exceed. No floor on n is applied here.
 */
double fb_sorted_quantile(const double *sorted, size_t n, double q);

/*
 * The 1-based ranks lo, hi of the order statistics that bound the median with 95% confidence:
 * exact binomial up to n = 50, normal approximation beyond. n_eff <= n (equal for independent
 * samples) widens the distance from the middle by sqrt(n / n_eff). Returns false, and sets
 * nothing, where no finite interval exists (n_eff < 6).
 */
bool fb_median_ci_ranks(size_t n, double n_eff, size_t *lo, size_t *hi);

/* Lag-1 autocorrelation of x in the order of measurement; 0 for n < 3 or constant x. */
double fb_autocorrelation(const double *x, size_t n);

/*
 * Whether the samples moved during the measurement: the medians of the first and the last third
 * differ by more than 2 * eps (relative to the smaller) and Mann-Whitney's test agrees
 * (p < 0.01). Never true for n < 15, where the test cannot reach that p. Returns 1 or 0, or
 * FB_EINPUT (bad sample) or FB_ENOMEM.
 */
int fb_drift(const double *x, size_t n, double eps, double *scratch);

#endif
