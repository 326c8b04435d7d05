/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, hierarchical: reduce_scatter inside nodes, all_reduce of each share across nodes
 * among the ranks that own it, all_gather inside nodes.
 *
 * The steps of all parts; a rank sends 1/(ranks per node) of what a flat algorithm would to
 * other nodes, and all of a node's ranks do so at once. Stages are inside+across+inside, by
 * default direct+ring+direct.
 *
 * The share is kept apart in scratch, because the part across nodes must not find its input and
 * output in one place. Sums inside nodes use the output as scratch.
 */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/compose.h"
#include "common/base/error.h"

enum { REDUCE_SCATTER, ALL_REDUCE, ALL_GATHER, STAGES };

struct parts {
	const struct fb_algorithm *part[STAGES];
	int nodes, per_node;
	uint32_t share; /* units */
};

static bool find_parts(const struct fb_shape *shape, struct parts *p, char *why, size_t n)
{
	p->nodes = fb_nodes(shape);
	p->per_node = fb_ranks_per_node(shape, why, n);
	if (!p->per_node)
		return false;
	const struct fb_stage stage[STAGES] = {
		[REDUCE_SCATTER] = {FB_REDUCE_SCATTER, p->per_node, "direct"},
		[ALL_REDUCE] = {FB_ALL_REDUCE, p->nodes, "ring"},
		[ALL_GATHER] = {FB_ALL_GATHER, p->per_node, "direct"},
	};

	if (!fb_stages(shape, stage, STAGES, p->part, why, n))
		return false;
	/* A unit of scratch must be as long as that of the share it belongs to. */
	if (fb_part_scratch(p->part[ALL_REDUCE], p->nodes) > 1) {
		snprintf(why, n, "all_reduce %s needs too much scratch to be a part",
			 p->part[ALL_REDUCE]->name);
		return false;
	}
	p->share = fb_part_split(p->part[ALL_REDUCE], p->nodes);
	return true;
}

static bool can(const struct fb_shape *shape, char *why, size_t n)
{
	struct parts p;

	return find_parts(shape, &p, why, n);
}

static uint32_t split(const struct fb_shape *shape)
{
	struct parts p;
	char why[128];

	return find_parts(shape, &p, why, sizeof(why)) ? (uint32_t)p.per_node * p.share : 1;
}

static uint32_t scratch(const struct fb_shape *shape)
{
	struct parts p;
	char why[128];

	if (!find_parts(shape, &p, why, sizeof(why)))
		return 0;
	return 1 + fb_part_scratch(p.part[ALL_REDUCE], p.nodes);
}

static int build_stages(struct fb_builder *b, const struct parts *p, int *ranks)
{
	const struct fb_shape *shape = fb_shape(b);
	int self = fb_self(b), local = fb_local_of(shape, self), err;
	uint32_t block = (uint32_t)p->per_node * p->share, mine = (uint32_t)local * p->share;
	struct fb_view inside = {
		.ranks = ranks, .scale = p->share, .split = 1,
		.n = fb_node_ranks(shape, fb_node_of(shape, self), ranks),
		.collective = FB_REDUCE_SCATTER,
		.window = {
			[FB_IN] = {.buffer = FB_IN},
			[FB_OUT] = {.buffer = FB_SCRATCH, .rank_stride = p->share},
			[FB_SCRATCH] = {.buffer = FB_OUT},
		},
	};
	struct fb_view across = {
		.ranks = ranks, .n = p->nodes, .scale = 1, .split = p->share, .complete = true,
		.collective = FB_ALL_REDUCE,
		.window = {
			[FB_IN] = {.buffer = FB_SCRATCH, .base = mine},
			[FB_OUT] = {.buffer = FB_OUT, .base = mine},
			[FB_SCRATCH] = {.buffer = FB_SCRATCH, .base = block + mine},
		},
	};

	fb_lane(b, 0);
	err = fb_build_part(b, p->part[REDUCE_SCATTER], &inside);
	if (err)
		return err;
	fb_rail_ranks(shape, local, ranks);
	fb_round(b);
	err = fb_build_part(b, p->part[ALL_REDUCE], &across);
	if (err)
		return err;
	inside.n = fb_node_ranks(shape, fb_node_of(shape, self), ranks);
	inside.collective = FB_ALL_GATHER;
	inside.window[FB_IN] = (struct fb_window){.buffer = FB_OUT, .rank_stride = p->share};
	inside.window[FB_OUT] = (struct fb_window){.buffer = FB_OUT};
	fb_round(b);
	fb_lane(b, 0);
	return fb_build_part(b, p->part[ALL_GATHER], &inside);
}

static int build(struct fb_builder *b)
{
	struct parts p;
	char why[128];
	int *ranks, err;

	if (fb_self(b) < 0)
		return FB_OK;
	if (!find_parts(fb_shape(b), &p, why, sizeof(why)))
		return fb_error(FB_EPLAN, "all_reduce hierarchical: %s", why);
	ranks = malloc(sizeof(*ranks) * (size_t)fb_nranks(b));
	if (!ranks)
		return FB_ENOMEM;
	err = build_stages(b, &p, ranks);
	free(ranks);
	return err;
}

const struct fb_algorithm fb_all_reduce_hierarchical = {
	.name = "hierarchical",
	.collective = FB_ALL_REDUCE,
	.source = "BlueConnect (Cho et al. 2019)",
	.in_place = true,
	.stages = STAGES,
	.can = can,
	.split = split,
	.scratch = scratch,
	.build = build,
};
