/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, recursive doubling: in each round partners twice as far apart exchange their whole
 * sums.
 *
 * log2 n steps and blocks sent per rank: for small blocks, where one_shot's fan-out is too wide.
 * Other numbers than powers of two are folded, which takes two more steps. Both partners add the
 * same two numbers, so the result is bitwise the same everywhere.
 *
 * A rank may not overwrite the sum that its partner still reads, so sums alternate between
 * scratch and output, such that the last one lands in the output. In place the input is the
 * output; where the first sum falls on it, the partner is shown a copy of the input.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/fold.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return shape->nranks > 1;
}

/* Where the sum of a round (-1: of folding) is kept. */
static enum fb_buffer kept(const struct fb_fold *fold, int round)
{
	return (fold->rounds - round) % 2 ? FB_OUT : FB_SCRATCH;
}

/* What virtual rank v adds in a round; what it shows its partner. */
static struct fb_chunk sum(const struct fb_builder *b, const struct fb_fold *fold, int v,
			   int round, bool shown)
{
	enum fb_buffer buffer = kept(fold, round - 1);

	if (round == 0 && v >= fold->extra && !(shown && fb_shape(b)->in_place))
		buffer = FB_IN;
	return fb_chunk(fb_fold_rank(fold, v), buffer, 0, 1);
}

/* Virtual rank v adds its partner's sum to its own, in order of rank. */
static void add(struct fb_builder *b, const struct fb_fold *fold, int v, int round)
{
	int q = v ^ 1 << round, low = v < q ? v : q, high = v ^ q ^ low;

	fb_reduce(b, fb_chunk(fb_fold_rank(fold, v), kept(fold, round), 0, 1),
		  sum(b, fold, low, round, low == q), sum(b, fold, high, round, high == q),
		  round == fold->rounds - 1 ? FB_COMPLETE : FB_PARTIAL);
}

static int build(struct fb_builder *b)
{
	struct fb_fold fold = fb_fold_of(fb_nranks(b));
	int self = fb_self(b), v = fb_fold_virtual(&fold, self);
	int acting = self < 2 * fold.extra ? self - self % 2 : self;

	if (self < 0)
		return 0;
	if (fb_nranks(b) == 1)
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
	else if (acting < 2 * fold.extra)
		fb_reduce(b, fb_chunk(acting, kept(&fold, -1), 0, 1),
			  fb_chunk(acting, FB_IN, 0, 1), fb_chunk(acting + 1, FB_IN, 0, 1),
			  FB_PARTIAL);
	else if (fb_shape(b)->in_place)
		fb_copy(b, fb_chunk(self, kept(&fold, -1), 0, 1), fb_chunk(self, FB_IN, 0, 1));
	for (int round = 0; round < fold.rounds; round++) {
		fb_round(b);
		if (v < 0)
			continue;
		add(b, &fold, v, round);
		add(b, &fold, v ^ 1 << round, round);
	}
	fb_round(b);
	if (acting < 2 * fold.extra)
		fb_copy(b, fb_chunk(acting + 1, FB_OUT, 0, 1), fb_chunk(acting, FB_OUT, 0, 1));
	return 0;
}

const struct fb_algorithm fb_all_reduce_recursive_doubling = {
	.name = "recursive_doubling",
	.collective = FB_ALL_REDUCE,
	.source = "Thakur, Rabenseifner, Gropp 2005; MPICH",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
