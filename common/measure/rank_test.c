/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mann-Whitney's test and the Hodges-Lehmann shift; see rank_test.h.
 *
 * Exact p-values with ties are counted by dynamic programming over doubled mid-ranks (integers
 * even with ties), where all counts stay below C(40, 20) < 2^38, so that doubles hold them exactly.
 * Without ties the distribution of U depends on the two numbers only and is counted faster; its
 * counts are rounded beyond 2^53, to about 1e-13 of them at 200 values a side.
 */
#include "common/measure/rank_test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"

enum {
	MAX_POOLED = 2 * FB_RANK_EXACT,
	HALF_U = FB_RANK_EXACT_UNTIED * FB_RANK_EXACT_UNTIED / 2,
	HALF_CI = FB_RANK_EXACT_CI * FB_RANK_EXACT_CI / 2
};

/* The result of a walk over the pooled, sorted values. */
struct ranking {
	double u;    /* pairs a > b plus half of those equal */
	double ties; /* sum of t^3 - t over groups of t equal values */
	size_t na, nb;
	unsigned rank2[MAX_POOLED]; /* doubled mid-rank of each pooled value; small sets only */
};

static int check_sets(const double *a, size_t na, const double *b, size_t nb)
{
	if (na == 0 || nb == 0)
		return fb_error(FB_EINPUT,
				"a comparison needs values on both sides, not %zu and %zu", na, nb);
	for (size_t i = 0; i < na + nb; i++) {
		double value = i < na ? a[i] : b[i - na];

		if (!isfinite(value))
			return fb_error(FB_EINPUT,
					"value %zu of side %s is %g, not a finite number",
					i < na ? i + 1 : i - na + 1, i < na ? "A" : "B", value);
	}
	return FB_OK;
}

/* Both sets in ascending order. */
static void rank_sets(const double *a, size_t na, const double *b, size_t nb, struct ranking *out)
{
	bool small = na <= FB_RANK_EXACT && nb <= FB_RANK_EXACT;
	size_t i = 0, j = 0;

	out->u = 0;
	out->ties = 0;
	out->na = na;
	out->nb = nb;
	while (i < na || j < nb) {
		double value = j == nb || (i < na && a[i] < b[j]) ? a[i] : b[j];
		size_t first = i + j, i0 = i, j0 = j;

		while (i < na && a[i] == value)
			i++;
		while (j < nb && b[j] == value)
			j++;
		double in_a = (double)(i - i0), in_b = (double)(j - j0), equal = in_a + in_b;

		out->u += in_a * ((double)j0 + in_b / 2);
		out->ties += equal * equal * equal - equal;
		for (size_t k = first; small && k < i + j; k++)
			out->rank2[k] = (unsigned)(first + i + j + 1);
	}
}

/*
 * ways[u] = how many of the C(na + nb, na) orders have U = u, for u <= half: coefficients of the
 * Gaussian binomial, the product over i = 1 .. na of (1 - q^(nb + i)) / (1 - q^i). Lower
 * coefficients do not depend on higher ones, and the distribution is symmetric, so half of it is
 * enough.
 */
static void count_orders(size_t na, size_t nb, size_t half, double *ways)
{
	memset(ways, 0, (half + 1) * sizeof(*ways));
	ways[0] = 1;
	for (size_t i = 1; i <= na; i++) {
		for (size_t u = half; u >= nb + i; u--)
			ways[u] -= ways[u - nb - i];
		for (size_t u = i; u <= half; u++)
			ways[u] += ways[u - i];
	}
}

/* C(na + nb, na); exact up to 2^53, because every step divides evenly. */
static double all_orders(size_t na, size_t nb)
{
	double all = 1;

	for (size_t i = 1; i <= na; i++)
		all = all * (double)(nb + i) / (double)i;
	return all;
}

/* Without ties: twice the share of the tail that U is in. */
static double untied_p(const struct ranking *r)
{
	double ways[HALF_U + 1], below = 0, pairs = (double)(r->na * r->nb);
	size_t u = (size_t)fmin(r->u, pairs - r->u);

	count_orders(r->na, r->nb, u, ways);
	for (size_t i = 0; i <= u; i++)
		below += ways[i];
	return fmin(1, 2 * below / all_orders(r->na, r->nb));
}

/*
 * The share of the ways to choose na of the pooled values whose doubled rank sum is at least as
 * far from its mean, na * (N + 1), as the observed one. Sums run up to na * 2N.
 */
static int tied_p(const struct ranking *r, double *p)
{
	size_t pooled = r->na + r->nb, sums = 2 * r->na * pooled + 1;
	double *ways = calloc((r->na + 1) * sums, sizeof(*ways));
	double mean = (double)(r->na * (pooled + 1)), all = 0, far = 0;
	/* The rank sum is U + na (na + 1) / 2. */
	double observed = fabs(2 * r->u + (double)(r->na * (r->na + 1)) - mean);

	if (!ways)
		return fb_error(FB_ENOMEM, "no memory for the exact rank distribution");
	ways[0] = 1;
	for (size_t k = 0; k < pooled; k++)
		for (size_t chosen = r->na; chosen > 0; chosen--) {
			const double *from = ways + (chosen - 1) * sums;
			double *to = ways + chosen * sums;

			for (size_t s = r->rank2[k]; s < sums; s++)
				to[s] += from[s - r->rank2[k]];
		}
	for (size_t s = 0; s < sums; s++) {
		double count = ways[r->na * sums + s];

		all += count;
		if (fabs((double)s - mean) >= observed)
			far += count;
	}
	free(ways);
	*p = far / all;
	return FB_OK;
}

static double normal_p(const struct ranking *r)
{
	double na = (double)r->na, nb = (double)r->nb, n = na + nb;
	double variance = na * nb / 12 * (n + 1 - r->ties / (n * (n - 1)));
	double away = fabs(r->u - na * nb / 2) - 0.5;

	if (variance <= 0 || away <= 0)
		return 1;
	return erfc(away / sqrt(2 * variance));
}

int fb_mann_whitney(const double *a, size_t na, const double *b, size_t nb,
		    struct fb_mann_whitney *out)
{
	struct ranking ranking;
	struct fb_mann_whitney result;
	int ret = check_sets(a, na, b, nb);

	if (ret)
		return ret;
	double *sorted = malloc((na + nb) * 2 * sizeof(*sorted));

	if (!sorted)
		return fb_error(FB_ENOMEM, "no memory to rank %zu values", na + nb);
	memcpy(sorted, a, na * sizeof(*a));
	memcpy(sorted + na, b, nb * sizeof(*b));
	fb_sort(sorted, na, sorted + na + nb);
	fb_sort(sorted + na, nb, sorted + na + nb);
	rank_sets(sorted, na, sorted + na, nb, &ranking);
	free(sorted);

	result.u = ranking.u;
	result.exact = true;
	if (ranking.ties == 0 && na <= FB_RANK_EXACT_UNTIED && nb <= FB_RANK_EXACT_UNTIED) {
		result.p = untied_p(&ranking);
	} else if (na <= FB_RANK_EXACT && nb <= FB_RANK_EXACT) {
		ret = tied_p(&ranking, &result.p);
	} else {
		result.p = normal_p(&ranking);
		result.exact = false;
	}
	if (!ret)
		*out = result;
	return ret;
}

/* Bisection is quick enough, because each comparison calls it once. */
double fb_normal_point(double alpha)
{
	double low = 0, high = 40;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > alpha)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t fb_shift_ci_rank(size_t na, size_t nb, double alpha)
{
	double ways[HALF_CI + 1], below = 0;
	double a = (double)na, b = (double)nb;
	size_t half = na * nb / 2, k = 0;

	if (na == 0 || nb == 0)
		return 0;
	if (na > FB_RANK_EXACT_CI || nb > FB_RANK_EXACT_CI) {
		/* P(U <= k - 1) is about the probability of a normal value below k - 1/2. */
		double spread = sqrt(a * b * (a + b + 1) / 12);
		double rank = floor(a * b / 2 + 0.5 - fb_normal_point(alpha) * spread);

		return rank > 0 ? (size_t)rank : 0;
	}
	double allowed = alpha / 2 * all_orders(na, nb);

	count_orders(na, nb, half, ways);
	while (k <= half && below + ways[k] <= allowed)
		below += ways[k++];
	return k;
}

int fb_hodges_lehmann(const double *a, size_t na, const double *b, size_t nb, double alpha,
		      struct fb_shift *out)
{
	int ret = check_sets(a, na, b, nb);
	size_t pairs = na * nb;

	if (ret)
		return ret;
	if (!(alpha > 0 && alpha < 1))
		return fb_error(FB_EINPUT, "alpha is %g, accepted is more than 0 and less than 1",
				alpha);
	double *differences = nb > SIZE_MAX / 16 / na ? NULL : malloc(2 * pairs * sizeof(double));

	if (!differences)
		return fb_error(FB_ENOMEM, "no memory for %zu x %zu differences", na, nb);
	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
			differences[i * nb + j] = b[j] - a[i];
	fb_sort(differences, pairs, differences + pairs);
	size_t k = fb_shift_ci_rank(na, nb, alpha);

	out->shift = fb_sorted_median(differences, pairs);
	out->low = k > 0 ? differences[k - 1] : -(double)INFINITY;
	out->high = k > 0 ? differences[pairs - k] : (double)INFINITY;
	free(differences);
	return FB_OK;
}
