/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes test values in blocks of 64 elements, for common/base/data.h.
 *
 * An index has a hash, its base word, that does not depend on the rank. What a rank contributes
 * is a cheap function of that word and a key, chosen so that the result over all ranks has a
 * closed form:
 *
 *	movement  word(base, key of the rank): any bits.
 *	min, max  one rank, drawn by the base word, holds an extreme value; everybody else holds
 *	          a moderate one. The result is the extreme one, so the check finds
 *	          an engine that drops that rank's contribution.
 *	sum, avg  word(base, key of rank mod P) for a prime P, cut to so few bits that no partial
 *	          sum in any order is rounded (integer sums may wrap and are not cut; integer
 *	          averages are cut as long as one bit is left). The sum is that of P words, each
 *	          times the number of ranks that share it.
 *	          Where ranks are more than the exact integers of the type (bf16: 256, f8e4m3:
 *	          16, f8e5m2: 8), the contributions are sparse: at one index only ranks in a few
 *	          residue classes modulo a larger P add 1 or -1 in turn, everybody else 0.
 *	prod      integers: odd words by rank mod P, multiplied with wrap-around. Floats: powers
 *	          of two with sign, whose exponents are a sum as above, within the type's range.
 *
 * P takes four values in turn, every 16 elements, so that ranks which are equal modulo one
 * differ modulo another: any 64 elements in a row meet all four.
 */
#ifndef FB_COMMON_BASE_DATA_VALUES_H
#define FB_COMMON_BASE_DATA_VALUES_H

#include "common/base/data.h"

enum {
	FB_DATA_BLOCK = 64,	/* elements made at a time; aligned in the index */
	FB_DATA_PERIODS = 4,	/* values of P in a block */
	FB_DATA_MAX_SLOTS = 16, /* terms of a sum at most, whatever the number of ranks */
};

/* Numbers to be added over ranks. */
struct fb_data_terms {
	bool sparse;
	unsigned shift; /* dense: value = (word >> shift) - offset */
	uint64_t offset;
	uint32_t periods[FB_DATA_PERIODS];
	uint32_t slots[FB_DATA_PERIODS];  /* residue classes that contribute */
	uint32_t keys[FB_DATA_MAX_SLOTS]; /* of the residue classes, odd; dense only */
};

/* The bits of values for min and max: (x & keep) | set, and for `other` | (x >> 1 & copy). */
struct fb_data_extremes {
	uint64_t other_keep, other_set, other_copy;
	uint64_t best_keep, best_set;
	uint32_t best_key;
};

enum fb_data_kind { FB_DATA_BITS, FB_DATA_EXTREME, FB_DATA_SUM, FB_DATA_PRODUCT, FB_DATA_POWER };

/* All that follows from a struct fb_data alone; made once per call. */
struct fb_data_recipe {
	const struct fb_data *data; /* borrowed */
	uint32_t nranks;
	size_t bytes; /* of an element */
	enum fb_data_kind kind;
	struct fb_data_terms terms; /* numbers, factors, or exponents */
	struct fb_data_terms signs; /* of powers: parity of the sum */
	struct fb_data_extremes extremes;
};

void fb_data_prepare(const struct fb_data *data, struct fb_data_recipe *out);

/* Elements [64 * block, 64 * block + 64) of a rank's input. out: 512 bytes, 8-byte aligned. */
void fb_data_block(const struct fb_data_recipe *recipe, int rank, uint64_t block, void *out);

/* The same elements of the reduction over all ranks. */
void fb_data_block_reduced(const struct fb_data_recipe *recipe, uint64_t block, void *out);

#endif
