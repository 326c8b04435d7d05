/* SPDX-License-Identifier: BSD-3-Clause */
/* The dissemination barrier; see barrier.h. */
#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/measure/barrier.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/*
 * 128 bytes: two cache lines, since processors prefetch lines in pairs, and some AArch64
 * processors have lines of that length.
 */
enum { FLAG_BYTES = 128, SPINS_BEFORE_YIELD = 64, SPINS_PER_PROGRESS = 512, TAG = 1 };

struct flag {
	_Atomic uint64_t epoch;
	char pad[FLAG_BYTES - sizeof(uint64_t)];
};

int fb_barrier_open(struct fb_barrier *barrier, const struct fb_group *world, bool messages)
{
	struct fb_barrier b = {
		.comm = MPI_COMM_NULL,
		.rank = world->rank,
		.nranks = world->nranks,
		.yields = world->oversubscribed,
	};
	int err;

	while ((1ll << b.rounds) < b.nranks)
		b.rounds++;
	if (fb_group_one_host(world) && !messages) {
		size_t flags = (size_t)b.nranks * (size_t)(b.rounds ? b.rounds : 1);

		err = fb_node_memory_open(&b.memory, world, flags * sizeof(struct flag));
		if (err)
			return err;
	} else if (MPI_Comm_dup(world->comm, &b.comm) != MPI_SUCCESS) {
		return fb_error(FB_EMPI, "the barrier's communicator could not be made");
	}
	*barrier = b;
	return FB_OK;
}

/*
 * MPI libraries may leave work of a completed call to the next call: for example, the sender of a
 * fetched message may not know yet that it was fetched. A rank that waits here makes no MPI call,
 * while the ranks that it waits for may need that work. So it calls MPI about every 20 us.
 */
static void let_mpi_work(void)
{
	int flag;

	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void wait_memory(struct fb_barrier *b)
{
	struct flag *flags = b->memory.base;
	uint64_t epoch = b->epoch;

	for (int round = 0; round < b->rounds; round++) {
		int to = (int)((b->rank + (1ll << round)) % b->nranks);
		struct flag *mine = &flags[b->rank * b->rounds + round];
		unsigned spins = 0;

		/*
		 * Release: what this rank (and, by the earlier rounds' acquires, those before
		 * it) wrote is visible to whoever acquires the flag. A sender can be one barrier
		 * ahead, as it may leave before this rank has looked, hence < and not !=; it
		 * can not be two ahead, as it needs this rank's signal of the next one first.
		 */
		atomic_store_explicit(&flags[to * b->rounds + round].epoch, epoch,
				      memory_order_release);
		while (atomic_load_explicit(&mine->epoch, memory_order_acquire) < epoch) {
			fb_pause();
			if (++spins >= SPINS_BEFORE_YIELD && b->yields)
				sched_yield();
			if (spins % SPINS_PER_PROGRESS == 0)
				let_mpi_work();
		}
	}
}

static void wait_messages(struct fb_barrier *b)
{
	for (int round = 0; round < b->rounds; round++) {
		long long distance = 1ll << round;
		int to = (int)((b->rank + distance) % b->nranks);
		int from = (int)((b->rank - distance + b->nranks) % b->nranks);

		MPI_Sendrecv(NULL, 0, MPI_BYTE, to, TAG, NULL, 0, MPI_BYTE, from, TAG, b->comm,
			     MPI_STATUS_IGNORE);
	}
}

void fb_barrier_wait(struct fb_barrier *barrier)
{
	barrier->epoch++;
	if (barrier->memory.base)
		wait_memory(barrier);
	else
		wait_messages(barrier);
}

void fb_barrier_close(struct fb_barrier *barrier)
{
	fb_node_memory_close(&barrier->memory);
	if (barrier->nranks && barrier->comm != MPI_COMM_NULL)
		MPI_Comm_free(&barrier->comm);
	memset(barrier, 0, sizeof(*barrier));
}
