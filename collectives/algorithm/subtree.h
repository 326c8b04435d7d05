/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the algorithms that move one part per rank along a binomial tree (scatter, gather, and
 * broadcast by scatter and all_gather). Places count from the root: place v is rank
 * (root + v) mod nranks. The subtree below place v is the run of places [v, v + size), so what
 * belongs to it is one chunk.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_SUBTREE_H
#define FB_COLLECTIVES_ALGORITHM_SUBTREE_H

#include "collectives/algorithm/tree.h"

/* The place of `rank`. */
static inline int fb_subtree_place(const struct fb_tree *tree, int rank)
{
	return rank >= tree->root ? rank - tree->root : rank - tree->root + tree->nranks;
}

/* The number of ranks in the subtree of `place` of a binomial tree, itself included. */
static inline int fb_subtree_size(const struct fb_tree *tree, int place)
{
	int low = place & -place;

	return place == 0 || low > tree->nranks - place ? tree->nranks - place : low;
}

#endif
