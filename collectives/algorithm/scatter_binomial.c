/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter, binomial: a rank receives the blocks of its whole subtree in one message, passes each
 * child its part, and keeps its own.
 *
 * log2 n steps; the root sends n - 1 blocks in log2 n messages. For small blocks, where messages
 * cost more than bytes: inner ranks receive up to n / 2 blocks instead of one.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/subtree.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks / 2; /* the largest subtree below the root */
}

/* The blocks of the subtree of `to`, from its parent; the root's lie by rank and may wrap. */
static void pass_down(struct fb_builder *b, const struct fb_tree *tree, int from, int to)
{
	int place = fb_subtree_place(tree, to), above = fb_subtree_place(tree, from);
	uint32_t n = (uint32_t)fb_subtree_size(tree, place);
	uint32_t left = (uint32_t)(tree->nranks - to), straight = n < left ? n : left;
	enum fb_buffer into = n > 1 ? FB_SCRATCH : FB_OUT;

	if (above) {
		fb_copy(b, fb_chunk(to, into, 0, n),
			fb_chunk(from, FB_SCRATCH, (uint32_t)(place - above), n));
		return;
	}
	fb_copy(b, fb_chunk(to, into, 0, straight), fb_chunk(from, FB_IN, (uint32_t)to, straight));
	fb_copy(b, fb_chunk(to, into, straight, n - straight),
		fb_chunk(from, FB_IN, 0, n - straight));
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
	for (int depth = 0; depth < fb_tree_depth(&tree); depth++, fb_round(b)) {
		for (int i = 0; i < at.nchildren && at.depth == depth; i++)
			pass_down(b, &tree, self, at.child[i]);
		if (at.depth == depth + 1)
			pass_down(b, &tree, at.parent, self);
	}
	if (self == tree.root)
		fb_copy(b, fb_chunk(self, FB_OUT, 0, 1), fb_chunk(self, FB_IN, (uint32_t)self, 1));
	else if (at.nchildren)
		fb_copy(b, fb_chunk(self, FB_OUT, 0, 1), fb_chunk(self, FB_SCRATCH, 0, 1));
	return 0;
}

const struct fb_algorithm fb_scatter_binomial = {
	.name = "binomial",
	.collective = FB_SCATTER,
	.source = "binomial tree, e.g. Chan, Heimlich, Purkayastha, van de Geijn 2007",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
