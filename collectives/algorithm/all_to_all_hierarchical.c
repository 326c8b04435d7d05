/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_to_all, hierarchical: the ranks of a node first collect, at the rank that will send them,
 * all their blocks for one rank of another node, so that nodes exchange few large messages.
 *
 * With N nodes of L ranks a rank sends N - 1 messages of L blocks across, instead of (N - 1) L of
 * one block, and N (L - 1) blocks inside its node. For small and middle blocks between nodes.
 *
 * Nodes are paired as in pairwise: in turn k the partner of node a is (k - a) mod N. Inside the
 * node the blocks for the partner are collected, local rank l taking those for the partner's
 * local rank l; in the next turn they cross over while the next ones are collected. A turn only
 * overwrites blocks that were collected in an earlier one, so the same form works in place.
 *
 * Scratch, in runs of L blocks: two for collecting, in turn, and two where messages land that
 * cannot land in the output; their blocks are put in place in the turn after.
 */
#include "collectives/algorithm/compose.h"

#include <stdlib.h>

#include "common/base/error.h"

struct nodes {
	int n, size;	 /* nodes, and ranks in each */
	int node, local; /* of the rank being built for */
	bool in_place;
	int *ranks; /* [n * size]: by node and local rank */
};

static bool can(const struct fb_shape *shape, char *why, size_t n)
{
	return fb_ranks_per_node(shape, why, n) > 0;
}

static uint32_t scratch(const struct fb_shape *shape)
{
	return 4 * (uint32_t)(shape->nranks / fb_nodes(shape));
}

static int rank_at(const struct nodes *nodes, int node, int local)
{
	return nodes->ranks[node * nodes->size + local];
}

/*
 * Whether a message from `node` can land right in the output: its ranks are consecutive. With one
 * rank a node, collecting is only a copy, and copy and send become one step; in place, the two
 * partners' zero-copy writes would then wait for each other.
 */
static bool lands_in_output(const struct nodes *nodes, int node)
{
	if (nodes->in_place && nodes->size == 1)
		return false;
	for (int l = 1; l < nodes->size; l++)
		if (rank_at(nodes, node, l) != rank_at(nodes, node, 0) + l)
			return false;
	return true;
}

static int partner(const struct nodes *nodes, int turn)
{
	return (turn - nodes->node + nodes->n) % nodes->n;
}

/* The run of scratch where turn `turn` collects. */
static uint32_t collected(const struct nodes *nodes, int turn)
{
	return (uint32_t)(turn % 2 * nodes->size);
}

/* The run of scratch where the message of turn `turn` lands. */
static uint32_t landed(const struct nodes *nodes, int turn)
{
	return (uint32_t)((turn % 2 + 2) * nodes->size);
}

/* Local rank `from` hands local rank `to` its block for local rank `to` of the partner. */
static void hand(struct fb_builder *b, const struct nodes *nodes, int turn, int from, int to)
{
	uint32_t block = (uint32_t)rank_at(nodes, partner(nodes, turn), to);

	fb_copy(b,
		fb_chunk(rank_at(nodes, nodes->node, to), FB_SCRATCH,
			 collected(nodes, turn) + (uint32_t)from, 1),
		fb_chunk(rank_at(nodes, nodes->node, from), FB_IN, block, 1));
}

static void collect(struct fb_builder *b, const struct nodes *nodes, int turn)
{
	int size = nodes->size, local = nodes->local;

	for (int k = 1; k < size; k++) {
		hand(b, nodes, turn, local, (local + k) % size);
		hand(b, nodes, turn, (local - k + size) % size, local);
	}
	hand(b, nodes, turn, local, local);
}

/* Rank `from` of node `node` sends what it collected to `to`, which lies on another node. */
static void cross(struct fb_builder *b, const struct nodes *nodes, int turn, int node, int from,
		  int to)
{
	uint32_t size = (uint32_t)nodes->size;
	struct fb_chunk land = fb_chunk(to, FB_SCRATCH, landed(nodes, turn), size);

	if (lands_in_output(nodes, node))
		land = fb_chunk(to, FB_OUT, (uint32_t)rank_at(nodes, node, 0), size);
	fb_copy(b, land, fb_chunk(from, FB_SCRATCH, collected(nodes, turn), size));
}

/* Puts the blocks from `node`, which begin at block `at` of scratch, where they belong. */
static void place(struct fb_builder *b, const struct nodes *nodes, int node, uint32_t at)
{
	int self = fb_self(b);

	for (int l = 0; l < nodes->size; l++)
		fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)rank_at(nodes, node, l), 1),
			fb_chunk(self, FB_SCRATCH, at + (uint32_t)l, 1));
}

static void exchange(struct fb_builder *b, const struct nodes *nodes, int turn)
{
	int other = partner(nodes, turn), self = fb_self(b);
	int peer = rank_at(nodes, other, nodes->local);

	if (other == nodes->node) {
		place(b, nodes, other, collected(nodes, turn));
		return;
	}
	cross(b, nodes, turn, nodes->node, self, peer);
	cross(b, nodes, turn, other, peer, self);
}

static int build(struct fb_builder *b)
{
	const struct fb_shape *shape = fb_shape(b);
	int self = fb_self(b), n = fb_nodes(shape);
	struct nodes nodes = {.n = n, .size = shape->nranks / n, .in_place = shape->in_place};

	if (self < 0)
		return 0;
	nodes.node = fb_node_of(shape, self);
	nodes.local = fb_local_of(shape, self);
	nodes.ranks = malloc((size_t)shape->nranks * sizeof(*nodes.ranks));
	if (!nodes.ranks)
		return FB_ENOMEM;
	for (int r = 0; r < shape->nranks; r++)
		nodes.ranks[fb_node_of(shape, r) * nodes.size + fb_local_of(shape, r)] = r;
	for (int turn = 0; turn < nodes.n + 2; turn++, fb_round(b)) {
		int last = turn - 2;

		if (last >= 0 && partner(&nodes, last) != nodes.node &&
		    !lands_in_output(&nodes, partner(&nodes, last)))
			place(b, &nodes, partner(&nodes, last), landed(&nodes, last));
		if (turn >= 1 && turn <= nodes.n)
			exchange(b, &nodes, turn - 1);
		if (turn < nodes.n)
			collect(b, &nodes, turn);
	}
	free(nodes.ranks);
	return 0;
}

const struct fb_algorithm fb_all_to_all_hierarchical = {
	.name = "hierarchical",
	.collective = FB_ALL_TO_ALL,
	.source = "two-dimensional all_to_all: Hwang et al. 2022 (Tutel); NCCL PXN",
	.in_place = true,
	.can = can,
	.scratch = scratch,
	.build = build,
};
