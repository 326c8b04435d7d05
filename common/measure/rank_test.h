/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing two independent sets of values without assuming a distribution: Mann-Whitney's test
 * and the Hodges-Lehmann shift with its confidence interval.
 *
 * When launches are compared, the values are one per launch (never one per repetition), so sets
 * are small and the exact distribution matters: the smallest p of the test is 2 / C(2R, R).
 */
#ifndef FB_COMMON_MEASURE_RANK_TEST_H
#define FB_COMMON_MEASURE_RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Up to this many values on each side the distribution is exact: for p with ties, for p without
 * any, for the interval. Counting takes the cube of it, and p is asked for while ranks wait.
 */
enum { FB_RANK_EXACT = 20, FB_RANK_EXACT_UNTIED = 50, FB_RANK_EXACT_CI = 200 };

struct fb_mann_whitney {
	double u;   /* pairs (a, b) with a > b, plus half of the pairs that are equal */
	double p;   /* two-sided */
	bool exact; /* false: normal approximation with tie and continuity correction */
};

/*
 * Mann-Whitney's (Wilcoxon's rank sum) test of a[0 .. na) against b[0 .. nb), na, nb >= 1. Equal
 * values share mid-ranks; with at most FB_RANK_EXACT values a side (FB_RANK_EXACT_UNTIED where no
 * two are equal) p is the exact share of assignments whose rank sum is at least as far from its
 * mean. Returns FB_EINPUT (empty set or NaN) or FB_ENOMEM with *out unchanged.
 */
int fb_mann_whitney(const double *a, size_t na, const double *b, size_t nb,
		    struct fb_mann_whitney *out);

struct fb_shift {
	double shift;	  /* median of all differences b - a */
	double low, high; /* its confidence interval; -INFINITY and INFINITY where none is finite */
};

/*
 * Hodges-Lehmann estimate of how far b lies above a, with a two-sided confidence interval of
 * level 1 - alpha from the exact distribution (normal beyond FB_RANK_EXACT_CI values).
 * Returns FB_EINPUT (empty set, NaN, or alpha outside (0, 1)) or FB_ENOMEM with *out unchanged.
 * Cost: na * nb doubles for the duration of the call.
 */
int fb_hodges_lehmann(const double *a, size_t na, const double *b, size_t nb, double alpha,
		      struct fb_shift *out);

/* The z with P(|Z| > z) = alpha, of a normal Z. */
double fb_normal_point(double alpha);

/*
 * The largest k with P(U <= k - 1) <= alpha / 2 under no difference: the k-th smallest and the
 * k-th largest of the na * nb differences bound the shift. 0: no finite interval exists. Needs
 * 160 KB of stack.
 */
size_t fb_shift_ci_rank(size_t na, size_t nb, double alpha);

#endif
