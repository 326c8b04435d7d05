/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, direct: every rank sends its block to all others at once.
 *
 * 1 step, (n - 1)/n of the output sent per rank, all from one reading of the block. The best
 * where all ranks reach all others equally well.
 */
#include "collectives/algorithm/algorithm.h"

static void give(struct fb_builder *b, int from, int to)
{
	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)from, 1), fb_chunk(from, FB_IN, 0, 1));
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);

	if (self < 0)
		return 0;
	give(b, self, self);
	/* Each rank begins with its neighbour, so that no receiver is everybody's first. */
	for (int i = 1; i < n; i++) {
		give(b, self, (self + i) % n);
		give(b, (self - i + n) % n, self);
	}
	return 0;
}

const struct fb_algorithm fb_all_gather_direct = {
	.name = "direct",
	.collective = FB_ALL_GATHER,
	.source = "MPI libraries' linear all_gather; MSCCL++ all-pairs",
	.in_place = true,
	.build = build,
};
