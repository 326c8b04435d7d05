/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulator's scheduler: which thread of which rank's launch runs next is drawn at random; see
 * emulator.h.
 */
#ifndef FB_TESTS_CUDA_SCHEDULER_H
#define FB_TESTS_CUDA_SCHEDULER_H

#include <sched.h>
#include <time.h>

#include "tests/cuda/emulator.h"

static void emu_thread_main(void *arg)
{
	struct emu_thread *t = arg;
	struct emu_rank *r = &emu.ranks[t->rank];
	const struct emu_launch *l = &r->stream[r->next];

	l->kernel(l->args, r->blocks[t->block].shared);
	t->alive = false;
	emu.changes++;
}

/* Begins the rank's next launch. */
static void emu_start(int rank)
{
	struct emu_rank *r = &emu.ranks[rank];
	const struct emu_launch *l = &r->stream[r->next];

	memset(r->blocks, 0xee, sizeof(r->blocks));
	for (uint32_t b = 0; b < l->blocks; b++) {
		memset(&r->blocks[b], 0, offsetof(struct emu_block, shared));
		for (uint32_t t = 0; t < l->threads; t++) {
			int at = (rank * EMU_MOST_BLOCKS + (int)b) * EMU_MOST_THREADS + (int)t;
			struct emu_thread *thread = &emu.threads[at];

			thread->rank = rank;
			thread->block = b;
			thread->thread = t;
			thread->alive = true;
			emu_prepare(&thread->coroutine, emu_thread_main, thread);
		}
	}
	r->alive = l->blocks * l->threads;
}

/* Runs one thread until it yields. */
static void emu_step(struct emu_thread *t)
{
	emu.now = t;
	emu.switches++;
	emu_resume(t->coroutine);
	if (t->alive)
		return;
	if (--emu.ranks[t->rank].alive)
		return;
	if (++emu.ranks[t->rank].next < emu.ranks[t->rank].launches)
		emu_start(t->rank);
}

/*
 * Another rank to hold back, or none, for a time of any order: a short one comes between two
 * accesses, a long one lets the others finish calls of many threads without it.
 */
static void emu_hold(void)
{
	emu.held = (int)(emu_random() % (uint32_t)(emu.nranks + 1));
	emu.hold = UINT64_C(64) << emu_random() % 10;
}

/* A thread at random: any of the running launches', seldom of the rank that is held back. */
static struct emu_thread *emu_pick(void)
{
	for (;;) {
		int rank = (int)(emu_random() % (uint32_t)emu.nranks);
		const struct emu_rank *r = &emu.ranks[rank];
		const struct emu_launch *l = &r->stream[r->next];
		struct emu_thread *t;

		if (emu.hold-- == 0)
			emu_hold();
		if (r->next == r->launches || (rank == emu.held && emu_random() % 64))
			continue;
		t = &emu.threads[(rank * EMU_MOST_BLOCKS + (int)(emu_random() % l->blocks)) *
					 EMU_MOST_THREADS +
				 (int)(emu_random() % l->threads)];
		if (t->alive)
			return t;
	}
}

static bool emu_busy(void)
{
	for (int r = 0; r < emu.nranks; r++)
		if (emu.ranks[r].next < emu.ranks[r].launches)
			return true;
	return false;
}

/* Whether it has been quiet for too long; lets others run meanwhile. */
static bool emu_is_stuck(uint64_t quiet_switches, const struct timespec *since)
{
	struct timespec now;

	if (!emu.patience_s)
		return quiet_switches >= 400000;
	if (quiet_switches)
		sched_yield();
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - since->tv_sec > (time_t)emu.patience_s;
}

/* Runs all ranks' launches to the end; false for a deadlock. Streams are set before. */
static inline bool emu_run(uint64_t seed)
{
	uint64_t changes = 0, since = 0;
	struct timespec clock;
	bool busy;

	emu.random = seed * 0x9e3779b97f4a7c15u + 1;
	emu.changes = emu.switches = 0;
	emu.held = emu.nranks;
	emu.hold = 0;
	for (int r = 0; r < emu.nranks; r++)
		if (emu.ranks[r].launches)
			emu_start(r);
	clock_gettime(CLOCK_MONOTONIC, &clock);
	while ((busy = emu_busy()) && !emu_is_stuck(emu.switches - since, &clock)) {
		for (int i = 0; i < 256 && emu_busy(); i++)
			emu_step(emu_pick());
		if (emu.changes != changes) {
			changes = emu.changes;
			since = emu.switches;
			clock_gettime(CLOCK_MONOTONIC, &clock);
		}
	}
	/* What hangs is left as it is; its coroutines are made anew. */
	for (int i = 0; busy && i < EMU_MOST_RANKS * EMU_MOST_BLOCKS * EMU_MOST_THREADS; i++)
		emu.threads[i].alive = false;
	return !busy;
}

#endif
