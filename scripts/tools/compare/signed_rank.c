/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wilcoxon's signed rank test; see signed_rank.h.
 *
 * Distributions are counted by adding one rank after the other, with either sign equally likely,
 * so that shares instead of counts are kept and nothing overflows or cancels.
 */
#include "scripts/tools/compare/signed_rank.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/measure/rank_test.h"
#include "common/measure/stats.h"

static int check_set(const double *d, size_t n)
{
	if (n == 0)
		return fb_error(FB_EINPUT, "a paired comparison needs a block");
	for (size_t i = 0; i < n; i++)
		if (!isfinite(d[i]))
			return fb_error(FB_EINPUT,
					"difference %zu of %zu is %g, not a finite number", i + 1,
					n, d[i]);
	return FB_OK;
}

/* What a walk over the absolute differences in ascending order finds; ranks are doubled. */
struct signed_ranks {
	unsigned rank2[FB_SIGNED_RANK_EXACT]; /* of the differences that are not 0 */
	size_t count;			      /* of these */
	size_t all;			      /* sum of rank2 */
	double positive;		      /* sum of those whose difference is positive */
	double squares;			      /* sum of squared ranks, not doubled */
};

/* size[0 .. n) ascending. */
static void rank_sizes(const double *d, const double *size, size_t n, struct signed_ranks *out)
{
	*out = (struct signed_ranks){0};
	for (size_t i = 0, next; i < n; i = next) {
		next = i + 1;
		while (next < n && size[next] == size[i])
			next++;
		if (size[i] == 0)
			continue;
		double rank2 = (double)(i + next + 1);

		for (size_t j = 0; j < n; j++)
			if (d[j] == size[i])
				out->positive += rank2;
		for (size_t k = i; k < next; k++) {
			out->all += i + next + 1;
			out->squares += rank2 * rank2 / 4;
			if (n <= FB_SIGNED_RANK_EXACT)
				out->rank2[out->count++] = (unsigned)(i + next + 1);
		}
	}
}

/* share[s] = P(the ranks that get a plus sum up to s), for s = 0 .. all. */
static void sign_shares(const unsigned *rank, size_t n, size_t all, double *share)
{
	for (size_t s = 0; s <= all; s++)
		share[s] = s == 0;
	for (size_t i = 0; i < n; i++)
		for (size_t s = all + 1; s-- > 0;)
			share[s] = (share[s] + (s >= rank[i] ? share[s - rank[i]] : 0)) / 2;
}

static double exact_p(const struct signed_ranks *ranks)
{
	double *share = fb_new(ranks->all + 1, sizeof(*share));
	double observed = fabs(2 * ranks->positive - (double)ranks->all), far = 0;

	sign_shares(ranks->rank2, ranks->count, ranks->all, share);
	for (size_t s = 0; s <= ranks->all; s++)
		if (fabs(2 * (double)s - (double)ranks->all) >= observed)
			far += share[s];
	fb_drop(share);
	return fmin(far, 1);
}

/* The sum of ranks with sign has mean 0 and the sum of squared ranks as variance. */
static double normal_p(const struct signed_ranks *ranks)
{
	/* Steps of the sum are 2 wide, so half a step is 1. */
	double away = fabs(ranks->positive - (double)ranks->all / 2) - 1;

	if (ranks->squares <= 0 || away <= 0)
		return 1;
	return erfc(away / sqrt(2 * ranks->squares));
}

int fb_signed_rank(const double *d, size_t n, double *p, bool *exact)
{
	struct signed_ranks ranks;
	int ret = check_set(d, n);

	if (ret)
		return ret;
	double *size = fb_new(2 * n, sizeof(*size));

	for (size_t i = 0; i < n; i++)
		size[i] = fabs(d[i]);
	fb_sort(size, n, size + n);
	rank_sizes(d, size, n, &ranks);
	fb_drop(size);
	*exact = n <= FB_SIGNED_RANK_EXACT;
	*p = *exact ? exact_p(&ranks) : normal_p(&ranks);
	return FB_OK;
}

size_t fb_walsh_ci_rank(size_t n, double alpha)
{
	double share[FB_SIGNED_RANK_EXACT * (FB_SIGNED_RANK_EXACT + 1) / 2 + 1], below = 0;
	unsigned rank[FB_SIGNED_RANK_EXACT] = {0};
	size_t k = 0;

	if (n > FB_SIGNED_RANK_EXACT) {
		double count = (double)n;
		double spread = sqrt(count * (count + 1) * (2 * count + 1) / 24);

		return (size_t)floor(count * (count + 1) / 4 + 0.5 -
				     fb_normal_point(alpha) * spread);
	}
	for (size_t i = 0; i < n; i++)
		rank[i] = (unsigned)i + 1;
	sign_shares(rank, n, n * (n + 1) / 2, share);
	while (k < n * (n + 1) / 4 && below + share[k] <= alpha / 2)
		below += share[k++];
	return k;
}

int fb_walsh_shift(const double *d, size_t n, double alpha, struct fb_shift *out)
{
	int ret = check_set(d, n);
	size_t averages = n * (n + 1) / 2, next = 0;

	if (ret)
		return ret;
	if (!(alpha > 0 && alpha < 1))
		return fb_error(FB_EINPUT, "alpha is %g, accepted is more than 0 and less than 1",
				alpha);
	double *average = fb_new(2 * averages, sizeof(*average));

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			average[next++] = d[i] / 2 + d[j] / 2;
	fb_sort(average, averages, average + averages);
	size_t k = fb_walsh_ci_rank(n, alpha);

	out->shift = fb_sorted_median(average, averages);
	out->low = k > 0 ? average[k - 1] : -(double)INFINITY;
	out->high = k > 0 ? average[averages - k] : (double)INFINITY;
	fb_drop(average);
	return FB_OK;
}
