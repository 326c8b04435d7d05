/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of ranks along a ring. The ranks of a node are neighbours, so each node is entered
 * and left once whatever the numbering of ranks; each channel starts at another local rank of
 * every node, so that channels cross between nodes on different network cards.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_RING_H
#define FB_COLLECTIVES_ALGORITHM_RING_H

#include "common/plan/builder.h"

/* Returns order[nranks]: the rank at each position; NULL without memory. Free with free(). */
int *fb_ring_order(const struct fb_shape *shape);

/* The position of `rank` in order[n], or -1. */
int fb_ring_position(const int *order, int n, int rank);

#endif
