/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, PAT (parallel aggregated trees): every block goes down a binomial tree of its own,
 * the far edges first, so that most of the traffic, which comes last, is between near ranks. It
 * is Bruck's scheme with its dimensions reversed.
 *
 * ceil(log2 n) rounds for any n, (n - 1)/n of the output sent per rank, in pieces of one block:
 * a round's blocks lie apart. The source limits how many blocks a round aggregates by the size
 * of its staging buffers; here the output itself holds them, so nothing limits it.
 *
 * The rank t places after a block's owner gets it from the one t - lowest_bit(t) places after,
 * in the round of that bit.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pat.h"

/* Block `owner` makes the step from `behind` to `behind + bit` places after its owner. */
static void give(struct fb_builder *b, int owner, int behind, int bit)
{
	int n = fb_nranks(b), from = (int)(((int64_t)owner + behind) % n);
	int to = (from + bit) % n;

	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)owner, 1),
		behind ? fb_chunk(from, FB_OUT, (uint32_t)owner, 1)
		       : fb_chunk(from, FB_IN, 0, 1));
}

/* This rank's part as giver or as taker in the steps [first, end) of a round. */
static void steps(struct fb_builder *b, int bit, int first, int end, bool giver)
{
	int n = fb_nranks(b);

	for (int behind = 2 * bit * first; first < end; first++, behind += 2 * bit) {
		int64_t owner = (int64_t)fb_self(b) - behind - (giver ? 0 : bit);

		give(b, (int)((owner + n) % n), behind, bit);
	}
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b), bit = 1;

	if (self < 0)
		return 0;
	fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)self, 1), fb_chunk(self, FB_IN, 0, 1));
	while (bit < n - bit)
		bit *= 2;
	for (; bit > 0 && n > 1; bit /= 2) {
		int count = fb_pat_steps(n, bit), early = fb_pat_early(self, bit, count);

		steps(b, bit, 0, early, true);
		steps(b, bit, 0, count, false);
		fb_round(b);
		steps(b, bit, early, count, true);
		fb_round(b);
	}
	return 0;
}

const struct fb_algorithm fb_all_gather_pat = {
	.name = "pat",
	.collective = FB_ALL_GATHER,
	.source = "Jeaugey 2025, arXiv 2506.20252; NCCL",
	.in_place = true,
	.build = build,
};
