/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, binomial: the mirror image of broadcast's binomial tree.
 *
 * log2 n steps; the root receives log2 n blocks. For small blocks between many ranks.
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
		.kind = FB_TREE_BINOMIAL,
		.nranks = fb_nranks(b),
		.root = fb_root(b),
	};

	fb_tree_reduce(b, &tree, FB_SCRATCH, 0, 1);
	return 0;
}

const struct fb_algorithm fb_reduce_binomial = {
	.name = "binomial",
	.collective = FB_REDUCE,
	.source = "binomial tree, e.g. Thakur, Rabenseifner, Gropp 2005",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
