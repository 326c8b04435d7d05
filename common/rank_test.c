/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mann-Whitney's test and the Hodges-Lehmann shift; see rank_test.h.
 *
 * Exact p-values are counted by dynamic programming over doubled mid-ranks (integers even with
 * ties). All counts stay below C(40, 20) < 2^38, so doubles hold them exactly.
 */
#include "common/rank_test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/stats.h"

enum { MAX_POOLED = 2 * FB_RANK_EXACT, MAX_PAIRS = FB_RANK_EXACT * FB_RANK_EXACT };

/* What a walk over the pooled, sorted values finds. */
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
 * The share of the ways to choose na of the pooled values whose doubled rank sum is at least as
 * far from its mean, na * (N + 1), as the observed one. Sums run up to na * 2N.
 */
static int exact_p(const struct ranking *r, double *p)
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
	result.exact = na <= FB_RANK_EXACT && nb <= FB_RANK_EXACT;
	if (result.exact)
		ret = exact_p(&ranking, &result.p);
	else
		result.p = normal_p(&ranking);
	if (!ret)
		*out = result;
	return ret;
}

/*
 * ways[u] = how many of the C(na + nb, na) orders have U = u: the coefficients of the Gaussian
 * binomial, the product over i = 1 .. na of (1 - q^(nb + i)) / (1 - q^i).
 */
static void count_orders(size_t na, size_t nb, double ways[MAX_PAIRS + 1])
{
	size_t pairs = na * nb;

	memset(ways, 0, (pairs + 1) * sizeof(*ways));
	ways[0] = 1;
	for (size_t i = 1; i <= na; i++) {
		for (size_t u = pairs; u >= nb + i; u--)
			ways[u] -= ways[u - nb - i];
		for (size_t u = i; u <= pairs; u++)
			ways[u] += ways[u - i];
	}
}

/* The z with P(|Z| > z) = alpha, by bisection: called once per comparison, so speed is no aim. */
static double normal_point(double alpha)
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
	double ways[MAX_PAIRS + 1], all = 0, below = 0;
	size_t k = 0;

	if (na > FB_RANK_EXACT || nb > FB_RANK_EXACT) {
		double a = (double)na, b = (double)nb;
		double rank =
			floor(a * b / 2 - normal_point(alpha) * sqrt(a * b * (a + b + 1) / 12));

		return rank > 0 ? (size_t)rank : 0;
	}
	count_orders(na, nb, ways);
	for (size_t u = 0; u <= na * nb; u++)
		all += ways[u];
	while (k < na * nb && below + ways[k] <= alpha / 2 * all)
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
