/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast, scatter and all_gather: the block is cut into one part per rank, the parts are
 * scattered along a binomial tree, and a ring gathers them everywhere.
 *
 * log2 n + n - 1 steps; the root sends about two blocks, others receive one. The scatter leaves
 * an inner rank of the tree with the parts of its whole subtree, so the ring skips what the
 * receiver has already, all of it before the root.
 *
 * Part v belongs to the rank v places after the root: runs of parts then never wrap around.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/subtree.h"

static uint32_t split(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}

/* The parts of the subtree of `to`, from its parent. */
static void scatter_to(struct fb_builder *b, const struct fb_tree *tree, int from, int to)
{
	int place = fb_subtree_place(tree, to);
	uint32_t first = (uint32_t)place, n = (uint32_t)fb_subtree_size(tree, place);

	fb_copy(b, fb_chunk(to, FB_OUT, first, n),
		fb_chunk(from, from == tree->root ? FB_IN : FB_OUT, first, n));
}

static void scatter(struct fb_builder *b, const struct fb_tree *tree, int self)
{
	struct fb_tree_place at;

	fb_tree_place(tree, self, &at);
	for (int depth = 0; depth < fb_tree_depth(tree); depth++) {
		for (int i = 0; i < at.nchildren && at.depth == depth; i++)
			scatter_to(b, tree, self, at.child[i]);
		if (at.depth == depth + 1)
			scatter_to(b, tree, at.parent, self);
		fb_round(b);
	}
}

/* Part `part` from the rank at `place` to the next one. */
static void pass_on(struct fb_builder *b, const struct fb_tree *tree, int place, int part)
{
	int n = tree->nranks, next = (place + 1) % n;
	int from = (int)(((int64_t)tree->root + place) % n);
	int to = (int)(((int64_t)tree->root + next) % n);

	if (part >= next && part < next + fb_subtree_size(tree, next))
		return;
	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)part, 1),
		fb_chunk(from, place == 0 ? FB_IN : FB_OUT, (uint32_t)part, 1));
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), root = fb_root(b), self = fb_self(b);
	struct fb_tree tree = {.kind = FB_TREE_BINOMIAL, .nranks = n, .root = root};
	int place;

	if (self < 0)
		return 0;
	place = fb_subtree_place(&tree, self);
	fb_copy(b, fb_chunk(root, FB_OUT, 0, (uint32_t)n), fb_chunk(root, FB_IN, 0, (uint32_t)n));
	scatter(b, &tree, self);
	for (int k = 0; k < n - 1; k++, fb_round(b)) {
		pass_on(b, &tree, place, (place - k + n) % n);
		pass_on(b, &tree, (place - 1 + n) % n, (place - 1 - k + n) % n);
	}
	return 0;
}

const struct fb_algorithm fb_broadcast_scatter_all_gather = {
	.name = "scatter_all_gather",
	.collective = FB_BROADCAST,
	.source = "van de Geijn; Barnett et al. 1994; ring without what the receiver has: Zhou, "
		  "Marjanovic, Niethammer, Gracia 2015",
	.in_place = true,
	.split = split,
	.build = build,
};
