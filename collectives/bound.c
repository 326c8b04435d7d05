/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what bounds collectives in shared memory; see bound.h.
 *
 * Ranks synchronise through the harness's barrier, so that even with more ranks than processors no
 * MPI library's waiting gets in the way.
 */
#include "collectives/bound.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "collectives/traffic.h"
#include "common/base/copy.h"
#include "common/base/error.h"
#include "common/base/spin.h"

enum {
	HEAD_BYTES = 4096,         /* struct head; then the source, then the destination */
	LARGEST_BYTES = 4 << 20,
	LEAST_LARGEST_BYTES = 1 << 20,
	ALL_RANKS_BYTES = 64 << 20, /* the largest size is less where there are many ranks */
	PASS_BYTES = 256 << 10,    /* a small size is repeated until a pass has moved this much */
	LOOP_US = 300,             /* time for passes of one kind and size; the best pass counts */
	ROUND_TRIPS = 8,
	PING_PEERS = 8,
	PING_US = 1000,            /* per peer */
	MOST_PING_US = 10000,
	SLOW_PING_US = 2,          /* one way between two processors of a host takes less */
	POLLS = 1 << 14,           /* polls before the first pause, which takes as long as a poll */
};

/* Ends a peer's answers. */
#define STOP UINT64_MAX

/* Begin of each rank's part. */
struct head {
	_Alignas(64) _Atomic uint64_t ping; /* written by the other side */
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static struct head *head_of(const struct fb_bound *b, int rank)
{
	return (struct head *)(void *)fb_segment_part(&b->segment, rank);
}

/*
 * Waits until the flag is `value` or more, and returns it. It acquires the flag, as the receiver of
 * a message would before it reads the data.
 */
static uint64_t await(const struct fb_bound *b, const _Atomic uint64_t *flag, uint64_t value)
{
	struct fb_spin spin = {.yields = b->world->oversubscribed};
	uint64_t seen;

	for (int i = 0; i < POLLS && !b->world->oversubscribed; i++) {
		seen = atomic_load_explicit(flag, memory_order_acquire);
		if (seen >= value)
			return seen;
	}
	while ((seen = atomic_load_explicit(flag, memory_order_acquire)) < value)
		(void)fb_spin_again(&spin);
	return seen;
}

static void publish(_Atomic uint64_t *flag, uint64_t value)
{
	atomic_store_explicit(flag, value, memory_order_release);
}

/* The peer's side: sends every number back until rank 0 sends STOP. */
static void answer(const struct fb_bound *b)
{
	struct head *own = head_of(b, b->world->rank), *asker = head_of(b, 0);
	uint64_t seen = 0;

	while (seen != STOP) {
		seen = await(b, &own->ping, seen + 1);
		if (seen != STOP)
			publish(&asker->ping, seen);
	}
	publish(&own->ping, 0);
}

/*
 * Rank 0's side: returns half of the least round trip, in us, where each value is the mean of a few
 * trips in a row. It measures longer if no trip was quick, because another process may have had the
 * processor.
 */
static double ask(const struct fb_bound *b, int peer)
{
	struct head *own = head_of(b, 0), *other = head_of(b, peer);
	double begin = now_us(), now = begin, least = HUGE_VAL;
	uint64_t n = 0;

	while (now - begin < PING_US || (least > SLOW_PING_US && now - begin < MOST_PING_US)) {
		double start = now_us();

		for (int trip = 0; trip < ROUND_TRIPS; trip++) {
			publish(&other->ping, ++n);
			(void)await(b, &own->ping, n);
		}
		now = now_us();
		least = fmin(least, (now - start) / (2 * ROUND_TRIPS));
	}
	publish(&own->ping, 0);
	publish(&other->ping, STOP);
	return least;
}

/*
 * Collective. Measures rank 0 with ranks 1, 2, 4 and 8, up to `most`, and keeps the least time. The
 * nearest peer need not be rank 1, because launchers may place ranks round-robin over sockets.
 */
static void measure_alpha(struct fb_bound *b, int most)
{
	double least = b->alpha_us;

	for (int peer = 1; peer < b->world->nranks && peer <= most; peer *= 2) {
		if (b->world->rank == 0)
			least = fmin(least, ask(b, peer));
		else if (b->world->rank == peer)
			answer(b);
		fb_barrier_wait(&b->barrier);
	}
	MPI_Bcast(&least, 1, MPI_DOUBLE, 0, b->world->comm);
	b->alpha_us = least;
}

/* Passes once over `bytes` of this rank's memory; streams: with non-temporal stores. */
static void pass(const struct fb_bound *b, enum fb_bound_kind kind, size_t bytes, bool streams)
{
	char *from = fb_segment_part(&b->segment, b->world->rank) + HEAD_BYTES;
	char *to = from + b->bytes[FB_BOUND_SIZES - 1];
	size_t least = b->bytes[0];

	if (kind == FB_BOUND_READ)
		/* Both are equal, so comparing reads them to the end. */
		(void)!memcmp(from, to, bytes);
	else if (kind == FB_BOUND_COPY && !streams)
		memcpy(to, from, bytes);
	else if (kind == FB_BOUND_COPY)
		fb_stream_copy(to, from, bytes);
	else if (!streams)
		memset(to, 1, bytes);
	else
		for (size_t at = 0; at < bytes; at += least)
			fb_stream_copy(to + at, from, least);
	/* Memory may have changed, as far as the compiler knows: do it again. */
	__asm__ volatile("" ::: "memory");
}

/*
 * This rank's best rate in bytes per us, while all ranks do the same. Only passes that end within
 * LOOP_US count, because later the other ranks may have stopped. The first pass always counts.
 */
static double best_rate(const struct fb_bound *b, enum fb_bound_kind kind, size_t bytes,
			bool streams)
{
	int repeats = (int)((PASS_BYTES + bytes - 1) / bytes);
	double begin = now_us(), start = begin, end = begin, least = HUGE_VAL;

	while (end - begin < LOOP_US) {
		for (int i = 0; i < repeats; i++)
			pass(b, kind, bytes, streams);
		fb_stream_fence();
		end = now_us();
		if (end - begin < LOOP_US || isinf(least))
			least = fmin(least, end - start);
		start = end;
	}
	/* Comparing reads two ranges. */
	return (kind == FB_BOUND_READ ? 2.0 : 1.0) * (double)bytes * repeats / least;
}

/* Collective: one kind and size; keeps the better rate. */
static void measure_rate(struct fb_bound *b, enum fb_bound_kind kind, int size)
{
	const struct fb_group *w = b->world;
	double sum = 0, rate;

	for (int streams = 0; streams < (kind == FB_BOUND_READ ? 1 : 2); streams++) {
		fb_barrier_wait(&b->barrier);
		rate = best_rate(b, kind, b->bytes[size], streams);
		MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_SUM, w->comm);
		/* The best pass of a rank had a processor to itself, but ranks share processors. */
		if (w->oversubscribed)
			rate *= (double)w->cpus / w->nranks;
		sum = fmax(sum, rate);
	}
	/* Less memory is at least as fast. */
	for (int i = 0; i <= size; i++)
		b->per_us[kind][i] = fmax(b->per_us[kind][i], sum);
}

int fb_bound_open(struct fb_bound *b, const struct fb_group *world)
{
	size_t share = ALL_RANKS_BYTES / (size_t)world->nranks, largest;
	int err;

	*b = (struct fb_bound){.world = world, .alpha_us = HUGE_VAL};
	if (world->nranks < 2 || !fb_group_one_host(world))
		return FB_OK;
	largest = share > LARGEST_BYTES ? LARGEST_BYTES : share;
	largest = largest < LEAST_LARGEST_BYTES ? LEAST_LARGEST_BYTES : largest & ~(size_t)4095;
	b->bytes[0] = 4 << 10;
	b->bytes[1] = 16 << 10;
	b->bytes[2] = 256 << 10;
	b->bytes[3] = largest;
	err = fb_segment_open(&b->segment, world, HEAD_BYTES + 2 * largest, FB_PAGES_NORMAL);
	if (err)
		return err;
	b->open = true;
	err = fb_barrier_open(&b->barrier, world, false);
	if (err)
		return err;
	memset(fb_segment_part(&b->segment, world->rank) + HEAD_BYTES, 1, 2 * largest);
	fb_barrier_wait(&b->barrier);
	measure_alpha(b, PING_PEERS);
	for (int kind = 0; kind < FB_BOUND_KINDS; kind++)
		for (int size = 0; size < FB_BOUND_SIZES; size++)
			measure_rate(b, (enum fb_bound_kind)kind, size);
	b->known = true;
	return FB_OK;
}

void fb_bound_close(struct fb_bound *b)
{
	fb_barrier_close(&b->barrier);
	if (b->open)
		fb_segment_close(&b->segment);
	*b = (struct fb_bound){.known = false};
}

/* Index of the largest size up to a rank's share: its rate is not lower than that of the share. */
static int size_of(const struct fb_bound *b, double bytes)
{
	int i = 0;

	while (i + 1 < FB_BOUND_SIZES && (double)b->bytes[i + 1] <= bytes / b->world->nranks)
		i++;
	return i;
}

/* The bytes that count for each kind of work. */
static void bytes_of(const struct fb_bound_work *work, double bytes[FB_BOUND_KINDS])
{
	bytes[FB_BOUND_READ] = work->read;
	bytes[FB_BOUND_WRITE] = work->written;
	bytes[FB_BOUND_COPY] = fmin(work->read, work->written);
}

void fb_bound_again(struct fb_bound *b, const struct fb_bound_work *work)
{
	double bytes[FB_BOUND_KINDS];

	if (!b->known || b->world->oversubscribed)
		return;
	bytes_of(work, bytes);
	measure_alpha(b, 1);
	for (int kind = 0; kind < FB_BOUND_KINDS; kind++)
		if (bytes[kind] > 0)
			measure_rate(b, (enum fb_bound_kind)kind, size_of(b, bytes[kind]));
}

struct fb_bound_work fb_bound_work(const struct fb_operation *op, int nranks)
{
	double n = nranks, blocks = 0, unit = (double)fb_datatype_size(op->datatype);
	struct fb_bound_work work = {0};

	switch (op->collective) {
	case FB_BROADCAST:
		work = (struct fb_bound_work){1, n - 1};
		break;
	case FB_ALL_GATHER:
		work = (struct fb_bound_work){n, n * (n - 1)};
		break;
	case FB_REDUCE:
		work = (struct fb_bound_work){n, 1};
		break;
	case FB_REDUCE_SCATTER:
		work = (struct fb_bound_work){n * n, n};
		break;
	case FB_ALL_REDUCE:
	case FB_SEND_RECV:
		work = (struct fb_bound_work){n, n};
		break;
	case FB_GATHER:
	case FB_SCATTER:
		blocks = n - 1;
		break;
	case FB_ALL_TO_ALL:
		blocks = n * (n - 1);
		break;
	case FB_ALL_TO_ALL_V:
		unit *= (double)fb_traffic_moved(op->counts);
		return (struct fb_bound_work){unit, unit};
	case FB_ALL_GATHER_V:
	case FB_REDUCE_SCATTER_V:
		/* fb_traffic_moved counts every block n - 1 times: to, or from, all others. */
		unit *= (double)fb_traffic_moved(op->counts) / fmax(n - 1, 1);
		work = op->collective == FB_ALL_GATHER_V ? (struct fb_bound_work){1, n - 1}
							 : (struct fb_bound_work){n, 1};
		return (struct fb_bound_work){work.read * unit, work.written * unit};
	default: /* a barrier moves nothing */
		break;
	}
	if (blocks > 0)
		work = (struct fb_bound_work){blocks, blocks};
	work.read *= (double)op->count * unit;
	work.written *= (double)op->count * unit;
	return work;
}

/* Whether every rank receives in each call, so that no rank can run far ahead of the others. */
static bool couples_all_ranks(const struct fb_operation *op)
{
	return !fb_collective_info(op->collective)->has_root && !(op->counts && op->counts->empty);
}

double fb_bound_us(const struct fb_bound *b, const struct fb_operation *op,
		   const struct fb_bound_work *work, bool alone)
{
	/* If pings were slow, the two ranks never ran at the same time, and alpha is not known. */
	bool has_alpha = (alone || couples_all_ranks(op)) && b->alpha_us <= SLOW_PING_US;
	double us = has_alpha ? b->alpha_us : 0, bytes[FB_BOUND_KINDS];

	if (!b->known || (!(work->written > 0) && op->collective != FB_BARRIER))
		return nan("");
	bytes_of(work, bytes);
	for (int kind = 0; kind < FB_BOUND_KINDS; kind++)
		us = fmax(us, bytes[kind] / b->per_us[kind][size_of(b, bytes[kind])]);
	return us > 0 ? us : nan("");
}
