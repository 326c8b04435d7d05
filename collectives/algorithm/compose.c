/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Composition. Parts are looked up by name, so that any two algorithms of fitting collectives
 * can be combined from the command line, and are given windows of the whole's buffers instead
 * of copies.
 */
#include "collectives/algorithm/compose.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 64 };

static struct fb_shape part_shape(enum fb_collective collective, int nranks)
{
	return (struct fb_shape){.collective = collective, .nranks = nranks, .nchannels = 1};
}

/* Takes the next name off *list into name[MAX_NAME]; false at the end of the list. */
static bool next_name(const char **list, char *name)
{
	size_t n = strcspn(*list, "+");

	if (!**list)
		return false;
	snprintf(name, MAX_NAME, "%.*s", n < MAX_NAME ? (int)n : MAX_NAME - 1, *list);
	*list += n + ((*list)[n] == '+');
	return true;
}

bool fb_stages(const struct fb_shape *shape, const struct fb_stage *stage, int n,
	       const struct fb_algorithm **part, char *why, size_t nwhy)
{
	const char *list = shape->stages;
	char name[MAX_NAME];

	for (int i = 0; i < n; i++) {
		const char *collective = fb_collective_info(stage[i].collective)->name;
		struct fb_shape sub = part_shape(stage[i].collective, stage[i].nranks);

		if (list && !next_name(&list, name)) {
			snprintf(why, nwhy, "stages \"%s\": %d are needed", shape->stages, n);
			return false;
		}
		part[i] = fb_algorithm_find(stage[i].collective, list ? name : stage[i].name);
		if (!part[i]) {
			snprintf(why, nwhy, "no %s algorithm named %s", collective,
				 list ? name : stage[i].name);
			return false;
		}
		if (part[i]->can && !part[i]->can(&sub, why, nwhy))
			return false;
	}
	if (list && *list) {
		snprintf(why, nwhy, "stages \"%s\": only %d are needed", shape->stages, n);
		return false;
	}
	return true;
}

uint32_t fb_part_split(const struct fb_algorithm *part, int nranks)
{
	struct fb_shape sub = part_shape(part->collective, nranks);

	return part->split ? part->split(&sub) : 1;
}

uint32_t fb_part_scratch(const struct fb_algorithm *part, int nranks)
{
	struct fb_shape sub = part_shape(part->collective, nranks);

	return part->scratch ? part->scratch(&sub) : 0;
}

int fb_nodes(const struct fb_shape *shape)
{
	return shape->topology ? shape->topology->nnodes : 1;
}

int fb_node_of(const struct fb_shape *shape, int rank)
{
	return shape->topology ? shape->topology->node_of[rank] : 0;
}

int fb_local_of(const struct fb_shape *shape, int rank)
{
	return shape->topology ? shape->topology->local_rank_of[rank] : rank;
}

int fb_ranks_per_node(const struct fb_shape *shape, char *why, size_t n)
{
	int nodes = fb_nodes(shape), per_node = shape->nranks / nodes;

	if (nodes < 2) {
		snprintf(why, n, "needs two nodes or more");
		return 0;
	}
	/* Local ranks count up from 0, so none beyond the mean means that all are equal. */
	for (int rank = 0; rank < shape->nranks; rank++)
		if (shape->nranks % nodes || fb_local_of(shape, rank) >= per_node) {
			snprintf(why, n, "needs the same number of ranks on every node");
			return 0;
		}
	return per_node;
}

bool fb_nodes_in_order(const struct fb_shape *shape, int per_node, char *why, size_t n)
{
	for (int rank = 0; rank < shape->nranks; rank++)
		if (fb_node_of(shape, rank) * per_node + fb_local_of(shape, rank) != rank) {
			snprintf(why, n, "needs consecutive ranks on every node");
			return false;
		}
	return true;
}

int fb_node_ranks(const struct fb_shape *shape, int node, int *ranks)
{
	int n = 0;

	for (int rank = 0; rank < shape->nranks; rank++)
		if (fb_node_of(shape, rank) == node) {
			ranks[fb_local_of(shape, rank)] = rank;
			n++;
		}
	return n;
}

void fb_rail_ranks(const struct fb_shape *shape, int local, int *ranks)
{
	int nodes = fb_nodes(shape);

	/* First the number of ranks of each node, then the rank chosen by it. */
	memset(ranks, 0, sizeof(*ranks) * (size_t)nodes);
	for (int rank = 0; rank < shape->nranks; rank++)
		ranks[fb_node_of(shape, rank)]++;
	for (int node = 0; node < nodes; node++)
		ranks[node] = -1 - local % ranks[node];
	for (int rank = 0; rank < shape->nranks; rank++)
		if (ranks[fb_node_of(shape, rank)] == -1 - fb_local_of(shape, rank))
			ranks[fb_node_of(shape, rank)] = rank;
}

int fb_build_two_phases(struct fb_builder *b, const struct fb_algorithm *reduce_scatter,
			const struct fb_algorithm *all_gather, const int *ranks, uint32_t base)
{
	struct fb_view view = {
		.ranks = ranks, .n = fb_nranks(b), .collective = FB_REDUCE_SCATTER,
		.scale = 1, .split = 1, .complete = true,
		.window = {
			[FB_IN] = {.buffer = FB_IN, .base = base},
			[FB_OUT] = {.buffer = FB_OUT, .base = base, .rank_stride = 1},
			[FB_SCRATCH] = {.buffer = FB_OUT, .base = base},
		},
	};
	int err = fb_build_part(b, reduce_scatter, &view);

	if (err)
		return err;
	view.collective = FB_ALL_GATHER;
	view.window[FB_IN] = (struct fb_window){.buffer = FB_OUT, .base = base, .rank_stride = 1};
	view.window[FB_OUT] = (struct fb_window){.buffer = FB_OUT, .base = base};
	fb_round(b);
	return fb_build_part(b, all_gather, &view);
}

uint32_t fb_split_per_rank(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}
