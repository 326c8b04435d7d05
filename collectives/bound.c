/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what bounds collectives in shared memory; see bound.h.
 *
 * Ranks synchronise through the harness's barrier and leave their times in shared memory, so
 * that even with more ranks than processors no MPI library's waiting gets in the way.
 */
#include "collectives/bound.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "common/base/spin.h"
#include "common/measure/barrier.h"
#include "common/memory/segment.h"

enum {
	HEAD_BYTES = 4096,         /* struct head; then the source, then the destination */
	LARGEST_BYTES = 4 << 20,
	LEAST_LARGEST_BYTES = 1 << 20,
	ALL_RANKS_BYTES = 64 << 20, /* the largest size is less where there are many ranks */
	BYTES_PER_TRY = 2 << 20,   /* small sizes repeat until a try has moved as much */
	TRIES = 3,
	ROUND_TRIPS = 8,
	PING_PEERS = 8,
	PING_US = 1000,            /* per peer */
	MOST_PING_US = 10000,
	SLOW_PING_US = 2,          /* two processors of one host are nearer than that */
};

/* Ends a peer's answers. */
#define STOP UINT64_MAX

/* Begin of each rank's part. */
struct head {
	_Alignas(64) _Atomic uint64_t ping; /* written by the other side */
	_Alignas(64) double start_us, end_us;
};

struct probe {
	const struct fb_group *world;
	struct fb_segment segment;
	struct fb_barrier barrier;
	size_t largest;
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static struct head *head_of(const struct probe *p, int rank)
{
	return (struct head *)(void *)fb_segment_part(&p->segment, rank);
}

static char *source_of(const struct probe *p, int rank)
{
	return fb_segment_part(&p->segment, rank) + HEAD_BYTES;
}

/*
 * Waits until the flag is `value` or more, and returns it. Acquire: as a message's receiver would
 * read data after it.
 */
static uint64_t await(const struct probe *p, const _Atomic uint64_t *flag, uint64_t value)
{
	struct fb_spin spin = {.yields = p->world->oversubscribed};
	uint64_t seen;

	while ((seen = atomic_load_explicit(flag, memory_order_acquire)) < value)
		(void)fb_spin_again(&spin);
	return seen;
}

static void tell(_Atomic uint64_t *flag, uint64_t value)
{
	atomic_store_explicit(flag, value, memory_order_release);
}

/* The peer's side: sends every number back until told to stop. */
static void answer(const struct probe *p)
{
	struct head *own = head_of(p, p->world->rank), *asker = head_of(p, 0);
	uint64_t seen = 0;

	while (seen != STOP) {
		seen = await(p, &own->ping, seen + 1);
		if (seen != STOP)
			tell(&asker->ping, seen);
	}
}

/*
 * Rank 0's side: half of the least round trip, as the mean of a few in a row. It goes on for a
 * while, and for longer where no trip was quick: somebody else may have had the processor.
 */
static double ask(const struct probe *p, int peer)
{
	struct head *own = head_of(p, 0), *other = head_of(p, peer);
	double begin = now_us(), now = begin, least = HUGE_VAL;
	uint64_t n = 0;

	while (now - begin < PING_US || (least > SLOW_PING_US && now - begin < MOST_PING_US)) {
		double start = now_us();

		for (int trip = 0; trip < ROUND_TRIPS; trip++) {
			tell(&other->ping, ++n);
			(void)await(p, &own->ping, n);
		}
		now = now_us();
		least = fmin(least, (now - start) / (2 * ROUND_TRIPS));
	}
	tell(&own->ping, 0);
	tell(&other->ping, STOP);
	return least;
}

/*
 * Rank 0 with ranks 1, 2, 4 and 8: the nearest of its peers need not be rank 1, as ranks may go
 * round sockets or processors. On other ranks than 0 infinite.
 */
static double measure_alpha(struct probe *p)
{
	double least = HUGE_VAL;

	for (int peer = 1; peer < p->world->nranks && peer <= PING_PEERS; peer *= 2) {
		if (p->world->rank == 0)
			least = fmin(least, ask(p, peer));
		else if (p->world->rank == peer)
			answer(p);
		fb_barrier_wait(&p->barrier);
	}
	return least;
}

/* Takes `bytes` from the next rank's memory, often enough. */
static void move(const struct probe *p, size_t bytes, bool copies)
{
	const struct fb_group *w = p->world;
	const char *from = source_of(p, (w->rank + 1) % w->nranks);
	char *own = source_of(p, w->rank), *to = own + p->largest;

	for (size_t done = 0; done < BYTES_PER_TRY; done += bytes) {
		/* All sources are equal, so comparing reads them to the end. */
		if (copies)
			memcpy(to, from, bytes);
		else if (memcmp(own, from, bytes) != 0)
			return;
		/* Memory may have changed, as far as the compiler knows: do it again. */
		__asm__ volatile("" ::: "memory");
	}
}

/*
 * One try, in us: from the first rank's begin to the last one's end. Where ranks outnumber
 * processors they cannot all move at once, and waiting for each other would measure the
 * scheduler: then it is this rank's own time, of which the least is that of a free processor.
 */
static double try_once(struct probe *p, size_t bytes, bool copies, bool alone)
{
	const struct fb_group *w = p->world;
	struct head *head = head_of(p, w->rank);
	double start, end;

	if (w->oversubscribed) {
		start = now_us();
		move(p, bytes, copies);
		return now_us() - start;
	}
	fb_barrier_wait(&p->barrier);
	head->start_us = alone && w->rank ? HUGE_VAL : now_us();
	if (!alone || !w->rank)
		move(p, bytes, copies);
	head->end_us = alone && w->rank ? 0 : now_us();
	fb_barrier_wait(&p->barrier);
	start = HUGE_VAL;
	end = 0;
	for (int r = 0; r < w->nranks; r++) {
		start = fmin(start, head_of(p, r)->start_us);
		end = fmax(end, head_of(p, r)->end_us);
	}
	/* The next try writes the heads again. */
	fb_barrier_wait(&p->barrier);
	return end - start;
}

static double least_us(struct probe *p, size_t bytes, bool copies, bool alone)
{
	double least = HUGE_VAL;

	for (int i = 0; i < TRIES; i++)
		least = fmin(least, try_once(p, bytes, copies, alone));
	return least;
}

static void measure(struct probe *p, struct fb_bound *bound)
{
	enum { ALPHA, COPY, READ = COPY + 2 * FB_BOUND_SIZES, FIGURES = READ + 2 * FB_BOUND_SIZES };
	const size_t bytes[FB_BOUND_SIZES] = {16 << 10, 256 << 10, p->largest};
	const struct fb_group *w = p->world;
	double us[FIGURES];

	memset(source_of(p, w->rank), 1, 2 * p->largest);
	fb_barrier_wait(&p->barrier);
	us[ALPHA] = measure_alpha(p);
	for (int k = 0; k < 2 * FB_BOUND_SIZES; k++) {
		size_t size = bytes[k % FB_BOUND_SIZES];
		bool alone = k >= FB_BOUND_SIZES;

		us[COPY + k] = least_us(p, size, true, alone);
		us[READ + k] = least_us(p, size, false, alone);
	}
	MPI_Allreduce(MPI_IN_PLACE, us, FIGURES, MPI_DOUBLE, MPI_MIN, w->comm);
	*bound = (struct fb_bound){.known = true, .alpha_us = us[ALPHA]};
	for (int k = 0; k < 2 * FB_BOUND_SIZES; k++) {
		int alone = k / FB_BOUND_SIZES, i = k % FB_BOUND_SIZES;
		size_t repeats = (BYTES_PER_TRY + bytes[i] - 1) / bytes[i];
		double moved = (double)(bytes[i] * repeats);

		/* All ranks at once have only their share of too few processors. */
		if (w->oversubscribed && !alone)
			moved *= (double)w->cpus / w->nranks;
		bound->bytes[i] = bytes[i];
		/* Comparing reads two streams, as combining does. */
		bound->copy_per_us[alone][i] = moved / us[COPY + k];
		bound->read_per_us[alone][i] = 2 * moved / us[READ + k];
		bound->known &= us[COPY + k] > 0 && us[READ + k] > 0;
	}
}

int fb_bound_measure(struct fb_bound *bound, const struct fb_group *world)
{
	struct probe p = {.world = world};
	size_t share = ALL_RANKS_BYTES / (size_t)world->nranks;
	int err;

	*bound = (struct fb_bound){.known = false};
	if (world->nranks < 2 || !fb_group_one_host(world))
		return 0;
	p.largest = share > LARGEST_BYTES ? LARGEST_BYTES : share;
	p.largest = p.largest < LEAST_LARGEST_BYTES ? LEAST_LARGEST_BYTES : p.largest;
	p.largest &= ~(size_t)4095;
	err = fb_segment_open(&p.segment, world, HEAD_BYTES + 2 * p.largest, FB_PAGES_NORMAL);
	if (err)
		return err;
	err = fb_barrier_open(&p.barrier, world, false);
	if (!err)
		measure(&p, bound);
	fb_barrier_close(&p.barrier);
	fb_segment_close(&p.segment);
	return err;
}

/* How much of what is moved is combined with the rank's own, not stored as it comes. */
static double combined_share(enum fb_collective collective)
{
	/* An all_reduce combines on the way in and copies on the way out. */
	if (collective == FB_ALL_REDUCE)
		return 0.5;
	return fb_collective_info(collective)->reduces ? 1.0 : 0.0;
}

double fb_bound_us(const struct fb_bound *bound, enum fb_collective collective, uint64_t bytes,
		   double moved)
{
	double combined = moved * combined_share(collective), us;
	int alone = fb_collective_info(collective)->has_root, i = 0;

	if (!bound->known || (bytes == 0 && collective != FB_BARRIER))
		return nan("");
	/* The rate of the largest size measured that is not larger: no faster than the truth. */
	while (i + 1 < FB_BOUND_SIZES && bound->bytes[i + 1] <= bytes)
		i++;
	us = (moved - combined) / bound->copy_per_us[alone][i] +
	     combined / bound->read_per_us[alone][i];
	return fmax(bound->alpha_us, us);
}
