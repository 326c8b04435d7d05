/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter, PAT (parallel aggregated trees): every block is reduced up a binomial tree of
 * its own, the near edges first, so that most of the traffic is between near ranks. It is
 * all_gather's PAT backwards.
 *
 * ceil(log2 n) steps up to GROUP ranks, and log2 GROUP more for each further GROUP; (n - 1)/n of
 * the input sent per rank, in pieces of one block. As in the source, a tree is worked off a
 * group of leaves at a time, the farthest first, which bounds the messages under way on a link:
 * there by the size of the staging buffers, here by the slots, of which it needs GROUP/4.
 *
 * The rank t places after a block's owner gives its sum to the one t - lowest_bit(t) places
 * after.
 */
#include "collectives/algorithm/algorithm.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}

enum { GROUP = 16 };

/* The bit of the child whose sum place t gets first: the largest beyond its group, else 1. */
static int first_bit(int n, int t)
{
	int bit = 1;

	for (int far = GROUP; far < n - t && (t == 0 || far < (t & -t)); far *= 2) {
		bit = far;
		if (far > n / 2)
			break; /* doubling could overflow */
	}
	return bit;
}

/* Block `owner` makes the step from place `behind + bit` to place `behind` after its owner. */
static void give(struct fb_builder *b, int owner, int behind, int bit)
{
	int n = fb_nranks(b), to = (int)(((int64_t)owner + behind) % n), from = (to + bit) % n;
	bool leaf = bit == 1 || behind + bit + 1 >= n;
	bool last = behind == 0 && bit < GROUP && (bit == GROUP / 2 || bit >= n - bit);
	uint32_t block = (uint32_t)owner;
	struct fb_chunk own = fb_chunk(to, FB_IN, block, 1);
	struct fb_chunk sum = behind ? fb_chunk(to, FB_SCRATCH, block, 1)
				     : fb_chunk(to, FB_OUT, 0, 1);

	fb_reduce(b, sum, bit == first_bit(n, behind) ? own : sum,
		  fb_chunk(from, leaf ? FB_IN : FB_SCRATCH, block, 1),
		  last ? FB_COMPLETE : FB_PARTIAL);
}

/* What all ranks do at once: this one's part as giver and as taker. */
static void step(struct fb_builder *b, int behind, int bit)
{
	int n = fb_nranks(b), self = fb_self(b);

	give(b, (int)(((int64_t)self - behind - bit + n) % n), behind, bit);
	give(b, (self - behind + n) % n, behind, bit);
	fb_round(b);
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b);

	if (fb_self(b) < 0)
		return 0;
	if (n == 1)
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
	for (int group = (n - 1) / GROUP * GROUP; group >= 0; group -= GROUP) {
		int size = n - group < GROUP ? n - group : GROUP;

		for (int bit = 1; bit < size; bit *= 2)
			for (int behind = 0; behind + bit < size; behind += 2 * bit)
				step(b, group + behind, bit);
		if (group)
			step(b, group & (group - 1), group & -group);
	}
	return 0;
}

const struct fb_algorithm fb_reduce_scatter_pat = {
	.name = "pat",
	.collective = FB_REDUCE_SCATTER,
	.source = "Jeaugey 2025, arXiv 2506.20252; NCCL",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
