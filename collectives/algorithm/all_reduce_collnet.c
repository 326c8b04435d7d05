/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, CollNet: reduce_scatter inside nodes to heads, each head gives its share to the
 * network, which reduces those of all nodes and multicasts the sum; all_gather inside nodes.
 *
 * 4 steps; a head sends and receives its share once. The network's reducer is played by a rank:
 * the head of one node for each share, another node for each, so that its fan-in, which a switch
 * would bear, is spread. It shows the traffic and the steps of in-network reduction, not its
 * speed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/compose.h"
#include "common/base/error.h"

static bool can(const struct fb_shape *shape, char *why, size_t n)
{
	return fb_ranks_per_node(shape, why, n) > 0;
}

static uint32_t split(const struct fb_shape *shape)
{
	return (uint32_t)(shape->nranks / fb_nodes(shape));
}

static uint32_t scratch(const struct fb_shape *shape)
{
	(void)shape;
	return 1;
}

/* The share `unit` of all heads is reduced at one of them and sent to the others. */
static int across(struct fb_builder *b, const int *heads, int nodes, uint32_t unit)
{
	int reducer = (int)((unit + (uint32_t)fb_shape(b)->channel) % (uint32_t)nodes);
	struct fb_chunk sum = fb_chunk(heads[reducer], FB_OUT, unit, 1);
	struct fb_chunk *src = malloc(sizeof(*src) * (size_t)nodes);

	if (!src)
		return FB_ENOMEM;
	for (int node = 0; node < nodes; node++)
		src[node] = fb_chunk(heads[node], FB_SCRATCH, unit, 1);
	fb_round(b);
	fb_reduce_many(b, sum, src, nodes, FB_COMPLETE);
	fb_round(b);
	for (int node = 0; node < nodes; node++)
		fb_copy(b, fb_chunk(heads[node], FB_OUT, unit, 1), sum);
	free(src);
	return FB_OK;
}

static int build_stages(struct fb_builder *b, int *ranks)
{
	const struct fb_shape *shape = fb_shape(b);
	int self = fb_self(b), local = fb_local_of(shape, self), err;
	struct fb_view inside = {
		.ranks = ranks, .scale = 1, .split = 1, .collective = FB_REDUCE_SCATTER,
		.n = fb_node_ranks(shape, fb_node_of(shape, self), ranks),
		.window = {
			[FB_IN] = {.buffer = FB_IN},
			[FB_OUT] = {.buffer = FB_SCRATCH, .rank_stride = 1},
		},
	};

	err = fb_build_part(b, &fb_reduce_scatter_direct, &inside);
	if (err)
		return err;
	fb_rail_ranks(shape, local, ranks);
	err = across(b, ranks, fb_nodes(shape), (uint32_t)local);
	if (err)
		return err;
	fb_node_ranks(shape, fb_node_of(shape, self), ranks);
	inside.collective = FB_ALL_GATHER;
	inside.window[FB_IN] = (struct fb_window){.buffer = FB_OUT, .rank_stride = 1};
	inside.window[FB_OUT] = (struct fb_window){.buffer = FB_OUT};
	fb_round(b);
	return fb_build_part(b, &fb_all_gather_direct, &inside);
}

static int build(struct fb_builder *b)
{
	int *ranks, err;

	if (fb_self(b) < 0)
		return FB_OK;
	ranks = malloc(sizeof(*ranks) * (size_t)fb_nranks(b));
	if (!ranks)
		return FB_ENOMEM;
	err = build_stages(b, ranks);
	free(ranks);
	return err;
}

const struct fb_algorithm fb_all_reduce_collnet = {
	.name = "collnet",
	.collective = FB_ALL_REDUCE,
	.source = "NCCL's CollNetDirect; SHARP (Graham et al. 2016)",
	.in_place = true,
	.can = can,
	.split = split,
	.scratch = scratch,
	.build = build,
};
