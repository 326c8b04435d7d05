/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, tree: a chain, which is the form NCCL's tree takes inside a node. Sums go up the
 * chain on lane 0, the result comes down on lane 1; slices of the block follow one another, so
 * both directions of every link stream at once.
 *
 * 2(n - 1) steps, two blocks sent per rank (one at the ends). Channels have different roots, so
 * that the ends, which have less to do, are not always the same ranks.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/tree.h"

static int build(struct fb_builder *b)
{
	const struct fb_shape *shape = fb_shape(b);
	struct fb_tree tree = {
		.kind = FB_TREE_CHAIN,
		.nranks = shape->nranks,
		.root = shape->channel % shape->nranks,
	};

	fb_lane(b, 0);
	fb_tree_reduce(b, &tree, FB_OUT, 0, 1);
	fb_lane(b, 1);
	fb_tree_broadcast(b, &tree, FB_OUT, 0, 1);
	return 0;
}

const struct fb_algorithm fb_all_reduce_tree = {
	.name = "tree",
	.collective = FB_ALL_REDUCE,
	.source = "NCCL's tree on one node",
	.in_place = true,
	.build = build,
};
