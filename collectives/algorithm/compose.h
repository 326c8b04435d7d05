/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms made of other algorithms: named parts, groups of ranks by node, and the commonest
 * composition, all_reduce = reduce_scatter + all_gather.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_COMPOSE_H
#define FB_COLLECTIVES_ALGORITHM_COMPOSE_H

#include "collectives/algorithm/algorithm.h"

/* One part of a composed algorithm: what it is, among how many ranks, and the default. */
struct fb_stage {
	enum fb_collective collective;
	int nranks;
	const char *name;
};

/*
 * Finds the n parts named in shape->stages ("a+b+c"; NULL: the defaults) and writes part[n].
 * False, with the reason in why, when one is unknown, cannot work, or their number is wrong.
 */
bool fb_stages(const struct fb_shape *shape, const struct fb_stage *stage, int n,
	       const struct fb_algorithm **part, char *why, size_t nwhy);

/* Units per block, and blocks of scratch, that a part uses among `nranks` ranks. */
uint32_t fb_part_split(const struct fb_algorithm *part, int nranks);
uint32_t fb_part_scratch(const struct fb_algorithm *part, int nranks);

/* The number of nodes; 1 without a topology. */
int fb_nodes(const struct fb_shape *shape);

/*
 * The number of ranks of every node; 0, with the reason in why, when there are fewer than two
 * nodes or their numbers differ. O(nranks).
 */
int fb_ranks_per_node(const struct fb_shape *shape, char *why, size_t n);

/* The node of a rank, and its index there. */
int fb_node_of(const struct fb_shape *shape, int rank);
int fb_local_of(const struct fb_shape *shape, int rank);

/* Whether rank = node * per_node + local rank, for all; otherwise the reason in why. */
bool fb_nodes_in_order(const struct fb_shape *shape, int per_node, char *why, size_t n);

/* Writes ranks[]: those of one node in order of local rank. Returns how many. O(nranks). */
int fb_node_ranks(const struct fb_shape *shape, int node, int *ranks);

/* Writes ranks[nnodes]: the one with local rank local % (ranks of its node), of every node. */
void fb_rail_ranks(const struct fb_shape *shape, int local, int *ranks);

/*
 * Builds an all_reduce of the nranks units from unit `base` of FB_IN into FB_OUT: unit base + i
 * is reduced to rank ranks[i] (NULL: rank i) and gathered from there. The reduce_scatter's
 * scratch is FB_OUT, which is free until the gathering; so it must need no more than a block of
 * scratch for each rank. Returns the parts' result.
 */
int fb_build_two_phases(struct fb_builder *b, const struct fb_algorithm *reduce_scatter,
			const struct fb_algorithm *all_gather, const int *ranks, uint32_t base);

/* .split of an all_reduce with one unit for each rank. */
uint32_t fb_split_per_rank(const struct fb_shape *shape);

#endif
