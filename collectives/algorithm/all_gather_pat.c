/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, PAT (parallel aggregated trees): every block goes down a binomial tree of its own,
 * the far edges first, so that most of the traffic, which comes last, is between near ranks. It
 * is Bruck's scheme with its dimensions reversed.
 *
 * ceil(log2 n) steps for any n, (n - 1)/n of the output sent per rank, in pieces of one block:
 * a round's blocks lie apart. The source limits how many blocks a round aggregates by the size
 * of its staging buffers; here the output itself holds them, so nothing limits it.
 *
 * The rank t places after a block's owner gets it from the one t - lowest_bit(t) places after,
 * in the round of that bit.
 */
#include "collectives/algorithm/algorithm.h"

/* Block `owner` makes the step from `behind` to `behind + bit` places after its owner. */
static void give(struct fb_builder *b, int owner, int behind, int bit)
{
	int n = fb_nranks(b), from = (int)(((int64_t)owner + behind) % n);
	int to = (from + bit) % n;

	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)owner, 1),
		behind ? fb_chunk(from, FB_OUT, (uint32_t)owner, 1)
		       : fb_chunk(from, FB_IN, 0, 1));
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b), bit = 1;

	if (self < 0)
		return 0;
	fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)self, 1), fb_chunk(self, FB_IN, 0, 1));
	while (bit < n - bit)
		bit *= 2;
	for (; bit && n > 1; bit /= 2)
		for (int64_t behind = 0; behind + bit < n; behind += 2 * (int64_t)bit, fb_round(b)) {
			give(b, (int)((self - behind + n) % n), (int)behind, bit);
			give(b, (int)((self - behind - bit + n) % n), (int)behind, bit);
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
