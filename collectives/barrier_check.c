/* SPDX-License-Identifier: BSD-3-Clause */
/* Verification of barriers; see barrier_check.h. */
#include "collectives/barrier_check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "common/base/error.h"

enum {
	/* Each of up to 4 ranks is late twice, to find a barrier that works only the first time. */
	ROUNDS = 8,
	LATE_NS = 200000,    /* far more than ranks differ by themselves */
};

/* How many barriers a rank has entered: at the begin of its part, see buffers.h. */
static _Atomic uint64_t *entered(const struct fb_operation *op, int rank)
{
	return (_Atomic uint64_t *)(void *)fb_segment_part(op->segment, rank);
}

static void find_missing(const struct fb_collective_instance *i, struct fb_mismatch *bad)
{
	const struct fb_collective_state *state = i->state;
	const struct fb_group *world = state->world;

	for (int r = 0; r < world->nranks; r++) {
		const _Atomic uint64_t *flag = entered(&i->op, r);

		if (!flag || atomic_load_explicit(flag, memory_order_acquire) >= state->barriers)
			continue;
		if (bad->errors++ > 0)
			continue;
		bad->index = (uint64_t)r;
		snprintf(bad->got, sizeof(bad->got), "not entered");
		snprintf(bad->expected, sizeof(bad->expected), "entered");
	}
}

int fb_barrier_check(struct fb_collective_instance *i, struct fb_mismatch *bad)
{
	const struct timespec late = {.tv_nsec = LATE_NS};
	const struct fb_group *world = i->state->world;
	int err = FB_OK;

	for (int round = 0; round < ROUNDS && !err; round++) {
		if (round % world->nranks == world->rank)
			nanosleep(&late, NULL);
		/* The count only grows, so the value of an earlier barrier is too small to pass. */
		atomic_store_explicit(entered(&i->op, world->rank), ++i->state->barriers,
				      memory_order_release);
		err = i->ops->start(i->request);
		if (!err)
			err = i->ops->wait(i->request);
		if (!err)
			find_missing(i, bad);
	}
	return err;
}
