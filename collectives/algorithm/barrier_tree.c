/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier, tree: empty messages gather up a binomial tree to rank 0 and come back down it.
 *
 * 2 log2 n steps but only 2 (n - 1) messages, against n log2 n for dissemination: better where
 * ranks share cores or a link.
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
	struct fb_tree tree = {.kind = FB_TREE_BINOMIAL, .nranks = fb_nranks(b), .root = 0};

	fb_tree_reduce(b, &tree, FB_SCRATCH, 0, 1);
	fb_tree_broadcast(b, &tree, FB_OUT, 0, 1);
	return 0;
}

const struct fb_algorithm fb_barrier_tree = {
	.name = "tree",
	.collective = FB_BARRIER,
	.source = "combining tree; Mellor-Crummey and Scott 1991",
	.scratch = scratch,
	.build = build,
};
