/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single elements of the test data, for kernels that make one per thread: the same values that
 * common/base/data_values.c makes in blocks of 64 (tests/unit/test_data_element.c compares all of
 * them). For C and for CUDA; the includer defines FB_ELEMENT, the attributes of the functions.
 *
 * A recipe made by fb_data_prepare() on the host is flattened into struct fb_element_recipe,
 * which holds no pointer and is passed to kernels by value.
 */
#ifndef FB_COMMON_CUDA_DATA_ELEMENT_H
#define FB_COMMON_CUDA_DATA_ELEMENT_H

#include "common/base/data_values.h"
#include "common/base/float16.h"
#include "common/base/float8.h"

#ifdef __CUDACC__
#define FB_ELEMENT static inline __host__ __device__
#else
#define FB_ELEMENT static inline
#endif

struct fb_element_recipe {
	uint64_t seed;     /* of the data */
	uint64_t seed_mix; /* fb_mix64(seed + golden ratio) */
	uint32_t key_mix;  /* low bits of fb_mix64(seed) */
	uint32_t nranks;
	uint32_t type, bytes, kind, average;
	uint32_t exponent_bits, fraction_bits;
	struct fb_data_terms terms, signs;
	struct fb_data_extremes extremes;
};

/* Whose element it is: a rank's input, or the reduction over all ranks. */
struct fb_element_source {
	uint32_t reduced, rank;
};

#ifndef __CUDACC__
/* Everything that kernels need to make the data. Pure. */
struct fb_element_recipe fb_element_prepare(const struct fb_data *data);
#endif

FB_ELEMENT uint64_t fb_element_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

FB_ELEMENT uint32_t fb_element_key(const struct fb_element_recipe *r, uint32_t id)
{
	const uint32_t mask = 0x7fffffffu;
	uint32_t x = (id + r->key_mix) & mask;

	x = (x * 0x2c1b3c6du) & mask;
	x ^= x >> 16;
	x = (x * 0x297a2d39u) & mask;
	x ^= x >> 15;
	x = (x * 0x5f356495u) & mask;
	x ^= x >> 16;
	return x << 1 | 1;
}

FB_ELEMENT uint32_t fb_element_base(const struct fb_element_recipe *r, uint64_t index)
{
	uint64_t key = fb_element_mix(r->seed_mix ^ (index / FB_DATA_BLOCK));
	uint32_t x = (uint32_t)key + (uint32_t)(index % FB_DATA_BLOCK) * 0x9e3779b9u;

	x = (x ^ (x >> 16)) * 0x7feb352du;
	x = (x ^ (x >> 15) ^ (uint32_t)(key >> 32)) * 0x846ca68bu;
	return x ^ (x >> 16);
}

FB_ELEMENT uint32_t fb_element_word32(uint32_t base, uint32_t key)
{
	uint32_t x = base * key;

	return x ^ (x >> 24);
}

/* A word of the type's width: 64 bits for 8-byte types but for exponents, else 32. */
FB_ELEMENT uint64_t fb_element_word(uint32_t base, uint32_t key, bool wide)
{
	uint64_t high = fb_element_word32(base, key);

	return wide ? high << 32 | fb_element_word32(base, key ^ 0x5bd1e994u) : high;
}

FB_ELEMENT uint32_t fb_element_draw(uint32_t base, uint32_t n)
{
	return (uint32_t)((uint64_t)base * n >> 32);
}

/* The value that a rank of residue class `residue` adds. */
FB_ELEMENT uint64_t fb_element_term(const struct fb_data_terms *t, uint32_t g, uint32_t base,
				    uint32_t residue, bool wide)
{
	uint32_t slot;

	if (!t->sparse)
		return (fb_element_word(base, t->keys[residue], wide) >> t->shift) - t->offset;
	slot = residue + fb_element_draw(base, t->periods[g]);
	slot = slot >= t->periods[g] ? slot - t->periods[g] : slot;
	if (slot >= t->slots[g])
		return 0;
	return slot & 1 ? ~(uint64_t)0 : 1;
}

/* The sum over all ranks: residue classes below n mod P have one rank more. */
FB_ELEMENT uint64_t fb_element_sum(const struct fb_data_terms *t, uint32_t g, uint32_t base,
				   uint32_t n, bool wide)
{
	uint32_t period = t->periods[g], rounds = n / period, rest = n % period;
	uint32_t classes = t->sparse ? t->slots[g] : n < period ? n : period;
	uint64_t sum = 0;

	for (uint32_t c = 0; c < classes; c++) {
		uint32_t residue = c;

		if (t->sparse) {
			residue = period - fb_element_draw(base, period) + c;
			residue = residue >= period ? residue - period : residue;
		}
		sum += fb_element_term(t, g, base, residue, wide) *
		       (uint64_t)(rounds + (residue < rest));
	}
	return sum;
}

FB_ELEMENT uint64_t fb_element_product(const struct fb_data_terms *t, uint32_t g, uint32_t base,
				       uint32_t n, bool wide)
{
	uint32_t period = t->periods[g], rounds = n / period, rest = n % period;
	uint64_t product = 1;

	for (uint32_t c = 0; c < period && c < n; c++) {
		uint64_t factor = fb_element_word(base, t->keys[c], wide) | 1;

		for (uint32_t k = 0; k < rounds + (c < rest); k++)
			product *= factor;
	}
	return product;
}

FB_ELEMENT uint64_t fb_element_extreme(const struct fb_element_recipe *r, uint32_t base,
				       struct fb_element_source from, bool wide)
{
	const struct fb_data_extremes *e = &r->extremes;
	uint64_t x;

	if (from.reduced || fb_element_draw(base, r->nranks) == from.rank)
		return (fb_element_word(base, e->best_key, wide) & e->best_keep) | e->best_set;
	x = fb_element_word(base, fb_element_key(r, from.rank), wide);
	return (x & e->other_keep) | e->other_set | ((x >> 1) & e->other_copy);
}

/* An element +-2^exponent; only the lowest bit of a sign counts. */
FB_ELEMENT uint64_t fb_element_power(const struct fb_element_recipe *r, uint32_t g, uint32_t base,
				     struct fb_element_source from)
{
	uint32_t bias = (1u << (r->exponent_bits - 1)) - 1, exponent, sign;

	if (from.reduced) {
		exponent = (uint32_t)fb_element_sum(&r->terms, g, base, r->nranks, false);
		sign = (uint32_t)fb_element_sum(&r->signs, g, base, r->nranks, false);
	} else {
		exponent = (uint32_t)fb_element_term(&r->terms, g, base,
						     from.rank % r->terms.periods[g], false);
		sign = (uint32_t)fb_element_term(&r->signs, g, base,
						 from.rank % r->signs.periods[g], false);
	}
	return (uint64_t)(sign & 1) << (r->bytes * 8 - 1) |
	       (uint64_t)(exponent + bias) << r->fraction_bits;
}

/* The integer's value as an element of the type, divided by the number of ranks for averages. */
FB_ELEMENT uint64_t fb_element_number(const struct fb_element_recipe *r, uint64_t value,
				      bool average)
{
	float narrow = (float)(int32_t)(uint32_t)value, n = (float)r->nranks;
	double wide = (double)(int64_t)value;
	uint64_t bits;

	switch (r->type) {
	case FB_F16:
		narrow = fb_widen_f16(fb_narrow_f16(narrow));
		return fb_narrow_f16(average ? narrow / n : narrow);
	case FB_BF16:
		narrow = fb_widen_bf16(fb_narrow_bf16(narrow));
		return fb_narrow_bf16(average ? narrow / n : narrow);
	case FB_F8E4M3:
		narrow = fb_widen_e4m3(fb_narrow_e4m3(narrow));
		return fb_narrow_e4m3(average ? narrow / n : narrow);
	case FB_F8E5M2:
		narrow = fb_widen_e5m2(fb_narrow_e5m2(narrow));
		return fb_narrow_e5m2(average ? narrow / n : narrow);
	case FB_F32:
		return fb_float_bits(average ? narrow / n : narrow);
	case FB_F64:
		wide = average ? wide / (double)r->nranks : wide;
		memcpy(&bits, &wide, sizeof(bits));
		return bits;
	default:
		break;
	}
	if (!average)
		return value;
	switch (r->type) {
	case FB_I8:
		return (uint64_t)((int8_t)value / (int)r->nranks);
	case FB_U8:
		return (uint8_t)value / r->nranks;
	case FB_I32:
		return (uint64_t)((int32_t)(uint32_t)value / (int)r->nranks);
	case FB_U32:
		return (uint32_t)value / r->nranks;
	case FB_I64:
		return (uint64_t)((int64_t)value / (int)r->nranks);
	default:
		return value / r->nranks;
	}
}

/* The element, in the low bits. */
FB_ELEMENT uint64_t fb_element_make(const struct fb_element_recipe *r,
				    struct fb_element_source from, uint64_t index)
{
	uint32_t base = fb_element_base(r, index);
	uint32_t g = (uint32_t)(index % FB_DATA_BLOCK) / (FB_DATA_BLOCK / FB_DATA_PERIODS);
	uint32_t n = r->nranks;
	bool wide = r->bytes == 8;
	uint64_t value;

	switch (r->kind) {
	case FB_DATA_BITS:
		return fb_element_word(base, fb_element_key(r, from.rank), wide);
	case FB_DATA_EXTREME:
		return fb_element_extreme(r, base, from, wide);
	case FB_DATA_POWER:
		return fb_element_power(r, g, base, from);
	case FB_DATA_PRODUCT:
		if (from.reduced)
			return fb_element_product(&r->terms, g, base, n, wide);
		return fb_element_term(&r->terms, g, base, from.rank % r->terms.periods[g], wide) |
		       1;
	default:
		break;
	}
	value = from.reduced ? fb_element_sum(&r->terms, g, base, n, wide)
			     : fb_element_term(&r->terms, g, base,
					       from.rank % r->terms.periods[g], wide);
	return fb_element_number(r, value, from.reduced && r->average);
}

#endif
