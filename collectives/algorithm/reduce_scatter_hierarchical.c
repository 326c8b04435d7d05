/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter, hierarchical: each node reduces inside what every other node is to get, then
 * ranks of the same place reduce across nodes.
 *
 * The steps of both parts; only one sum for each block leaves a node, where a flat algorithm may
 * move all of its ranks' contributions. Stages are inside+across, by default direct+ring. Blocks
 * of a node are reduced in the order in which a ring sends them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/compose.h"
#include "common/base/error.h"

enum { INSIDE, ACROSS, STAGES };

static bool stages(const struct fb_shape *shape, const struct fb_algorithm **part, int *per_node,
		   char *why, size_t n)
{
	*per_node = fb_ranks_per_node(shape, why, n);
	if (!*per_node || !fb_nodes_in_order(shape, *per_node, why, n))
		return false;
	const struct fb_stage stage[STAGES] = {
		[INSIDE] = {FB_REDUCE_SCATTER, *per_node, "direct"},
		[ACROSS] = {FB_REDUCE_SCATTER, fb_nodes(shape), "ring"},
	};

	return fb_stages(shape, stage, STAGES, part, why, n);
}

static bool can(const struct fb_shape *shape, char *why, size_t n)
{
	const struct fb_algorithm *part[STAGES];
	int per_node;

	return stages(shape, part, &per_node, why, n);
}

/* One sum for each node, then the scratch of the inside parts, then that of the other. */
static uint32_t scratch(const struct fb_shape *shape)
{
	const struct fb_algorithm *part[STAGES];
	int per_node, nodes = fb_nodes(shape);
	char why[128];

	if (!stages(shape, part, &per_node, why, sizeof(why)))
		return 0;
	return (uint32_t)nodes * (1 + fb_part_scratch(part[INSIDE], per_node)) +
	       fb_part_scratch(part[ACROSS], nodes);
}

static int build(struct fb_builder *b)
{
	const struct fb_shape *shape = fb_shape(b);
	int self = fb_self(b), nodes = fb_nodes(shape), err = FB_OK, per_node;
	const struct fb_algorithm *part[STAGES];
	uint32_t inside, n = (uint32_t)nodes;
	char why[128];
	int *ranks;

	if (self < 0)
		return FB_OK;
	if (!stages(shape, part, &per_node, why, sizeof(why)))
		return fb_error(FB_EPLAN, "reduce_scatter hierarchical: %s", why);
	ranks = malloc(sizeof(*ranks) * (size_t)shape->nranks);
	if (!ranks)
		return FB_ENOMEM;
	inside = fb_part_scratch(part[INSIDE], per_node);
	struct fb_view view = {
		.ranks = ranks, .collective = FB_REDUCE_SCATTER, .scale = 1, .split = 1,
		.n = fb_node_ranks(shape, fb_node_of(shape, self), ranks),
	};
	for (int i = 1; i <= nodes && !err; i++) {
		uint32_t node = (uint32_t)((fb_node_of(shape, self) - i + nodes) % nodes);

		view.window[FB_IN] = (struct fb_window){
			.buffer = FB_IN,
			.base = node * (uint32_t)per_node,
		};
		view.window[FB_OUT] = (struct fb_window){.buffer = FB_SCRATCH, .base = node};
		view.window[FB_SCRATCH] = (struct fb_window){
			.buffer = FB_SCRATCH,
			.base = n + node * inside,
		};
		err = fb_build_part(b, part[INSIDE], &view);
		fb_round(b);
	}
	fb_rail_ranks(shape, fb_local_of(shape, self), ranks);
	view.n = nodes;
	view.complete = true;
	view.window[FB_IN] = (struct fb_window){.buffer = FB_SCRATCH};
	view.window[FB_OUT] = (struct fb_window){.buffer = FB_OUT};
	view.window[FB_SCRATCH] = (struct fb_window){.buffer = FB_SCRATCH, .base = n + n * inside};
	if (!err)
		err = fb_build_part(b, part[ACROSS], &view);
	free(ranks);
	return err;
}

const struct fb_algorithm fb_reduce_scatter_hierarchical = {
	.name = "hierarchical",
	.collective = FB_REDUCE_SCATTER,
	.source = "BlueConnect (Cho et al. 2019)",
	.in_place = true,
	.stages = STAGES,
	.can = can,
	.scratch = scratch,
	.build = build,
};
