/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 3 4 5
 *
 * Does nobody leave the barrier before everybody has come? Each rank publishes the number of the
 * barrier it enters; after leaving, it must find no lower number anywhere. Both ways (memory and
 * messages), with ranks that come late in turn.
 */
#include "common/base/error.h"
#include "common/measure/barrier.h"
#include "tests/unit/check.h"

#include <stdatomic.h>
#include <time.h>

enum { ROUNDS = 300 };

static void be_late(int rank, int round)
{
	const struct timespec t = {.tv_nsec = 200000};

	if (round % 16 == rank)
		nanosleep(&t, NULL);
}

static void test_way(const struct fb_group *world, bool messages)
{
	struct fb_node_memory memory = {0};
	struct fb_barrier barrier = {0};
	_Atomic int *entered;
	int early = 0, ahead = 0;

	CHECK_INT(fb_node_memory_open(&memory, world, (size_t)world->nranks * sizeof(int)), FB_OK);
	CHECK_INT(fb_barrier_open(&barrier, world, messages), FB_OK);
	entered = memory.base;
	for (int round = 1; round <= ROUNDS; round++) {
		be_late(world->rank, round);
		atomic_store_explicit(&entered[world->rank], round, memory_order_relaxed);
		fb_barrier_wait(&barrier);
		for (int r = 0; r < world->nranks; r++) {
			/* Relaxed: the barrier itself must make the stores visible. */
			int at = atomic_load_explicit(&entered[r], memory_order_relaxed);

			early += at < round ? 1 : 0;
			ahead += at > round + 1 ? 1 : 0;
		}
	}
	CHECK_INT(early, 0);
	CHECK_INT(ahead, 0); /* nobody gets through the next barrier without this rank */
	CHECK_INT(barrier.epoch, ROUNDS);
	fb_barrier_close(&barrier);
	fb_node_memory_close(&memory);
}

int main(int argc, char **argv)
{
	struct fb_group world;
	int failed;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	if (!fb_group_one_host(&world)) {
		fb_group_close(&world);
		printf("SKIP barrier: the ranks are on several hosts\n");
		return CHECK_SKIP;
	}
	test_way(&world, false);
	test_way(&world, true);
	/* Pretended nodes change who is whose neighbour, not the way of the barrier. */
	if (world.nranks % 2 == 0) {
		CHECK_INT(fb_group_pretend_nodes(&world, 2), FB_OK);
		CHECK_INT(world.nnodes, 2);
		CHECK_INT(world.local_ranks, world.nranks / 2);
		CHECK_INT(world.node, world.rank / (world.nranks / 2));
		test_way(&world, false);
	}
	failed = fb_group_agree(&world, check_failures ? -1 : 0);
	if (world.rank == 0 || check_failures)
		check_done("barrier");
	fb_group_close(&world);
	return failed ? 1 : 0;
}
