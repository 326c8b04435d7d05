/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, reduce_scatter and gather (Rabenseifner): recursive halving leaves each rank with one
 * part of the result, and a binomial tree gathers the parts at the root.
 *
 * 2 log2 n - 1 steps; every rank sends and receives at most about two blocks in all, and the
 * additions are shared by all ranks. For large blocks.
 *
 * Halving begins with the neighbour, so that the largest messages travel least; the tree takes
 * the same pairs backwards. In the last pairs the halving's exchange and the tree's way back
 * would follow each other; one rank hands over both halves instead, which is a step and a message
 * less. Ranks are numbered from the root, and folded to a power of two.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/fold.h"

static uint32_t split(const struct fb_shape *shape)
{
	return shape->nranks > 1 ? (uint32_t)fb_fold_of(shape->nranks).n / 2 : 1;
}

static uint32_t scratch(const struct fb_shape *shape)
{
	(void)shape;
	return 1;
}

/* Units [first, first + n) of `buffer` of the rank that comes `place` ranks after the root. */
static struct fb_chunk chunk(const struct fb_builder *b, int place, enum fb_buffer buffer,
			     uint32_t first, uint32_t n)
{
	int rank = (int)(((int64_t)fb_root(b) + place) % fb_nranks(b));

	return fb_chunk(rank, buffer, first, n);
}

/* The sums of virtual rank v; the root's grow where the result shall be. */
static struct fb_chunk sums(const struct fb_builder *b, const struct fb_fold *fold, int v,
			    uint32_t first, uint32_t n)
{
	return chunk(b, fb_fold_rank(fold, v), v ? FB_SCRATCH : FB_OUT, first, n);
}

/* The units that virtual rank v is responsible for after the steps below `digit`. */
static uint32_t kept(const struct fb_fold *fold, int v, int digit, uint32_t *n)
{
	uint32_t first = 0;

	*n = (uint32_t)fold->n / 2;
	for (int d = 1; d < digit; d *= 2) {
		*n /= 2;
		if (v & d)
			first += *n;
	}
	return first;
}

/* The silent rank of a pair hands over its whole block. */
static void fold_pair(struct fb_builder *b, const struct fb_fold *fold, int v)
{
	uint32_t n = (uint32_t)fold->n / 2;

	fb_reduce(b, sums(b, fold, v, 0, n), chunk(b, 2 * v, FB_IN, 0, n),
		  chunk(b, 2 * v + 1, FB_IN, 0, n), FB_PARTIAL);
}

/* What v can give in the step of `digit`: its sums, or its input while there are none. */
static struct fb_chunk given(const struct fb_builder *b, const struct fb_fold *fold, int v,
			     int digit, uint32_t first, uint32_t n)
{
	if (digit == 1 && v >= fold->extra)
		return chunk(b, fb_fold_rank(fold, v), FB_IN, first, n);
	return sums(b, fold, v, first, n);
}

/* In the step of `digit` v reduces what it keeps; in the last step all that it has. */
static void reduce_at(struct fb_builder *b, const struct fb_fold *fold, int v, int digit)
{
	bool last = digit * 2 == fold->n;
	uint32_t n, first = kept(fold, v, last ? digit : digit * 2, &n);

	fb_reduce(b, sums(b, fold, v, first, n), given(b, fold, v, digit, first, n),
		  given(b, fold, v ^ digit, digit, first, n), last ? FB_COMPLETE : FB_PARTIAL);
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b), place = (self - fb_root(b) + n) % n;
	struct fb_fold fold = fb_fold_of(n);
	int v = fb_fold_virtual(&fold, place), half = fold.n / 2;

	if (self < 0)
		return 0;
	if (n == 1)
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
	if (place < 2 * fold.extra)
		fold_pair(b, &fold, place / 2);
	if (v < 0 || n == 1)
		return 0;
	for (int digit = 1; digit < half; digit *= 2) {
		fb_round(b);
		reduce_at(b, &fold, v, digit);
		reduce_at(b, &fold, v ^ digit, digit);
	}
	fb_round(b);
	reduce_at(b, &fold, v & ~half, half);
	for (int digit = half / 2; digit > 0 && v < digit * 2; digit /= 2) {
		uint32_t units, first = kept(&fold, v | digit, digit * 2, &units);

		fb_round(b);
		fb_copy(b, sums(b, &fold, v & ~digit, first, units),
			sums(b, &fold, v | digit, first, units));
	}
	return 0;
}

const struct fb_algorithm fb_reduce_reduce_scatter_gather = {
	.name = "reduce_scatter_gather",
	.collective = FB_REDUCE,
	.source = "Rabenseifner 2004",
	.in_place = true,
	.split = split,
	.scratch = scratch,
	.build = build,
};
