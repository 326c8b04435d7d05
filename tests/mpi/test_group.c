/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 4 5
 *
 * Groups that are parts of the world: their numbering, their nodes, and that two groups at the same
 * time have barriers, shared memory and communicators of their own.
 */
#include "common/base/error.h"
#include "common/measure/barrier.h"
#include "tests/unit/check.h"

/* Ranks 0, 2, 4... and 1, 3, 5...; each group alone must see its own sum and its own memory. */
static void test_halves(const struct fb_group *world)
{
	struct fb_node_memory memory = {0};
	struct fb_barrier barrier = {0};
	struct fb_group half;
	int *slot, mine, wrong = 0;

	CHECK_INT(fb_group_split(world, world->rank % 2, &half), FB_OK);
	CHECK_INT(half.nranks, (world->nranks + 1 - world->rank % 2) / 2);
	CHECK_INT(half.rank, world->rank / 2);
	CHECK(!half.world);
	for (int r = 0; r < half.nranks; r++) {
		CHECK_INT(half.world_rank_of[r], 2 * r + world->rank % 2);
		CHECK_INT(half.node_of[r], 0);
		CHECK_INT(half.local_rank_of[r], r);
	}
	CHECK_INT(half.local_ranks, half.nranks);
	CHECK_INT(fb_node_memory_open(&memory, &half, (size_t)half.nranks * sizeof(int)), FB_OK);
	CHECK_INT(fb_barrier_open(&barrier, &half, false), FB_OK);
	slot = memory.base;
	mine = 100 + world->rank;
	slot[half.rank] = mine;
	fb_barrier_wait(&barrier);
	for (int r = 0; r < half.nranks; r++)
		wrong += slot[r] != 100 + 2 * r + world->rank % 2;
	CHECK_INT(wrong, 0);
	CHECK_INT(fb_group_worst(&half, -1 - world->rank % 2), -1 - world->rank % 2);
	fb_barrier_wait(&barrier);
	fb_barrier_close(&barrier);
	fb_node_memory_close(&memory);
	fb_group_close(&half);
	CHECK_INT(half.nranks, 0);
}

/* Rank 0 is in no group; the others are one, with the nodes of a pretended division into two. */
static void test_rest(struct fb_group *world)
{
	struct fb_group rest;

	CHECK_INT(fb_group_pretend_nodes(world, world->nranks % 2 ? 1 : 2), FB_OK);
	CHECK_INT(fb_group_split(world, world->rank ? 7 : -1, &rest), FB_OK);
	CHECK_INT(rest.nranks, world->rank ? world->nranks - 1 : 0);
	for (int r = 0; r < rest.nranks; r++) {
		CHECK_INT(rest.world_rank_of[r], r + 1);
		CHECK_INT(rest.node_of[r], world->node_of[r + 1] - world->node_of[1]);
	}
	if (rest.nranks)
		CHECK_INT(rest.local_rank_of[rest.rank],
			  world->local_rank - (world->node == world->node_of[0] ? 1 : 0));
	fb_group_close(&rest);
}

int main(int argc, char **argv)
{
	struct fb_group world;
	int failed;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	test_halves(&world);
	test_rest(&world);
	failed = fb_group_agree(&world, check_failures ? -1 : 0);
	if (world.rank == 0 || check_failures)
		check_done("group");
	fb_group_close(&world);
	return failed ? 1 : 0;
}
