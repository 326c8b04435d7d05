/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast, chain: root, root + 1, ..., root - 1; each rank passes on what it receives.
 *
 * n - 1 steps; every rank sends and receives the block once, so with many slices in flight the
 * time tends to that of one block over one link: the choice for large blocks.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/tree.h"

static int build(struct fb_builder *b)
{
	struct fb_tree tree = {
		.kind = FB_TREE_CHAIN,
		.nranks = fb_nranks(b),
		.root = fb_root(b),
	};

	fb_copy(b, fb_chunk(tree.root, FB_OUT, 0, 1), fb_chunk(tree.root, FB_IN, 0, 1));
	fb_tree_broadcast(b, &tree, FB_IN, 0, 1);
	return 0;
}

const struct fb_algorithm fb_broadcast_chain = {
	.name = "chain",
	.collective = FB_BROADCAST,
	.source = "pipelined chain; NCCL's broadcast ring",
	.in_place = true,
	.build = build,
};
