/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, binomial: a rank collects the blocks of its whole subtree and sends them on in one
 * message; the mirror image of scatter's binomial tree.
 *
 * log2 n steps; the root receives n - 1 blocks in log2 n messages. For small blocks, where
 * messages cost more than bytes: inner ranks send up to n / 2 blocks instead of one.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/subtree.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks / 2; /* the largest subtree below the root */
}

/* The blocks of the subtree of `from`, to its parent; the root's lie by rank and may wrap. */
static void pass_up(struct fb_builder *b, const struct fb_tree *tree, int from, int to)
{
	int place = fb_subtree_place(tree, from), above = fb_subtree_place(tree, to);
	uint32_t n = (uint32_t)fb_subtree_size(tree, place);
	uint32_t left = (uint32_t)(tree->nranks - from), straight = n < left ? n : left;
	enum fb_buffer outof = n > 1 ? FB_SCRATCH : FB_IN;

	if (above) {
		fb_copy(b, fb_chunk(to, FB_SCRATCH, (uint32_t)(place - above), n),
			fb_chunk(from, outof, 0, n));
		return;
	}
	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)from, straight),
		fb_chunk(from, outof, 0, straight));
	fb_copy(b, fb_chunk(to, FB_OUT, 0, n - straight),
		fb_chunk(from, outof, straight, n - straight));
}

static int build(struct fb_builder *b)
{
	struct fb_tree tree = {
		.kind = FB_TREE_BINOMIAL,
		.nranks = fb_nranks(b),
		.root = fb_root(b),
	};
	int self = fb_self(b);
	struct fb_tree_place at;

	if (self < 0)
		return 0;
	fb_tree_place(&tree, self, &at);
	if (self == tree.root)
		fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)self, 1), fb_chunk(self, FB_IN, 0, 1));
	else if (at.nchildren)
		fb_copy(b, fb_chunk(self, FB_SCRATCH, 0, 1), fb_chunk(self, FB_IN, 0, 1));
	for (int depth = fb_tree_depth(&tree) - 1; depth >= 0; depth--) {
		fb_round(b);
		for (int i = at.nchildren - 1; i >= 0 && at.depth == depth; i--)
			pass_up(b, &tree, at.child[i], self);
		if (at.depth == depth + 1)
			pass_up(b, &tree, self, at.parent);
	}
	return 0;
}

const struct fb_algorithm fb_gather_binomial = {
	.name = "binomial",
	.collective = FB_GATHER,
	.source = "binomial tree, e.g. Chan, Heimlich, Purkayastha, van de Geijn 2007",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
