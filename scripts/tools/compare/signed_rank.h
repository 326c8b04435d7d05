/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One set of differences against 0, without assuming a distribution: Wilcoxon's signed rank test
 * and the median of Walsh averages with its confidence interval. This is for blocks;
 * rank_test.h is for independent sides.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_SIGNED_RANK_H
#define FB_SCRIPTS_TOOLS_COMPARE_SIGNED_RANK_H

#include "common/measure/rank_test.h"

/* Up to this many differences the distribution is exact, ties included. */
enum { FB_SIGNED_RANK_EXACT = 200 };

/*
 * The two-sided p of d[0 .. n), n >= 1: the share of the 2^n choices of signs whose signed rank sum
 * is at least as far from 0. Differences of equal size share mid-ranks; those that are 0 take part
 * in the ranking and then count for no side (Pratt, 1959). Normal approximation beyond
 * FB_SIGNED_RANK_EXACT; *exact says which. Returns 0 or FB_EINPUT (n = 0, or a value that is not
 * finite) with nothing set.
 */
int fb_signed_rank(const double *d, size_t n, double *p, bool *exact);

/*
 * The median of the averages of all pairs of d (each with itself too), and its interval of level
 * 1 - alpha; -INFINITY and INFINITY where none is finite. Errors as above, and for alpha outside
 * (0, 1). Cost: n^2 doubles for the duration of the call.
 */
int fb_walsh_shift(const double *d, size_t n, double alpha, struct fb_shift *out);

/*
 * The largest k with P(W <= k - 1) <= alpha / 2 under no difference: the k-th smallest and k-th
 * largest of the n (n + 1) / 2 averages bound the median. 0: no finite interval exists.
 */
size_t fb_walsh_ci_rank(size_t n, double alpha);

#endif
