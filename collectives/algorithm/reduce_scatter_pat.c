/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter, PAT (parallel aggregated trees): every block is reduced up a binomial tree of
 * its own, the near edges first, so that most of the traffic is between near ranks. It is
 * all_gather's PAT backwards; see there for what a round is.
 *
 * ceil(log2 n) rounds for any n, (n - 1)/n of the input sent per rank, in pieces of one block. The
 * source limits how many sums are under way by the size of its staging buffers; here each block
 * has room of its own, so nothing limits it.
 *
 * The rank t places after a block's owner gives its sum to the one t - lowest_bit(t) places
 * after, in the round of that bit. Rounds go through the blocks forwards and backwards in turn:
 * lowering would else move many of a round's sends into the round before, more than slots hold.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pat.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}

/* Block `owner` makes the step from place `behind + bit` to place `behind` after its owner. */
static void give(struct fb_builder *b, int owner, int behind, int bit)
{
	int n = fb_nranks(b), to = (int)(((int64_t)owner + behind) % n), from = (to + bit) % n;
	bool leaf = bit == 1 || behind + bit + 1 >= n, first = bit == 1;
	uint32_t block = (uint32_t)owner;
	struct fb_chunk own = fb_chunk(to, FB_IN, block, 1);
	struct fb_chunk sum = behind ? fb_chunk(to, FB_SCRATCH, block, 1)
				     : fb_chunk(to, FB_OUT, 0, 1);

	fb_reduce(b, sum, first ? own : sum,
		  fb_chunk(from, leaf ? FB_IN : FB_SCRATCH, block, 1),
		  behind == 0 && bit >= n - bit ? FB_COMPLETE : FB_PARTIAL);
}

/* This rank's part as giver or as taker in the steps [first, end) of a round. */
static void steps(struct fb_builder *b, int bit, int first, int end, bool backwards, bool giver)
{
	int n = fb_nranks(b), count = fb_pat_steps(n, bit);

	for (int i = first; i < end; i++) {
		int behind = 2 * bit * (backwards ? count - 1 - i : i);
		int64_t owner = (int64_t)fb_self(b) - behind - (giver ? bit : 0);

		give(b, (int)((owner + n) % n), behind, bit);
	}
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);
	bool backwards = false;

	if (self < 0)
		return 0;
	if (n == 1)
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
	for (int bit = 1, left = n - 1; left > 0; bit *= 2, left /= 2, backwards = !backwards) {
		int count = fb_pat_steps(n, bit), early = fb_pat_early(self, bit, count);

		steps(b, bit, 0, early, backwards, true);
		steps(b, bit, 0, count, backwards, false);
		fb_round(b);
		steps(b, bit, early, count, backwards, true);
		fb_round(b);
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
