/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, double binary tree: the mirror image of broadcast's; even channels use one binary
 * tree, odd ones another in which the inner ranks of the first are leaves.
 *
 * About log2 n + 1 pipelined steps; a rank sends its block once and receives at most one.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/tree.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	(void)shape;
	return 1;
}

static int build(struct fb_builder *b)
{
	struct fb_tree tree = {
		.kind = fb_shape(b)->channel % 2 ? FB_TREE_BINARY_TWIN : FB_TREE_BINARY,
		.nranks = fb_nranks(b),
		.root = fb_root(b),
	};

	fb_tree_reduce(b, &tree, FB_SCRATCH, 0, 1);
	return 0;
}

const struct fb_algorithm fb_reduce_double_binary_tree = {
	.name = "double_binary_tree",
	.collective = FB_REDUCE,
	.source = "Sanders, Speck, Traeff 2009; NCCL graph/trees.cc",
	.in_place = true,
	.channels = 2,
	.scratch = scratch,
	.build = build,
};
