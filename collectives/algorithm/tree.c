/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees over ranks. All kinds are defined for root 0 on virtual ranks v and rotated, so that a
 * rank's place follows from its number by a few bit operations.
 *
 * The walks go by depth, not by height: ranks of one depth exchange with their parents in the
 * same round, so what a rank receives in one round it sends on in the next, which is what
 * lowering fuses into one step even where the tree is ragged.
 */
#include "collectives/algorithm/tree.h"

static void place_chain(int n, int v, struct fb_tree_place *p)
{
	p->parent = v - 1;
	p->depth = v;
	if (v + 1 < n)
		p->child[p->nchildren++] = v + 1;
}

static void place_binomial(int n, int v, struct fb_tree_place *p)
{
	int low = v ? __builtin_ctz((unsigned)v) : 31;

	p->parent = v ? v & (v - 1) : -1;
	p->depth = __builtin_popcount((unsigned)v);
	for (int bit = low - 1; bit >= 0; bit--)
		if (v < n - (1 << bit))
			p->child[p->nchildren++] = v + (1 << bit);
}

static int binary_parent(int n, int v)
{
	int bit = v & -v;
	int up = (v ^ bit) | bit << 1;

	return up < n ? up : v ^ bit;
}

/*
 * The in-order tree: a place whose lowest set bit is 2^k is k levels above the leaves; its
 * parent is the neighbour place of level k + 1, or the next one to the left where that lies
 * beyond the end. Place 0 is the root, and its one child the largest power of two.
 */
static void place_binary(int n, int v, struct fb_tree_place *p)
{
	int bit = v & -v;

	p->parent = -1;
	if (v == 0) {
		if (n > 1)
			p->child[p->nchildren++] = 1 << (31 - __builtin_clz((unsigned)n - 1));
		return;
	}
	p->parent = binary_parent(n, v);
	for (int up = v; up != 0; up = binary_parent(n, up))
		p->depth++;
	if (bit == 1)
		return;
	p->child[p->nchildren++] = v - bit / 2;
	for (int step = bit / 2; step > 0; step /= 2) {
		if (v + step < n) {
			p->child[p->nchildren++] = v + step;
			return;
		}
	}
}

/*
 * The twin's numbering of places 1..n-1, which changes every place's parity: mirrored for odd
 * n, shifted by one for even n, where one rank is a leaf in both trees because leaves outnumber
 * inner ranks.
 */
static int to_twin(int n, int v)
{
	if (v == 0)
		return 0;
	if (n % 2)
		return n - v;
	return v == 1 ? n - 1 : v - 1;
}

static int from_twin(int n, int v)
{
	if (v == 0)
		return 0;
	if (n % 2)
		return n - v;
	return v == n - 1 ? 1 : v + 1;
}

void fb_tree_place(const struct fb_tree *tree, int rank, struct fb_tree_place *place)
{
	static void (*const places[])(int n, int v, struct fb_tree_place *p) = {
		[FB_TREE_CHAIN] = place_chain,
		[FB_TREE_BINOMIAL] = place_binomial,
		[FB_TREE_BINARY] = place_binary,
		[FB_TREE_BINARY_TWIN] = place_binary,
	};
	int n = tree->nranks;
	int v = rank >= tree->root ? rank - tree->root : rank - tree->root + n;
	int twin = tree->kind == FB_TREE_BINARY_TWIN;

	place->depth = 0;
	place->nchildren = 0;
	places[tree->kind](n, twin ? to_twin(n, v) : v, place);
	for (int i = -1; i < place->nchildren; i++) {
		int *r = i < 0 ? &place->parent : &place->child[i];

		if (*r >= 0)
			*r = (int)(((int64_t)(twin ? from_twin(n, *r) : *r) + tree->root) % n);
	}
}

int fb_tree_depth(const struct fb_tree *tree)
{
	unsigned n = (unsigned)tree->nranks;

	if (n == 1)
		return 0;
	if (tree->kind == FB_TREE_CHAIN)
		return (int)n - 1;
	if (tree->kind == FB_TREE_BINOMIAL)
		return 31 - __builtin_clz(n); /* place 2^k - 1, the last with k bits set */
	return 32 - __builtin_clz(n - 1); /* 0, 2^k, 2^(k-1), ..., 1 */
}

/* The reduction at `rank`, of its own and all its children's values. */
static void reduce_at(struct fb_builder *b, const struct fb_tree *tree, int rank,
		      const struct fb_tree_place *place, enum fb_buffer partial, uint32_t unit,
		      uint32_t count)
{
	struct fb_chunk src[FB_TREE_CHILDREN + 1];
	int root = place->parent < 0;

	src[0] = fb_chunk(rank, FB_IN, unit, count);
	for (int i = 0; i < place->nchildren; i++) {
		struct fb_tree_place child;

		fb_tree_place(tree, place->child[i], &child);
		src[i + 1] = fb_chunk(place->child[i], child.nchildren ? partial : FB_IN, unit,
				      count);
	}
	fb_reduce_many(b, fb_chunk(rank, root ? FB_OUT : partial, unit, count), src,
		       place->nchildren + 1, root ? FB_COMPLETE : FB_PARTIAL);
}

void fb_tree_reduce(struct fb_builder *b, const struct fb_tree *tree, enum fb_buffer partial,
		    uint32_t unit, uint32_t count)
{
	struct fb_tree_place self, up = {.parent = -1};
	int rank = fb_self(b);

	if (rank < 0)
		return;
	fb_tree_place(tree, rank, &self);
	if (self.parent >= 0)
		fb_tree_place(tree, self.parent, &up);
	if (tree->nranks == 1)
		fb_copy(b, fb_chunk(0, FB_OUT, unit, count), fb_chunk(0, FB_IN, unit, count));
	for (int depth = fb_tree_depth(tree) - 1; depth >= 0; depth--) {
		fb_round(b);
		if (self.depth == depth && self.nchildren)
			reduce_at(b, tree, rank, &self, partial, unit, count);
		if (self.depth == depth + 1)
			reduce_at(b, tree, self.parent, &up, partial, unit, count);
	}
}

void fb_tree_broadcast(struct fb_builder *b, const struct fb_tree *tree, enum fb_buffer from,
		       uint32_t unit, uint32_t count)
{
	int rank = fb_self(b), deepest = fb_tree_depth(tree);
	struct fb_tree_place self;

	if (rank < 0)
		return;
	fb_tree_place(tree, rank, &self);
	for (int depth = 0; depth < deepest; depth++) {
		fb_round(b);
		if (self.depth == depth + 1)
			fb_copy(b, fb_chunk(rank, FB_OUT, unit, count),
				fb_chunk(self.parent, self.depth == 1 ? from : FB_OUT, unit,
					 count));
		for (int i = 0; self.depth == depth && i < self.nchildren; i++)
			fb_copy(b, fb_chunk(self.child[i], FB_OUT, unit, count),
				fb_chunk(rank, self.parent < 0 ? from : FB_OUT, unit, count));
	}
}
