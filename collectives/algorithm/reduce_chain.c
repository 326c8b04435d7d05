/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, chain: root - 1, ..., root + 1, root; each rank adds its block to what it receives and
 * passes the sum on: the mirror image of broadcast's chain.
 *
 * n - 1 steps; every rank sends and receives one block, so with many slices in flight the time
 * tends to that of one block over one link.
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
		.kind = FB_TREE_CHAIN,
		.nranks = fb_nranks(b),
		.root = fb_root(b),
	};

	fb_tree_reduce(b, &tree, FB_SCRATCH, 0, 1);
	return 0;
}

const struct fb_algorithm fb_reduce_chain = {
	.name = "chain",
	.collective = FB_REDUCE,
	.source = "pipelined chain; NCCL's reduce ring",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
