/* SPDX-License-Identifier: BSD-3-Clause */
/* Test values in blocks; see data_values.h for how they are chosen and why they are exact. */
#include "common/base/data_values.h"

#include <assert.h>
#include <string.h>

#include "common/base/float16.h"
#include "common/base/float8.h"
#include "common/base/rng.h"

enum {
	GROUP = FB_DATA_BLOCK / FB_DATA_PERIODS, /* elements that share one period */
	FEWEST_PERIOD = 5,
	/* Ids of keys: ranks and classes of numbers from 0, classes of signs, extreme values. */
	KEY_RANK = 0,
	KEY_SIGN = 0x40000000,
	KEY_BEST = 0x7fffffff,
};

/* Values up to this are exact (sums), or exponents up to this in range (products). */
static const struct {
	unsigned bits, exponent_bits, fraction_bits;
	bool is_signed;
	uint64_t exact, exponent;
} kinds[FB_DATATYPES] = {
	[FB_I8] = {.bits = 8, .is_signed = true, .exact = INT8_MAX},
	[FB_U8] = {.bits = 8, .exact = UINT8_MAX},
	[FB_I32] = {.bits = 32, .is_signed = true, .exact = INT32_MAX},
	[FB_U32] = {.bits = 32, .exact = UINT32_MAX},
	[FB_I64] = {.bits = 64, .is_signed = true, .exact = INT64_MAX},
	[FB_U64] = {.bits = 64, .exact = UINT64_MAX},
	[FB_F16] = {16, 5, 10, true, UINT64_C(1) << 11, 14},
	[FB_BF16] = {16, 8, 7, true, UINT64_C(1) << 8, 126},
	[FB_F32] = {32, 8, 23, true, UINT64_C(1) << 24, 126},
	[FB_F64] = {64, 11, 52, true, UINT64_C(1) << 53, 1022},
	[FB_F8E4M3] = {8, 4, 3, true, UINT64_C(1) << 4, 6},
	[FB_F8E5M2] = {8, 5, 2, true, UINT64_C(1) << 3, 14},
};

/* Odd keys that are all different for ids below 2^31: bijections of 31-bit numbers in a row. */
static uint32_t key_of(uint64_t seed, uint32_t id)
{
	const uint32_t mask = 0x7fffffffu;
	uint32_t x = (id + (uint32_t)fb_mix64(seed)) & mask;

	x = (x * 0x2c1b3c6du) & mask;
	x ^= x >> 16;
	x = (x * 0x297a2d39u) & mask;
	x ^= x >> 15;
	x = (x * 0x5f356495u) & mask;
	x ^= x >> 16;
	return x << 1 | 1;
}

/* The words that do not depend on the rank. */
static void make_base(uint64_t seed, uint64_t block, uint32_t base[FB_DATA_BLOCK])
{
	uint64_t key = fb_mix64(fb_mix64(seed + 0x9e3779b97f4a7c15u) ^ block);
	uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);

	for (uint32_t i = 0; i < FB_DATA_BLOCK; i++) {
		uint32_t x = low + i * 0x9e3779b9u;

		x = (x ^ (x >> 16)) * 0x7feb352du;
		x = (x ^ (x >> 15) ^ high) * 0x846ca68bu;
		base[i] = x ^ (x >> 16);
	}
}

/*
 * Keys that differ at all give products that differ in the upper bits; the shift lets narrow
 * types, which keep the low bits, see that.
 */
static inline uint32_t word32(uint32_t base, uint32_t key)
{
	uint32_t x = base * key;

	return x ^ (x >> 24);
}

static inline uint64_t word64(uint32_t base, uint32_t key)
{
	return (uint64_t)word32(base, key) << 32 | word32(base, key ^ 0x5bd1e994u);
}

/* A number below n, drawn by the base word. */
static inline uint32_t draw(uint32_t base, uint32_t n)
{
	return (uint32_t)((uint64_t)base * n >> 32);
}

#define WORD	    uint32_t
#define LANES(name) name##32
#include "common/base/data_lanes.h"

#define WORD	    uint64_t
#define LANES(name) name##64
#include "common/base/data_lanes.h"

static bool is_prime(uint32_t x)
{
	for (uint32_t d = 2; d * d <= x; d++)
		if (x % d == 0)
			return false;
	return true;
}

/* Whole words: sums that may wrap. */
static void full_terms(uint64_t seed, uint32_t first_key, struct fb_data_terms *out)
{
	static const uint32_t primes[FB_DATA_PERIODS] = {5, 7, 11, 13};

	*out = (struct fb_data_terms){0};
	for (uint32_t i = 0; i < FB_DATA_PERIODS; i++)
		out->periods[i] = out->slots[i] = primes[i];
	for (uint32_t i = 0; i < FB_DATA_MAX_SLOTS; i++)
		out->keys[i] = key_of(seed, first_key + i);
}

/*
 * Few enough classes with a contribution of 1 that their ranks, those of either sign, stay
 * within the budget: ceil(slots / 2) * ceil(n / P) <= budget.
 */
static void sparse_terms(uint64_t budget, uint32_t n, struct fb_data_terms *out)
{
	assert(budget > 0);
	uint64_t period = (2 * (uint64_t)n + budget - 1) / budget;

	*out = (struct fb_data_terms){.sparse = true};
	if (period < FEWEST_PERIOD)
		period = FEWEST_PERIOD;
	for (size_t g = 0; g < FB_DATA_PERIODS; g++, period++) {
		while (!is_prime((uint32_t)period))
			period++;
		uint64_t ranks = 1 + (n - 1) / period;
		uint64_t slots = 2 * (budget / ranks);

		if (slots > FB_DATA_MAX_SLOTS)
			slots = FB_DATA_MAX_SLOTS;
		out->periods[g] = (uint32_t)period;
		out->slots[g] = (uint32_t)(slots < period ? slots : period);
	}
}

/*
 * Terms whose partial sums over n ranks stay within +-budget: words cut to `keep` bits, that is
 * values in [-2^(keep-1), 2^(keep-1)) or, for unsigned types, [0, 2^keep). n <= budget.
 */
static void bounded_terms(uint64_t seed, uint64_t budget, uint32_t n, bool is_signed,
			  unsigned word_bits, struct fb_data_terms *out)
{
	uint64_t largest = budget / n;
	unsigned keep = 1;

	full_terms(seed, KEY_RANK, out);
	/* One bit more doubles the range: up to 2^keep of either sign, or 2^(keep + 1) - 1. */
	while (keep < word_bits &&
	       (is_signed ? UINT64_C(1) << keep : UINT64_MAX >> (63 - keep)) <= largest)
		keep++;
	out->shift = word_bits - keep;
	out->offset = is_signed ? UINT64_C(1) << (keep - 1) : 0;
}

static void float_terms(uint64_t seed, uint64_t budget, uint32_t n, unsigned word_bits,
			struct fb_data_terms *out)
{
	if (n > budget)
		sparse_terms(budget, n, out);
	else
		bounded_terms(seed, budget, n, true, word_bits, out);
}

static void make_extremes(const struct fb_data *data, struct fb_data_extremes *out)
{
	unsigned bits = kinds[data->type].bits;
	bool min = data->op == FB_MIN;

	*out = (struct fb_data_extremes){.best_key = key_of(data->seed, KEY_BEST)};
	if (kinds[data->type].exponent_bits > 0) {
		/* Sign and the exponent's first two bits: 01 is moderate, 10 is far out. */
		out->other_keep = ~(UINT64_C(3) << (bits - 3));
		out->other_set = UINT64_C(1) << (bits - 3);
		out->best_keep = ~(UINT64_C(7) << (bits - 3));
		out->best_set = (min ? UINT64_C(6) : UINT64_C(2)) << (bits - 3);
	} else if (kinds[data->type].is_signed) {
		/* The upper two bits: 00 and 11 are moderate, 01 and 10 far out. */
		out->other_copy = UINT64_C(1) << (bits - 2);
		out->other_keep = ~out->other_copy;
		out->best_keep = ~(UINT64_C(3) << (bits - 2));
		out->best_set = (min ? UINT64_C(2) : UINT64_C(1)) << (bits - 2);
	} else {
		uint64_t top = UINT64_C(1) << (bits - 1);

		out->other_keep = out->best_keep = ~top;
		out->other_set = min ? top : 0;
		out->best_set = min ? 0 : top;
	}
}

void fb_data_prepare(const struct fb_data *data, struct fb_data_recipe *out)
{
	bool is_float = kinds[data->type].exponent_bits > 0;
	bool is_signed = kinds[data->type].is_signed;
	unsigned word_bits = kinds[data->type].bits == 64 ? 64 : 32;
	uint64_t exact = kinds[data->type].exact;
	uint32_t n = data->nranks > 0 ? (uint32_t)data->nranks : 1;

	memset(out, 0, sizeof(*out));
	out->data = data;
	out->nranks = n;
	out->bytes = kinds[data->type].bits / 8;
	if (!data->reduces) {
		out->kind = FB_DATA_BITS;
	} else if (data->op == FB_MIN || data->op == FB_MAX) {
		out->kind = FB_DATA_EXTREME;
		make_extremes(data, &out->extremes);
	} else if (data->op == FB_PROD && is_float) {
		out->kind = FB_DATA_POWER;
		float_terms(data->seed, kinds[data->type].exponent, n, 32, &out->terms);
		full_terms(data->seed, KEY_SIGN, &out->signs);
	} else if (data->op == FB_PROD) {
		out->kind = FB_DATA_PRODUCT;
		full_terms(data->seed, KEY_RANK, &out->terms);
	} else {
		out->kind = FB_DATA_SUM;
		if (is_float)
			float_terms(data->seed, exact, n, word_bits, &out->terms);
		else if (data->op == FB_AVG && exact >= n)
			bounded_terms(data->seed, exact, n, is_signed, word_bits, &out->terms);
		else
			full_terms(data->seed, KEY_RANK, &out->terms);
	}
}

/* Words to elements: the low bits, or, where `number`, the signed integer's value. */
static void store32(const struct fb_data_recipe *recipe, const uint32_t *words, void *out)
{
	enum fb_datatype type = recipe->data->type;
	bool number = recipe->kind == FB_DATA_SUM;
	uint8_t *u8 = out;
	uint16_t *u16 = out;
	float *f32 = out;

	if (type == FB_F32 && number)
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			f32[i] = (float)(int32_t)words[i];
	else if (type == FB_F8E4M3 && number)
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			u8[i] = fb_narrow_e4m3((float)(int32_t)words[i]);
	else if (type == FB_F8E5M2 && number)
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			u8[i] = fb_narrow_e5m2((float)(int32_t)words[i]);
	else if (recipe->bytes == 4)
		memcpy(out, words, FB_DATA_BLOCK * sizeof(*words));
	else if (recipe->bytes == 1)
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			u8[i] = (uint8_t)words[i];
	else if (!number)
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			u16[i] = (uint16_t)words[i];
	else if (type == FB_F16)
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			u16[i] = fb_narrow_f16((float)(int32_t)words[i]);
	else
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			u16[i] = fb_narrow_bf16((float)(int32_t)words[i]);
}

static void store64(const struct fb_data_recipe *recipe, const uint64_t *words, void *out)
{
	double *f64 = out;

	if (recipe->data->type == FB_F64 && recipe->kind == FB_DATA_SUM)
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			f64[i] = (double)(int64_t)words[i];
	else
		memcpy(out, words, FB_DATA_BLOCK * sizeof(*words));
}

/* Elements +-2^exponent from 32-bit lanes; only the lowest bit of a sign counts. */
static void store_powers(const struct fb_data_recipe *recipe, const uint32_t *exponents,
			 const uint32_t *signs, void *out)
{
	unsigned bits = kinds[recipe->data->type].bits;
	unsigned fraction = kinds[recipe->data->type].fraction_bits;
	uint32_t bias = (1u << (kinds[recipe->data->type].exponent_bits - 1)) - 1;
	uint32_t narrow[FB_DATA_BLOCK];
	uint64_t wide[FB_DATA_BLOCK];

	if (bits == 64) {
		for (size_t i = 0; i < FB_DATA_BLOCK; i++)
			wide[i] = ((uint64_t)signs[i] << 63) |
				  ((uint64_t)(exponents[i] + bias) << fraction);
		store64(recipe, wide, out);
		return;
	}
	for (size_t i = 0; i < FB_DATA_BLOCK; i++)
		narrow[i] = ((signs[i] & 1) << (bits - 1)) | ((exponents[i] + bias) << fraction);
	store32(recipe, narrow, out);
}

static void block32(const struct fb_data_recipe *recipe, const uint32_t *base, uint32_t rank,
		    void *out)
{
	const struct fb_data *data = recipe->data;
	uint32_t key = key_of(data->seed, KEY_RANK + rank);
	uint32_t words[FB_DATA_BLOCK], signs[FB_DATA_BLOCK];

	if (recipe->kind == FB_DATA_BITS)
		words32(base, key, words);
	else if (recipe->kind == FB_DATA_EXTREME)
		extreme32(&recipe->extremes, base, key, rank, recipe->nranks, words);
	else
		term32(&recipe->terms, base, rank, words);
	if (recipe->kind == FB_DATA_POWER) {
		term32(&recipe->signs, base, rank, signs);
		store_powers(recipe, words, signs, out);
		return;
	}
	for (size_t i = 0; i < FB_DATA_BLOCK; i++)
		words[i] |= recipe->kind == FB_DATA_PRODUCT;
	store32(recipe, words, out);
}

static void block64(const struct fb_data_recipe *recipe, const uint32_t *base, uint32_t rank,
		    void *out)
{
	const struct fb_data *data = recipe->data;
	uint32_t key = key_of(data->seed, KEY_RANK + rank);
	uint64_t words[FB_DATA_BLOCK];

	if (recipe->kind == FB_DATA_BITS)
		words64(base, key, words);
	else if (recipe->kind == FB_DATA_EXTREME)
		extreme64(&recipe->extremes, base, key, rank, recipe->nranks, words);
	else
		term64(&recipe->terms, base, rank, words);
	for (size_t i = 0; i < FB_DATA_BLOCK; i++)
		words[i] |= recipe->kind == FB_DATA_PRODUCT;
	store64(recipe, words, out);
}

void fb_data_block(const struct fb_data_recipe *recipe, int rank, uint64_t block, void *out)
{
	uint32_t base[FB_DATA_BLOCK];

	make_base(recipe->data->seed, block, base);
	if (recipe->bytes == 8 && recipe->kind != FB_DATA_POWER)
		block64(recipe, base, (uint32_t)rank, out);
	else
		block32(recipe, base, (uint32_t)rank, out);
}

void fb_data_block_reduced(const struct fb_data_recipe *recipe, uint64_t block, void *out)
{
	const struct fb_data *data = recipe->data;
	uint32_t base[FB_DATA_BLOCK], words[FB_DATA_BLOCK], signs[FB_DATA_BLOCK];
	uint64_t wide[FB_DATA_BLOCK];
	uint32_t n = recipe->nranks;
	fb_finish_fn finish = fb_finish(data->type, data->op);
	bool is_wide = recipe->bytes == 8;

	make_base(data->seed, block, base);
	if (recipe->kind == FB_DATA_POWER) {
		sum32(&recipe->terms, base, n, words);
		sum32(&recipe->signs, base, n, signs);
		store_powers(recipe, words, signs, out);
	} else if (is_wide) {
		if (recipe->kind == FB_DATA_EXTREME)
			best64(&recipe->extremes, base, wide);
		else if (recipe->kind == FB_DATA_PRODUCT)
			product64(&recipe->terms, base, n, wide);
		else
			sum64(&recipe->terms, base, n, wide);
		store64(recipe, wide, out);
	} else {
		if (recipe->kind == FB_DATA_EXTREME)
			best32(&recipe->extremes, base, words);
		else if (recipe->kind == FB_DATA_PRODUCT)
			product32(&recipe->terms, base, n, words);
		else
			sum32(&recipe->terms, base, n, words);
		store32(recipe, words, out);
	}
	if (finish)
		finish(out, FB_DATA_BLOCK, (int)n);
}
