/* SPDX-License-Identifier: BSD-3-Clause */
/* The error that compressing makes; see compression.h. */
#include "overlap/compute/compression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/float8.h"
#include "common/base/rng.h"

/* Standard deviation of gradients: in the middle of what 8-bit floats hold. */
enum { COUNT = 8192, SEED = 26 };
static const double deviation = 0.05;

/* Box and Muller's. */
static double normal(struct fb_rng *rng)
{
	double u = 1 - fb_rng_unit(rng), v = fb_rng_unit(rng);

	return deviation * sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void to_type(enum fb_datatype type, double x, void *to)
{
	float value = (float)x;
	uint16_t half;
	uint8_t byte;

	switch (type) {
	case FB_F16:
	case FB_BF16:
		half = type == FB_F16 ? fb_narrow_f16(value) : fb_narrow_bf16(value);
		memcpy(to, &half, sizeof(half));
		break;
	case FB_F8E4M3:
	case FB_F8E5M2:
		byte = type == FB_F8E4M3 ? fb_narrow_e4m3(value) : fb_narrow_e5m2(value);
		memcpy(to, &byte, sizeof(byte));
		break;
	default:
		memcpy(to, &value, sizeof(value));
	}
}

static double from_type(enum fb_datatype type, const void *from)
{
	float value;
	uint16_t half;
	uint8_t byte;

	memcpy(&byte, from, sizeof(byte));
	memcpy(&half, from, fb_datatype_size(type) > 1 ? sizeof(half) : sizeof(byte));
	if (type == FB_F16 || type == FB_BF16)
		return (double)(type == FB_F16 ? fb_widen_f16(half) : fb_widen_bf16(half));
	if (type == FB_F8E4M3 || type == FB_F8E5M2)
		return (double)(type == FB_F8E4M3 ? fb_widen_e4m3(byte)
						  : fb_widen_e5m2(byte));
	memcpy(&value, from, sizeof(value));
	return (double)value;
}

double fb_cast_error(enum fb_datatype type, int nranks)
{
	double wrong = 0, all = 0;
	struct fb_rng rng;

	if (!fb_is_narrow_float(type))
		return 0;
	fb_rng_seed(&rng, SEED);
	for (int i = 0; i < COUNT; i++) {
		unsigned char sum[8] = {0}, next[8];
		double exact = 0;

		for (int r = 0; r < nranks; r++) {
			double x = normal(&rng);

			exact += x;
			to_type(type, x, r ? next : sum);
			if (r)
				fb_combine(type, FB_SUM)(sum, sum, next, 1);
		}
		wrong += pow(from_type(type, sum) - exact, 2);
		all += exact * exact;
	}
	return sqrt(wrong / all);
}

static int by_size(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x < y) - (x > y);
}

double fb_topk_error(double keep, int nranks)
{
	double *x = malloc(4 * COUNT * sizeof(*x)), *sorted = x + COUNT, *sum = x + 2 * COUNT;
	double *kept = x + 3 * COUNT, wrong = 0, all = 0;
	size_t k = keep * COUNT < 1 ? 1 : (size_t)(keep * COUNT);
	struct fb_rng rng;

	if (!x)
		return -1;
	fb_rng_seed(&rng, SEED);
	memset(sum, 0, 2 * COUNT * sizeof(*sum));
	for (int r = 0; r < nranks; r++) {
		double least;

		for (int i = 0; i < COUNT; i++)
			x[i] = normal(&rng);
		memcpy(sorted, x, COUNT * sizeof(*x));
		qsort(sorted, COUNT, sizeof(*sorted), by_size);
		least = fabs(sorted[k - 1]);
		for (int i = 0; i < COUNT; i++) {
			sum[i] += x[i];
			kept[i] += fabs(x[i]) >= least ? x[i] : 0;
		}
	}
	for (int i = 0; i < COUNT; i++) {
		wrong += pow(kept[i] - sum[i], 2);
		all += sum[i] * sum[i];
	}
	free(x);
	return sqrt(wrong / all);
}
