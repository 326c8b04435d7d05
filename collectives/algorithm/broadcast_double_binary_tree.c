/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast, double binary tree: even channels use one binary tree, odd ones another in which
 * the inner ranks of the first are leaves.
 *
 * About log2 n + 1 pipelined steps; a rank receives the block once and sends at most one, since
 * it forwards half of the block to two children. Latency of a tree, bandwidth of a chain.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/tree.h"

static int build(struct fb_builder *b)
{
	struct fb_tree tree = {
		.kind = fb_shape(b)->channel % 2 ? FB_TREE_BINARY_TWIN : FB_TREE_BINARY,
		.nranks = fb_nranks(b),
		.root = fb_root(b),
	};

	fb_copy(b, fb_chunk(tree.root, FB_OUT, 0, 1), fb_chunk(tree.root, FB_IN, 0, 1));
	fb_tree_broadcast(b, &tree, FB_IN, 0, 1);
	return 0;
}

const struct fb_algorithm fb_broadcast_double_binary_tree = {
	.name = "double_binary_tree",
	.collective = FB_BROADCAST,
	.source = "Sanders, Speck, Traeff 2009; NCCL graph/trees.cc",
	.in_place = true,
	.channels = 2,
	.build = build,
};
