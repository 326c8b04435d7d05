/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Composed algorithms with every combination of parts: "ring+tree+ring" and all others the
 * registry allows are either refused with a reason or proved.
 */
#include "collectives/algorithm/algorithm.h"
#include "common/plan/check.h"
#include "tests/unit/check.h"

enum { NONE = -1, MAX_RANKS = 8, STAGE_CHARS = 96 };

/* A composed algorithm and the collectives of its parts. */
static const struct {
	enum fb_collective collective;
	const char *name;
	int parts[3];
} composed[] = {
	{FB_ALL_REDUCE, "hierarchical", {FB_REDUCE_SCATTER, FB_ALL_REDUCE, FB_ALL_GATHER}},
	{FB_ALL_REDUCE, "leader_tree", {FB_REDUCE, FB_ALL_REDUCE, FB_BROADCAST}},
	{FB_ALL_GATHER, "hierarchical", {FB_ALL_GATHER, FB_ALL_GATHER, NONE}},
	{FB_REDUCE_SCATTER, "hierarchical", {FB_REDUCE_SCATTER, FB_REDUCE_SCATTER, NONE}},
};

static int proved, refused;

static void prove(const struct fb_algorithm *a, const char *stages, int nodes, int per_node,
		  bool direct)
{
	int node_of[MAX_RANKS], local[MAX_RANKS], n = nodes * per_node;
	struct fb_topology topology = {.nranks = n, .nnodes = nodes, .node_of = node_of,
				       .local_rank_of = local};
	struct fb_shape shape = {.collective = a->collective, .nranks = n, .nchannels = 2,
				 .channel = 1, .topology = &topology, .stages = stages,
				 .in_place = direct};
	struct fb_check_options options = {.slots = direct ? 8 : 1, .slices = 2, .runs = 2};
	struct fb_check_report report;
	char why[FB_WHY_CHARS] = "";

	for (int r = 0; r < n; r++) {
		node_of[r] = r / per_node;
		local[r] = r % per_node;
	}
	if (!fb_algorithm_can(a, &shape, why, sizeof(why))) {
		CHECK(why[0] != '\0');
		refused++;
		return;
	}
	proved++;
	if (!check_that(!fb_check(a, &shape, direct, &options, &report), "a composition",
			__FILE__, __LINE__))
		printf("\t%s:%s on %d nodes x %d, direct %d: %s\n", a->name, stages, nodes,
		       per_node, direct, report.why);
}

/* The i-th algorithm of a collective, or NULL after the last. */
static const struct fb_algorithm *nth(int collective, int i)
{
	for (int k = 0; k < fb_algorithm_count; k++)
		if ((int)fb_algorithms[k]->collective == collective && !i--)
			return fb_algorithms[k];
	return NULL;
}

static void prove_stages(const struct fb_algorithm *a, const char *stages)
{
	static const int nodes[][2] = {{2, 1}, {2, 3}, {4, 2}};

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		for (int direct = 0; direct < 2; direct++)
			prove(a, stages, nodes[i][0], nodes[i][1], direct);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(composed) / sizeof(composed[0]); i++) {
		const struct fb_algorithm *a = fb_algorithm_find(composed[i].collective,
								 composed[i].name);
		const int *parts = composed[i].parts;
		const struct fb_algorithm *x, *y, *z;
		char stages[STAGE_CHARS];

		for (int p = 0; (x = nth(parts[0], p)); p++)
			for (int q = 0; (y = nth(parts[1], q)); q++) {
				snprintf(stages, sizeof(stages), "%s+%s", x->name, y->name);
				if (parts[2] == NONE)
					prove_stages(a, stages);
				for (int r = 0; parts[2] != NONE && (z = nth(parts[2], r)); r++) {
					snprintf(stages, sizeof(stages), "%s+%s+%s", x->name,
						 y->name, z->name);
					prove_stages(a, stages);
				}
			}
	}
	printf("%d compositions proved, %d refused\n", proved, refused);
	CHECK(proved > 1000);
	return check_done("stages");
}
