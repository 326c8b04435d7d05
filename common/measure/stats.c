/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order statistics of one row's repetitions; see stats.h.
 *
 * The summary is made while ranks wait for the root's decision to go on or stop, so it must cost
 * microseconds: one radix sort (comparing times costs a mispredicted branch each), everything
 * else in linear time.
 */
#include "common/measure/stats.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/rank_test.h"

/* Makes the MAD of normally distributed samples estimate their standard deviation. */
static const double mad_to_sigma = 1.4826;
static const double outlier_sigmas = 5;
/* Two-sided 95% point of the normal distribution. */
static const double z_95 = 1.96;
/* Autocorrelation up to this is taken for independence. */
static const double rho_floor = 0.1;

enum {
	RADIX_SAMPLES = 80,
	BYTE_VALUES = 256,
	EXACT_CI_SAMPLES = 50,
	MIN_DRIFT_SAMPLES = 15
};

static void insertion_sort(double *x, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		double value = x[i];
		size_t j = i;

		for (; j > 0 && x[j - 1] > value; j--)
			x[j] = x[j - 1];
		x[j] = value;
	}
}

/* A number whose unsigned order is the order of the values. */
static uint64_t order_key(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits ^ (bits >> 63 ? UINT64_MAX : UINT64_C(1) << 63);
}

/* Radix sort, a byte at a time from the lowest; bytes in which all values agree are skipped. */
void fb_sort(double *x, size_t n, double *tmp)
{
	size_t counts[sizeof(double)][BYTE_VALUES] = {{0}};
	double *from = x, *to = tmp;

	if (n < RADIX_SAMPLES) {
		insertion_sort(x, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t key = order_key(x[i]);

		for (size_t byte = 0; byte < sizeof(key); byte++)
			counts[byte][key >> (8 * byte) & 0xff]++;
	}
	for (size_t byte = 0; byte < sizeof(double); byte++) {
		size_t *next = counts[byte], before = 0;

		if (next[order_key(x[0]) >> (8 * byte) & 0xff] == n)
			continue;
		for (size_t value = 0; value < BYTE_VALUES; value++) {
			size_t count = next[value];

			next[value] = before;
			before += count;
		}
		for (size_t i = 0; i < n; i++)
			to[next[order_key(from[i]) >> (8 * byte) & 0xff]++] = from[i];
		double *swap = from;

		from = to;
		to = swap;
	}
	if (from != x)
		memcpy(x, from, n * sizeof(*x));
}

double fb_sorted_median(const double *sorted, size_t n)
{
	if (n == 0)
		return (double)NAN;
	if (n % 2 == 1)
		return sorted[n / 2];
	return sorted[n / 2 - 1] + (sorted[n / 2] - sorted[n / 2 - 1]) / 2;
}

double fb_median(const double *x, size_t n, double *scratch)
{
	if (n == 0)
		return (double)NAN;
	memcpy(scratch, x, n * sizeof(*x));
	fb_sort(scratch, n, scratch + n);
	return fb_sorted_median(scratch, n);
}

double fb_sorted_quantile(const double *sorted, size_t n, double q)
{
	if (n == 0)
		return (double)NAN;
	/* n * q may come out a rounding error above the integer that it is. */
	double rank = ceil((double)n * q * (1 - 1e-12));

	if (rank < 1)
		rank = 1;
	if (rank > (double)n)
		rank = (double)n;
	return sorted[(size_t)rank - 1];
}

/* The largest k with 2 * P(X <= k - 1) <= 0.05 for X binomial(n, 1/2); 0 if there is none. */
static size_t binomial_rank(size_t n)
{
	double term = ldexp(1, -(int)n), below = term;
	size_t k = 0;

	while (2 * below <= 0.05) {
		k++;
		term *= (double)(n - k + 1) / (double)k;
		below += term;
	}
	return k;
}

bool fb_median_ci_ranks(size_t n, double n_eff, size_t *lo, size_t *hi)
{
	if (n < FB_MIN_SAMPLES_CI || !(n_eff >= FB_MIN_SAMPLES_CI))
		return false;
	double count = (double)n, middle = (count + 1) / 2;
	double low = n <= EXACT_CI_SAMPLES ? (double)binomial_rank(n)
					   : floor((count - z_95 * sqrt(count)) / 2);

	if (n_eff < count)
		low = floor(middle - (middle - low) * sqrt(count / n_eff));
	if (low < 1)
		low = 1;
	*lo = (size_t)low;
	*hi = n + 1 - *lo;
	return true;
}

double fb_autocorrelation(const double *x, size_t n)
{
	double mean = 0, square = 0, product = 0;

	if (n < 3)
		return 0;
	for (size_t i = 0; i < n; i++)
		mean += (x[i] - x[0]) / (double)n;
	mean += x[0];
	for (size_t i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean);
	for (size_t i = 1; i < n; i++)
		product += (x[i] - mean) * (x[i - 1] - mean);
	return square > 0 ? product / square : 0;
}

/*
 * Median of the distances to the median. Going outwards from the middle, those to the left and
 * those to the right are sorted; half of their merge is enough.
 */
static double deviation_median(const double *sorted, size_t n, double median, double *tmp)
{
	size_t left = n / 2, right = left; /* left: how many are left; right: the next one */

	for (size_t i = 0; i <= n / 2; i++) {
		double below = left > 0 ? median - sorted[left - 1] : (double)INFINITY;
		double above = right < n ? sorted[right] - median : (double)INFINITY;
		size_t take_left = below < above;

		tmp[i] = below < above ? below : above;
		left -= take_left;
		right += 1 - take_left;
	}
	return fb_sorted_median(tmp, n);
}

static void take_quantiles(const double *sorted, size_t n, struct fb_summary *out)
{
	if (n >= FB_MIN_SAMPLES_P95) {
		out->p05 = fb_sorted_quantile(sorted, n, 0.05);
		out->p95 = fb_sorted_quantile(sorted, n, 0.95);
	}
	if (n >= FB_MIN_SAMPLES_P99)
		out->p99 = fb_sorted_quantile(sorted, n, 0.99);
}

/*
 * When more than half of the samples are equal (a coarse clock) the MAD is 0 and gives no scale;
 * then any sample above the median by more than a rounding error counts as an outlier, and
 * nothing is pulled in before the autocorrelation is taken.
 */
static void take_dependence(const double *x, size_t n, double *tmp, struct fb_summary *out)
{
	double reach = outlier_sigmas * mad_to_sigma * out->mad;
	double fence = out->mad > 0 ? reach : 1e-9 * fabs(out->median);

	for (size_t i = 0; i < n; i++) {
		double away = x[i] - out->median;

		out->outliers += away > fence;
		if (out->mad > 0)
			away = away > reach ? reach : away < -reach ? -reach : away;
		tmp[i] = away;
	}
	out->rho = fb_autocorrelation(tmp, n);
	if (out->rho > rho_floor)
		out->n_eff = (double)n * (1 - out->rho) / (1 + out->rho);
}

int fb_summarise(const double *x, size_t n, double *scratch, struct fb_summary *out)
{
	const double none = (double)NAN;
	struct fb_summary s = {
		.n = n,
		.min = none,
		.max = none,
		.mean = none,
		.median = none,
		.median_low = none,
		.median_high = none,
		.p05 = none,
		.p95 = none,
		.p99 = none,
		.mad = none,
		.rho = none,
		.n_eff = (double)n,
	};
	double *sorted = scratch, *tmp = scratch + n;
	size_t lo, hi;

	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return fb_error(FB_EINPUT, "sample %zu of %zu is %g, not a finite number",
					i + 1, n, x[i]);
	if (n > 0) {
		memcpy(sorted, x, n * sizeof(*x));
		fb_sort(sorted, n, tmp);
		s.min = sorted[0];
		s.max = sorted[n - 1];
		s.mean = 0;
		for (size_t i = 0; i < n; i++)
			s.mean += sorted[i] / (double)n;
		s.median = fb_sorted_median(sorted, n);
		s.mad = deviation_median(sorted, n, s.median, tmp);
		take_quantiles(sorted, n, &s);
		take_dependence(x, n, tmp, &s);
		if (fb_median_ci_ranks(n, s.n_eff, &lo, &hi)) {
			s.median_low = sorted[lo - 1];
			s.median_high = sorted[hi - 1];
		}
	}
	*out = s;
	return FB_OK;
}

double fb_ci_half_width(const struct fb_summary *summary)
{
	if (isnan(summary->median_low) || isnan(summary->median_high))
		return (double)INFINITY;
	double below = summary->median - summary->median_low;
	double above = summary->median_high - summary->median;
	double half = fmax(below, above);

	if (half <= 0)
		return 0;
	return half / fabs(summary->median);
}

int fb_drift(const double *x, size_t n, double eps, double *scratch)
{
	struct fb_mann_whitney test;
	size_t third = n / 3;
	const double *last = x + (n - third);

	if (n < MIN_DRIFT_SAMPLES)
		return 0;
	double before = fb_median(x, third, scratch);
	double after = fb_median(last, third, scratch);
	int ret = fb_mann_whitney(x, third, last, third, &test);

	if (ret)
		return ret;
	return fabs(after - before) > 2 * eps * fmin(fabs(before), fabs(after)) && test.p < 0.01;
}
