/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, leader tree (CollTree): every node reduces to a leader, the leaders all_reduce
 * along a double binary tree, every leader broadcasts inside its node. Any number of ranks per
 * node.
 *
 * Twice the depth of the longest chain and of the tree. Between nodes a leader sends two blocks,
 * taken over both trees, however many ranks its node has. Sums go up on lane 0, the result comes
 * down on lane 1. Channels have different leaders, so that all network cards of a node take part.
 * Stages are reduce+all_reduce+broadcast, by default chain+double_binary_tree+chain.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/compose.h"
#include "common/base/error.h"

enum { REDUCE, ALL_REDUCE, BROADCAST, STAGES };

static bool find_parts(const struct fb_shape *shape, const struct fb_algorithm **part, char *why,
		       size_t n)
{
	const struct fb_stage stage[STAGES] = {
		[REDUCE] = {FB_REDUCE, shape->nranks, "chain"},
		[ALL_REDUCE] = {FB_ALL_REDUCE, fb_nodes(shape), "double_binary_tree"},
		[BROADCAST] = {FB_BROADCAST, shape->nranks, "chain"},
	};

	if (!fb_stages(shape, stage, STAGES, part, why, n))
		return false;
	/* Nodes may differ in size, so parts inside them may not depend on it. */
	for (int i = REDUCE; i <= BROADCAST; i += BROADCAST)
		if (part[i]->split || fb_part_scratch(part[i], shape->nranks) > 1) {
			snprintf(why, n, "%s cuts blocks or needs too much scratch to be a part",
				 part[i]->name);
			return false;
		}
	return true;
}

static bool can(const struct fb_shape *shape, char *why, size_t n)
{
	const struct fb_algorithm *part[STAGES];

	return find_parts(shape, part, why, n);
}

static uint32_t split(const struct fb_shape *shape)
{
	const struct fb_algorithm *part[STAGES];
	char why[128];

	if (!find_parts(shape, part, why, sizeof(why)))
		return 1;
	return fb_part_split(part[ALL_REDUCE], fb_nodes(shape));
}

/* The leader's sum of its node, then what the leaders' part needs. */
static uint32_t scratch(const struct fb_shape *shape)
{
	const struct fb_algorithm *part[STAGES];
	char why[128];

	if (!find_parts(shape, part, why, sizeof(why)))
		return 0;
	return 1 + fb_part_scratch(part[ALL_REDUCE], fb_nodes(shape));
}

static int build_stages(struct fb_builder *b, const struct fb_algorithm **part, int *ranks)
{
	const struct fb_shape *shape = fb_shape(b);
	int self = fb_self(b), err;
	struct fb_view inside = {
		.ranks = ranks, .scale = fb_split(b), .split = 1, .collective = FB_REDUCE,
		.complete = fb_nodes(shape) == 1,
		.n = fb_node_ranks(shape, fb_node_of(shape, self), ranks),
		.window = {
			[FB_IN] = {.buffer = FB_IN},
			[FB_OUT] = {.buffer = FB_SCRATCH},
			[FB_SCRATCH] = {.buffer = FB_OUT},
		},
	};
	struct fb_view across = {
		.ranks = ranks, .n = fb_nodes(shape), .scale = 1, .split = fb_split(b),
		.collective = FB_ALL_REDUCE, .complete = true,
		.window = {
			[FB_IN] = {.buffer = FB_SCRATCH},
			[FB_OUT] = {.buffer = FB_OUT},
			[FB_SCRATCH] = {.buffer = FB_SCRATCH, .base = fb_split(b)},
		},
	};

	inside.root = shape->channel % inside.n;
	fb_lane(b, 0);
	err = fb_build_part(b, part[REDUCE], &inside);
	if (err)
		return err;
	fb_rail_ranks(shape, shape->channel, ranks);
	fb_round(b);
	err = fb_build_part(b, part[ALL_REDUCE], &across);
	if (err)
		return err;
	fb_node_ranks(shape, fb_node_of(shape, self), ranks);
	inside.collective = FB_BROADCAST;
	inside.window[FB_IN] = (struct fb_window){.buffer = FB_OUT};
	inside.window[FB_OUT] = (struct fb_window){.buffer = FB_OUT};
	fb_round(b);
	fb_lane(b, 1);
	return fb_build_part(b, part[BROADCAST], &inside);
}

static int build(struct fb_builder *b)
{
	const struct fb_algorithm *part[STAGES];
	char why[128];
	int *ranks, err;

	if (fb_self(b) < 0)
		return FB_OK;
	if (!find_parts(fb_shape(b), part, why, sizeof(why)))
		return fb_error(FB_EPLAN, "all_reduce leader_tree: %s", why);
	ranks = malloc(sizeof(*ranks) * (size_t)fb_nranks(b));
	if (!ranks)
		return FB_ENOMEM;
	err = build_stages(b, part, ranks);
	free(ranks);
	return err;
}

const struct fb_algorithm fb_all_reduce_leader_tree = {
	.name = "leader_tree",
	.collective = FB_ALL_REDUCE,
	.source = "CollTree; NCCL's tree across nodes with chains inside",
	.in_place = true,
	.channels = 2,
	.stages = STAGES,
	.can = can,
	.split = split,
	.scratch = scratch,
	.build = build,
};
