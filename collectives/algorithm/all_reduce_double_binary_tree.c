/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, double binary tree: even channels use one binary tree and odd channels its twin, in
 * which the ranks that forward in the first are leaves. Sums go up on lane 0, the result comes
 * down on lane 1, both at once for different slices.
 *
 * About 2 log2 n steps, two blocks sent per rank over both trees together: nearly the bandwidth
 * of a ring, at logarithmic latency. Pairs of channels have different roots.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/tree.h"

static int build(struct fb_builder *b)
{
	const struct fb_shape *shape = fb_shape(b);
	struct fb_tree tree = {
		.kind = shape->channel % 2 ? FB_TREE_BINARY_TWIN : FB_TREE_BINARY,
		.nranks = shape->nranks,
		.root = shape->channel / 2 % shape->nranks,
	};

	fb_lane(b, 0);
	fb_tree_reduce(b, &tree, FB_OUT, 0, 1);
	fb_lane(b, 1);
	fb_tree_broadcast(b, &tree, FB_OUT, 0, 1);
	return 0;
}

const struct fb_algorithm fb_all_reduce_double_binary_tree = {
	.name = "double_binary_tree",
	.collective = FB_ALL_REDUCE,
	.source = "Sanders, Speck, Traeff 2009; NCCL",
	.in_place = true,
	.channels = 2,
	.build = build,
};
