/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees over ranks, and the two walks every tree algorithm consists of: values are reduced from
 * the leaves up to the root, or broadcast from the root down.
 *
 * A rank asks only for its own place, its parent's and its children's, so building costs
 * O(depth) and no table of all ranks exists.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_TREE_H
#define FB_COLLECTIVES_ALGORITHM_TREE_H

#include "common/plan/builder.h"

enum { FB_TREE_CHILDREN = 31 }; /* the most a rank can have: binomial, 2^31 ranks */

enum fb_tree_kind {
	FB_TREE_CHAIN,    /* root, root + 1, ..., root - 1: depth n - 1, one child each */
	FB_TREE_BINOMIAL, /* depth floor(log2 n); the children's subtrees double in size */
	/*
	 * Two binary trees of depth about log2 n + 1 (Sanders, Speck, Traeff 2009; their shape is
	 * that of NCCL's graph/trees.cc). The root has one child; below it is an in-order tree
	 * of the other ranks in which every odd place is a leaf. FB_TREE_BINARY_TWIN renumbers
	 * those ranks so that the inner ones of the first tree are leaves of the second: each
	 * tree carries half of the data and no rank but the root forwards in both.
	 */
	FB_TREE_BINARY,
	FB_TREE_BINARY_TWIN,
};

struct fb_tree {
	enum fb_tree_kind kind;
	int nranks, root;
};

/* One rank's place. Children are listed with the largest subtree first. */
struct fb_tree_place {
	int parent; /* -1 at the root */
	int depth;  /* edges to the root */
	int nchildren;
	int child[FB_TREE_CHILDREN];
};

/* Writes the place of `rank` in [0, tree->nranks). Pure. */
void fb_tree_place(const struct fb_tree *tree, int rank, struct fb_tree_place *place);

/* The depth of the deepest rank: 0 for one rank. */
int fb_tree_depth(const struct fb_tree *tree);

/*
 * Reduces units [unit, unit + count) of every rank's FB_IN up to FB_OUT of the root, in
 * fb_tree_depth rounds (each begins with fb_round), on the current lane. Inner ranks other than
 * the root keep their partial sums in the same units of `partial` (FB_OUT or FB_SCRATCH). The
 * reduction at the root is FB_COMPLETE. With one rank it is a local copy.
 */
void fb_tree_reduce(struct fb_builder *b, const struct fb_tree *tree, enum fb_buffer partial,
		    uint32_t unit, uint32_t count);

/*
 * Broadcasts units [unit, unit + count) of `from` of the root into the same units of FB_OUT of
 * all other ranks, in fb_tree_depth rounds, on the current lane. The root's own FB_OUT is left
 * to the caller.
 */
void fb_tree_broadcast(struct fb_builder *b, const struct fb_tree *tree, enum fb_buffer from,
		       uint32_t unit, uint32_t count);

#endif
