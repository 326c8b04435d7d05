/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter, recursive halving: partners half as far apart in each round exchange the half
 * of their sums that the other is responsible for.
 *
 * log2 n steps, (n - 1)/n of the input sent per rank; always one contiguous piece. Other numbers
 * than powers of two are folded: a silent rank first gives all its input to its neighbour and at
 * the end gets its block from there.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/fold.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}

static int build(struct fb_builder *b)
{
	struct fb_butterfly butterfly = {
		.fold = fb_fold_of(fb_nranks(b)),
		.block_per_rank = true,
	};

	if (fb_nranks(b) == 1) {
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
		return 0;
	}
	fb_butterfly_reduce(b, &butterfly, FB_SCRATCH, true);
	fb_round(b);
	for (int rank = 1; rank < 2 * butterfly.fold.extra; rank += 2)
		fb_copy(b, fb_chunk(rank, FB_OUT, 0, 1),
			fb_chunk(rank - 1, FB_SCRATCH, (uint32_t)rank, 1));
	return 0;
}

const struct fb_algorithm fb_reduce_scatter_recursive_halving = {
	.name = "recursive_halving",
	.collective = FB_REDUCE_SCATTER,
	.source = "Thakur, Rabenseifner, Gropp 2005; MPICH",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
