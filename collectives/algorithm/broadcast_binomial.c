/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast, binomial: the ranks that have the block double in every step.
 *
 * log2 n steps; the root sends log2 n blocks. For small blocks between many ranks.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/tree.h"

static int build(struct fb_builder *b)
{
	struct fb_tree tree = {
		.kind = FB_TREE_BINOMIAL,
		.nranks = fb_nranks(b),
		.root = fb_root(b),
	};

	fb_copy(b, fb_chunk(tree.root, FB_OUT, 0, 1), fb_chunk(tree.root, FB_IN, 0, 1));
	fb_tree_broadcast(b, &tree, FB_IN, 0, 1);
	return 0;
}

const struct fb_algorithm fb_broadcast_binomial = {
	.name = "binomial",
	.collective = FB_BROADCAST,
	.source = "binomial tree, e.g. Thakur, Rabenseifner, Gropp 2005",
	.in_place = true,
	.build = build,
};
