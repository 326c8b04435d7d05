/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, halving and doubling: reduce_scatter by recursive halving, all_gather by recursive
 * doubling over the same pairs backwards.
 *
 * 2 log2 n steps, 2(n - 1)/n of the block sent per rank, which is the least. Other numbers than
 * powers of two are folded: two more steps, and a folded rank's neighbour moves a block more each
 * way.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/fold.h"

static uint32_t split(const struct fb_shape *shape)
{
	return (uint32_t)fb_fold_of(shape->nranks).n;
}

static int build(struct fb_builder *b)
{
	struct fb_butterfly butterfly = {.fold = fb_fold_of(fb_nranks(b))};

	if (fb_nranks(b) == 1) {
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
		return 0;
	}
	fb_butterfly_reduce(b, &butterfly, FB_OUT, false);
	fb_butterfly_gather(b, &butterfly);
	return 0;
}

const struct fb_algorithm fb_all_reduce_halving_doubling = {
	.name = "halving_doubling",
	.collective = FB_ALL_REDUCE,
	.source = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005; MPICH",
	.in_place = true,
	.split = split,
	.build = build,
};
