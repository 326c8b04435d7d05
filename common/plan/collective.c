/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one table of collectives, and what follows from it.
 *
 * Bus factors are those of nccl-tests (doc/PERFORMANCE.md), so that busbw can be compared with its
 * results: the bytes that the busiest rank must move in one direction, divided by the operation's
 * total bytes. "Total" is the larger of a rank's input and output.
 */
#include "common/plan/collective.h"

#include <string.h>

static const struct fb_collective_info collectives[FB_COLLECTIVES] = {
	[FB_ALL_REDUCE] = {
		.name = "all_reduce",
		.summary = "every rank gets the reduction of all ranks' blocks",
		.in = FB_ONE_BLOCK, .out = FB_ONE_BLOCK, .reduces = true, .in_place = true,
		.bus_n = 2, .bus_1 = -2, .bus_over_n = true,
	},
	[FB_ALL_GATHER] = {
		.name = "all_gather",
		.summary = "every rank gets the blocks of all ranks, in rank order",
		.in = FB_ONE_BLOCK, .out = FB_BLOCK_PER_RANK, .in_place = true,
		.bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_REDUCE_SCATTER] = {
		.name = "reduce_scatter",
		.summary = "rank r gets the reduction of all ranks' blocks r",
		.in = FB_BLOCK_PER_RANK, .out = FB_ONE_BLOCK, .reduces = true, .in_place = true,
		.bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_BROADCAST] = {
		.name = "broadcast",
		.summary = "every rank gets the root's block",
		.in = FB_ONE_AT_ROOT, .out = FB_ONE_BLOCK, .has_root = true, .in_place = true,
		.bus_1 = 1,
	},
	[FB_REDUCE] = {
		.name = "reduce",
		.summary = "the root gets the reduction of all ranks' blocks",
		.in = FB_ONE_BLOCK, .out = FB_ONE_AT_ROOT, .reduces = true, .has_root = true,
		.in_place = true, .bus_1 = 1,
	},
	[FB_ALL_TO_ALL] = {
		.name = "all_to_all",
		.summary = "block j of rank i becomes block i of rank j",
		.in = FB_BLOCK_PER_RANK, .out = FB_BLOCK_PER_RANK, .in_place = true,
		.bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_ALL_TO_ALL_V] = {
		.name = "all_to_all_v",
		.summary = "all_to_all with a size of its own for each pair of ranks",
		.in = FB_BLOCK_PER_RANK, .out = FB_BLOCK_PER_RANK, .unequal = true,
		.equal = FB_ALL_TO_ALL, .bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_ALL_GATHER_V] = {
		.name = "all_gather_v",
		.summary = "all_gather with a size of its own for the block of each rank",
		.in = FB_ONE_BLOCK, .out = FB_BLOCK_PER_RANK, .in_place = true, .unequal = true,
		.equal = FB_ALL_GATHER, .bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_REDUCE_SCATTER_V] = {
		.name = "reduce_scatter_v",
		.summary = "reduce_scatter with a size of its own for the block of each rank",
		.in = FB_BLOCK_PER_RANK, .out = FB_ONE_BLOCK, .reduces = true, .in_place = true,
		.unequal = true, .equal = FB_REDUCE_SCATTER,
		.bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_GATHER] = {
		.name = "gather",
		.summary = "the root gets the blocks of all ranks, in rank order",
		.in = FB_ONE_BLOCK, .out = FB_PER_RANK_AT_ROOT, .has_root = true,
		.in_place = true, .bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_SCATTER] = {
		.name = "scatter",
		.summary = "rank r gets block r of the root",
		.in = FB_PER_RANK_AT_ROOT, .out = FB_ONE_BLOCK, .has_root = true,
		.in_place = true, .bus_n = 1, .bus_1 = -1, .bus_over_n = true,
	},
	[FB_SEND_RECV] = {
		.name = "send_recv",
		.summary = "ring shift: every rank gets the block of the rank before it",
		.in = FB_ONE_BLOCK, .out = FB_ONE_BLOCK, .in_place = true, .bus_1 = 1,
	},
	[FB_BARRIER] = {
		.name = "barrier",
		.summary = "no rank leaves before all have entered",
		.in = FB_ONE_BLOCK, .out = FB_ONE_BLOCK, .reduces = true,
	},
};

const struct fb_collective_info *fb_collective_info(enum fb_collective collective)
{
	return &collectives[collective];
}

int fb_collective_parse(const char *name)
{
	for (int i = 0; i < FB_COLLECTIVES; i++)
		if (!strcmp(name, collectives[i].name))
			return i;
	return -1;
}

int fb_collective_blocks(enum fb_collective collective, bool out, int rank, int nranks, int root)
{
	const struct fb_collective_info *info = &collectives[collective];
	enum fb_blocks blocks = out ? info->out : info->in;

	if ((blocks == FB_ONE_AT_ROOT || blocks == FB_PER_RANK_AT_ROOT) && rank != root)
		return 0;
	return blocks == FB_BLOCK_PER_RANK || blocks == FB_PER_RANK_AT_ROOT ? nranks : 1;
}

double fb_collective_bus_factor(enum fb_collective collective, int nranks)
{
	const struct fb_collective_info *info = &collectives[collective];
	double factor = (double)info->bus_n * nranks + info->bus_1;

	return info->bus_over_n ? factor / nranks : factor;
}
