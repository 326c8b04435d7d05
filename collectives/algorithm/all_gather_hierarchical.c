/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, hierarchical: ranks of the same place gather across nodes, then each node gathers
 * inside what came from every other node.
 *
 * The steps of both parts; every byte crosses to another node once and is then copied inside it,
 * where a flat algorithm may move it between nodes once for each rank. Stages are
 * across+inside, by default ring+direct. What arrives from a node is passed on inside at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/compose.h"
#include "common/base/error.h"

enum { ACROSS, INSIDE, STAGES };

static bool stages(const struct fb_shape *shape, const struct fb_algorithm **part, int *per_node,
		   char *why, size_t n)
{
	*per_node = fb_ranks_per_node(shape, why, n);
	if (!*per_node || !fb_nodes_in_order(shape, *per_node, why, n))
		return false;
	const struct fb_stage stage[STAGES] = {
		[ACROSS] = {FB_ALL_GATHER, fb_nodes(shape), "ring"},
		[INSIDE] = {FB_ALL_GATHER, *per_node, "direct"},
	};

	return fb_stages(shape, stage, STAGES, part, why, n);
}

static bool can(const struct fb_shape *shape, char *why, size_t n)
{
	const struct fb_algorithm *part[STAGES];
	int per_node;

	return stages(shape, part, &per_node, why, n);
}

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)fb_nodes(shape);
}

static int build(struct fb_builder *b)
{
	const struct fb_shape *shape = fb_shape(b);
	int self = fb_self(b), nodes = fb_nodes(shape), err = FB_ENOMEM, per_node;
	const struct fb_algorithm *part[STAGES];
	char why[128];
	int *ranks;

	if (self < 0)
		return FB_OK;
	if (!stages(shape, part, &per_node, why, sizeof(why)))
		return fb_error(FB_EPLAN, "all_gather hierarchical: %s", why);
	ranks = malloc(sizeof(*ranks) * (size_t)shape->nranks);
	if (!ranks)
		return FB_ENOMEM;
	struct fb_view view = {
		.ranks = ranks, .n = nodes, .collective = FB_ALL_GATHER, .scale = 1, .split = 1,
		.window = {[FB_IN] = {.buffer = FB_IN}, [FB_OUT] = {.buffer = FB_SCRATCH}},
	};
	fb_rail_ranks(shape, fb_local_of(shape, self), ranks);
	err = fb_build_part(b, part[ACROSS], &view);
	view.n = fb_node_ranks(shape, fb_node_of(shape, self), ranks);
	/* Own node first, then in the order in which a ring brings the others. */
	for (int i = 0; i < nodes && !err; i++) {
		uint32_t node = (uint32_t)((fb_node_of(shape, self) - i + nodes) % nodes);

		view.window[FB_IN] = (struct fb_window){.buffer = FB_SCRATCH, .base = node};
		view.window[FB_OUT] = (struct fb_window){
			.buffer = FB_OUT,
			.base = node * (uint32_t)per_node,
		};
		fb_round(b);
		err = fb_build_part(b, part[INSIDE], &view);
	}
	free(ranks);
	return err;
}

const struct fb_algorithm fb_all_gather_hierarchical = {
	.name = "hierarchical",
	.collective = FB_ALL_GATHER,
	.source = "Traeff 2006; BlueConnect (Cho et al. 2019)",
	.in_place = true,
	.stages = STAGES,
	.can = can,
	.scratch = scratch,
	.build = build,
};
