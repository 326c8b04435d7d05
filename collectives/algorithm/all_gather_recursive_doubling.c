/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, recursive doubling: in each round partners twice as far apart exchange all that
 * they hold.
 *
 * log2 n steps, (n - 1)/n of the output sent per rank; always one contiguous piece. Other numbers
 * than powers of two are folded: two more steps, and the silent ranks get everything from their
 * neighbour as it comes in.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/fold.h"

static void give(struct fb_builder *b, int from, int to)
{
	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)from, 1), fb_chunk(from, FB_IN, 0, 1));
}

static int build(struct fb_builder *b)
{
	struct fb_butterfly butterfly = {
		.fold = fb_fold_of(fb_nranks(b)),
		.block_per_rank = true,
	};
	int self = fb_self(b);

	if (self < 0)
		return 0;
	give(b, self, self);
	if (self < 2 * butterfly.fold.extra) {
		give(b, self, self ^ 1);
		give(b, self ^ 1, self);
	}
	fb_butterfly_gather(b, &butterfly);
	return 0;
}

const struct fb_algorithm fb_all_gather_recursive_doubling = {
	.name = "recursive_doubling",
	.collective = FB_ALL_GATHER,
	.source = "Thakur, Rabenseifner, Gropp 2005; MPICH",
	.in_place = true,
	.build = build,
};
