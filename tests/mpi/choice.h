/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cases a test of all algorithms and protocols runs where it cannot run all: counts, in place
 * or not, types, operations and roots.
 *
 * A stride over nested loops meets the loops' own lengths: every 18th of 9 counts, in place and
 * not, is always the same case, and the first one has no elements. So each pair of an algorithm and
 * a protocol walks through the combinations from a place of its own. Places are the fractions of
 * multiples of irrational numbers (the golden ratio and the roots of 2, 3 and 7, in 32 bits), a
 * number for each loop: such fractions fill their range evenly from the start, all of them together
 * (Weyl's equidistribution), and have no period that another loop's could be a multiple of. All of
 * it depends on what all ranks know, so that all choose alike.
 */
#ifndef FB_TESTS_CHOICE_H
#define FB_TESTS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/datatype.h"

enum {
	CHOICE_COUNTS = 9, /* odd: count and place together have a period of twice as many */
	CHOICE_PERIOD = CHOICE_COUNTS * 2 * FB_DATATYPES,
};

struct choice {
	int count; /* which of CHOICE_COUNTS; 0: no elements */
	bool in_place;
	enum fb_datatype type;
	enum fb_redop redop;
	uint32_t root; /* any number: take it modulo the ranks */
};

/* What the cases of a run were. */
struct coverage {
	uint64_t cases, data; /* those with elements */
	uint64_t of_count[CHOICE_COUNTS], of_type[FB_DATATYPES];
	uint64_t could[2], of_place[2]; /* in place could be chosen; was not, was */
};

/* Differs between jobs of different kinds, so that they run different cases. */
static inline uint32_t choice_seed(const char *transport, int nranks)
{
	uint32_t h = 2166136261u + (uint32_t)nranks; /* FNV-1a */

	for (; *transport; transport++)
		h = (h ^ (uint8_t)*transport) * 16777619u;
	return h;
}

/* The i-th of n places: floor(n * fraction(i * x)), x given as a fraction of 2^32. */
static inline uint32_t choice_place(uint32_t i, uint32_t x, uint32_t n)
{
	return (uint32_t)((uint64_t)(i * x) * n >> 32);
}

/* How many cases pair number `pair` runs if one of `every` is to run: of all counts and places. */
static inline int choice_cases(uint32_t pair, uint32_t seed, uint64_t every, bool in_place)
{
	uint64_t share = ((uint64_t)CHOICE_COUNTS * (in_place ? 2 : 1) << 32) / every;

	return (int)(share >> 32) + ((pair + seed) * 0x6a09e667u < (uint32_t)share);
}

/*
 * The draw-th combination of the `walk`-th pair that runs any. CHOICE_PERIOD draws are all there
 * are, and any 18 of them in a row have each count once in place and once not.
 */
static inline struct choice choice_draw(uint32_t walk, uint32_t seed, uint32_t draw)
{
	uint32_t i = walk + seed, more = (i * 0x85ebca6bu) ^ (draw + 1) * 0xc2b2ae35u;
	uint32_t count = choice_place(i, 0x9e3779b9u, CHOICE_COUNTS) + draw * 4;
	uint32_t in_place = choice_place(i, 0xa54ff53au, 2) + draw;
	uint32_t type = choice_place(i, 0xbb67ae85u, FB_DATATYPES) + draw * 5;

	more = (more ^ more >> 15) * 0x2c1b3c6du;
	more ^= more >> 13;
	return (struct choice){
		.count = (int)(count % CHOICE_COUNTS), .in_place = in_place % 2,
		.type = (enum fb_datatype)((type + draw / (2 * CHOICE_COUNTS)) % FB_DATATYPES),
		.redop = (enum fb_redop)(more % FB_REDOPS), .root = more >> 8,
	};
}

/* Notes a case that ran; `could`: it might have been in place. */
static inline void coverage_add(struct coverage *v, const struct choice *c, bool could)
{
	v->cases++;
	v->data += c->count != 0;
	v->of_count[c->count]++;
	v->of_type[c->type]++;
	v->could[could]++;
	v->of_place[c->in_place] += could;
}

/* Each of n values must have an eighth of its share at least, but where that is below two. */
static inline bool coverage_even(const uint64_t *of, int n, uint64_t cases)
{
	bool even = true;

	for (int i = 0; i < n; i++)
		even &= of[i] * 4 >= cases / 2 / (uint64_t)n;
	return even;
}

/* Whether the cases were a fair part of all; says what is missing. */
static inline bool coverage_good(const struct coverage *v)
{
	const char *what = NULL;

	if (!v->cases || v->data * 3 < v->cases * 2)
		what = "hardly any case has elements";
	else if (!coverage_even(v->of_count, CHOICE_COUNTS, v->cases))
		what = "a count hardly came up";
	else if (!coverage_even(v->of_type, FB_DATATYPES, v->cases))
		what = "a type hardly came up";
	else if (!coverage_even(v->of_place, 2, v->could[1]))
		what = "in place or not in place hardly came up";
	if (what)
		printf("\t%lu cases, %lu with elements: %s\n", (unsigned long)v->cases,
		       (unsigned long)v->data, what);
	return !what;
}

#endif
