/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake NCCL reports its calls to a profiler plugin: in memory images with the members where the
 * headers of 2.28 to 2.31 have them. They are declared here a second time on purpose, so that a
 * wrong offset in the plugin is found.
 */
#ifndef FB_TESTS_FAKE_NCCL_PROFILER_H
#define FB_TESTS_FAKE_NCCL_PROFILER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int ncclGetVersion(int *version);

/* Bits of the events. */
enum {
	FAKE_COLL = 1 << 1, FAKE_P2P = 1 << 2, FAKE_CHANNEL = 1 << 6, FAKE_API = 3 << 9,
	FAKE_COLL_API = 1 << 9, FAKE_COPIES = 1 << 12, FAKE_SYNC = 1 << 13, FAKE_BATCH = 1 << 14,
};

static struct {
	const struct {
		const char *name;
		int (*init)(void **context, uint64_t hash, int *mask, const char *name, int nodes,
			    int ranks, int rank, void (*log)(void));
		int (*start)(void *context, void **handle, void *event);
		int (*stop)(void *handle);
		int (*state)(void *handle, int state, void *arguments);
	} *plugin;
	void *context; /* of the last communicator */
	void *api;     /* the event of the last call of the API */
	int mask, version, rank;
} fake_profiler;

/* As 2.28 does, with each communicator. */
static inline void fake_profile_open(int nranks, int rank)
{
	const char *file = getenv("NCCL_PROFILER_PLUGIN");
	char name[32];
	void *library;
	int version;

	ncclGetVersion(&version);
	if (!file || version < 22800)
		return;
	library = dlopen(strcmp(file, "STATIC_PLUGIN") ? file : NULL, RTLD_NOW);
	fake_profiler.version = version < 23000 ? 5 : version < 23100 ? 6 : 7;
	snprintf(name, sizeof(name), "ncclProfiler_v%d", fake_profiler.version);
	fake_profiler.plugin = library ? dlsym(library, name) : NULL;
	fake_profiler.rank = rank;
	if (fake_profiler.plugin)
		fake_profiler.plugin->init(&fake_profiler.context, 7, &fake_profiler.mask, "fake",
					   1, nranks, rank, NULL);
}

struct fake_event {
	_Alignas(16) unsigned char bytes[160];
};

static inline void fake_put(struct fake_event *e, size_t at, const void *value, size_t n)
{
	memcpy(e->bytes + at, value, n);
}

static inline void fake_text(struct fake_event *e, size_t at, const char *text)
{
	fake_put(e, at, &text, sizeof(text));
}

static inline struct fake_event fake_event(uint64_t type, void *parent)
{
	struct fake_event e;

	memset(&e, 0, sizeof(e));
	fake_put(&e, 0, &type, sizeof(type));
	fake_put(&e, 8, &parent, sizeof(parent));
	fake_put(&e, 16, &fake_profiler.rank, sizeof(int));
	return e;
}

static inline void *fake_start(struct fake_event *e)
{
	void *handle = NULL;

	fake_profiler.plugin->start(fake_profiler.context, &handle, e);
	return handle;
}

static inline void fake_stop(void *handle)
{
	if (handle)
		fake_profiler.plugin->stop(handle);
}

/* The GPU's timer, in ns, which has nothing to do with the host's clock. */
static inline uint64_t fake_timer(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1700000000000000000ull + 1000000000ull * (uint64_t)t.tv_sec + (uint64_t)t.tv_nsec;
}

static inline void fake_channel(void *call, uint8_t channel, uint64_t kernel)
{
	struct fake_event e = fake_event(FAKE_CHANNEL, call);
	uint64_t start = kernel + 500ull * channel, end = start + 3000;
	void *handle;

	fake_put(&e, 24, &channel, sizeof(channel));
	fake_put(&e, 32, &start, sizeof(start));
	handle = fake_start(&e);
	if (handle)
		fake_profiler.plugin->state(handle, 22, &end);
	fake_stop(handle);
}

/*
 * Works of a communicator as NCCL 2.27 to 2.30 count them: the host and the kernels each for
 * themselves, here once for all channels. The kernels leave when they began in a slot of their
 * number, if events of channels were wanted when the call was made. The host waits until its own
 * number stands in its slot, and tells what it finds there.
 */
enum { FAKE_SLOTS = 64, FAKE_WAITING = 256, FAKE_COUNTED = 64 };

static struct fake_works {
	uint64_t host, device;
	struct {
		uint64_t number, begin;
	} slot[FAKE_SLOTS];
	struct {
		void *call;
		uint64_t number;
		uint8_t channels;
	} waiting[FAKE_WAITING];
	int waits;
} fake_works[FAKE_COUNTED], *fake_counted; /* by communicator; that of the call */

/*
 * Tells of the kernels that the host does not wait for any more. With FB_FAKE_NCCL_LATE the last
 * channel of each is told of with the next one, with FB_FAKE_NCCL_STALE all channels have the
 * times of the kernel before.
 */
static inline void fake_progress(struct fake_works *w)
{
	static void *late;
	static uint64_t late_begin, before;
	bool keeps = getenv("FB_FAKE_NCCL_LATE"), stale = getenv("FB_FAKE_NCCL_STALE");
	int left = 0;

	for (int i = 0; i < w->waits; i++) {
		__typeof__(w->waiting[0]) a = w->waiting[i];
		uint64_t begin = w->slot[a.number % FAKE_SLOTS].begin;

		if (w->slot[a.number % FAKE_SLOTS].number < a.number) {
			w->waiting[left++] = a;
			continue;
		}
		if (late)
			fake_channel(late, (uint8_t)(a.channels - 1), late_begin);
		for (uint8_t c = 0; c < a.channels - keeps; c++)
			fake_channel(a.call, c, stale ? before : begin);
		late = keeps ? a.call : NULL;
		late_begin = before = begin;
	}
	w->waits = left;
}

/* Lets the host wait for the last work that it has counted. */
static inline void fake_wait_for(void *call, uint8_t channels)
{
	struct fake_works *w = fake_counted;

	if (fake_profiler.mask & FAKE_CHANNEL && w->waits < FAKE_WAITING)
		w->waiting[w->waits++] = (__typeof__(w->waiting[0])){call, w->host, channels};
}

/*
 * A kernel whose channels work for 3 us, each one from half a microsecond later on. With
 * FB_FAKE_NCCL_REPLAYED calls of which nothing is wanted are captured, so that the host counts them
 * once and the kernel runs with each of three replays.
 */
static inline void fake_kernel(uint8_t channels)
{
	bool wanted = fake_profiler.mask & FAKE_CHANNEL;
	bool replayed = !fake_profiler.mask && getenv("FB_FAKE_NCCL_REPLAYED");
	struct fake_works *w = fake_counted;

	for (int i = 0; i < (replayed ? 3 : 1); i++) {
		uint64_t number = ++w->device, begin = fake_timer();

		if (!wanted)
			continue;
		w->slot[number % FAKE_SLOTS].number = number;
		w->slot[number % FAKE_SLOTS].begin = begin;
		while (fake_timer() < begin + 3000 + 500ull * channels)
			;
	}
	fake_progress(w);
}

/* As NCCL, it does not return while a kernel is waited for. */
static inline void fake_profile_destroy(int comm)
{
	while (fake_works[comm % FAKE_COUNTED].waits)
		fake_progress(&fake_works[comm % FAKE_COUNTED]);
}

/* Both directions of a pair are one work; the host does not count copies of a rank to itself. */
static inline void fake_p2p(const char *name, size_t count, int peer)
{
	struct fake_event e = fake_event(FAKE_P2P, NULL);
	uint8_t channels = 2;
	void *call;

	fake_text(&e, 24, name);
	fake_text(&e, 40, "ncclInt8");
	fake_put(&e, 48, &count, sizeof(count));
	fake_put(&e, 56, &peer, sizeof(peer));
	fake_put(&e, 60, &channels, sizeof(channels));
	call = fake_profiler.mask & FAKE_P2P ? fake_start(&e) : NULL;
	fake_stop(call);
	fake_counted->host += !strcmp(name, "Send") && peer != fake_profiler.rank;
	if (peer != fake_profiler.rank)
		fake_wait_for(call, channels);
	if (!strcmp(name, "Recv"))
		fake_kernel(channels);
}

static inline void fake_collective(const char *name, size_t count)
{
	struct fake_event e = fake_event(FAKE_COLL, fake_profiler.api);
	uint8_t channels = 4;
	void *call;

	fake_text(&e, 32, name);
	fake_put(&e, 56, &count, sizeof(count));
	fake_text(&e, 72, "ncclInt8");
	fake_put(&e, 80, &channels, sizeof(channels));
	fake_text(&e, 88, strcmp(name, "AllReduce") ? "RING" : "TREE");
	fake_text(&e, 96, "SIMPLE");
	call = fake_profiler.mask & FAKE_COLL ? fake_start(&e) : NULL;
	fake_stop(call);
	fake_counted->host++;
	fake_wait_for(call, channels);
	fake_kernel(channels);
}

/* From 2.29 on: two copies in a batch between two waits for all ranks. */
static inline void fake_copies(const char *name, size_t count, int nranks)
{
	const int wanted = fake_profiler.mask & (FAKE_COPIES | FAKE_SYNC | FAKE_BATCH);
	struct fake_event e = fake_event(FAKE_COPIES, fake_profiler.api);
	void *call, *part;
	int copies = 2;

	if (fake_profiler.version < 6 || !wanted)
		return;
	fake_text(&e, 32, name);
	fake_put(&e, 56, &count, sizeof(count));
	fake_text(&e, 72, "ncclInt8");
	fake_text(&e, 80, "UC");
	call = fake_start(&e);
	for (int i = 0; call && i < 3; i++) {
		bool complete = i == 2;

		if (!(wanted & (i == 1 ? FAKE_BATCH : FAKE_SYNC)))
			continue;
		e = fake_event(i == 1 ? FAKE_BATCH : FAKE_SYNC, call);
		fake_put(&e, 24, i == 1 ? (void *)&copies : (void *)&complete,
			 i == 1 ? sizeof(copies) : sizeof(complete));
		fake_put(&e, i == 1 ? 32 : 28, i == 1 ? (void *)&count : (void *)&nranks,
			 i == 1 ? sizeof(count) : sizeof(nranks));
		part = fake_start(&e);
		fake_stop(part);
	}
	fake_stop(call);
}

/* A call of `copies` with copy engines where that is possible, as 2.28.9 and 2.30.7 report it. */
static inline void fake_profile(int comm, const char *name, size_t count, int peer, int nranks,
				bool copies)
{
	const char *const copied[] = {"AllGather", "AlltoAll", "Gather", "Scatter"};
	struct fake_event e = fake_event(FAKE_COLL_API, NULL);
	bool can_copy = false;

	fake_counted = &fake_works[comm % FAKE_COUNTED];
	if (!fake_profiler.plugin || !strcmp(name, "Send") || !strcmp(name, "Recv")) {
		if (fake_profiler.plugin)
			fake_p2p(name, count, peer);
		return;
	}
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
		can_copy = can_copy || !strcmp(name, copied[i]);
	if (copies && can_copy && fake_profiler.version < 6)
		return;
	if (fake_profiler.mask & FAKE_API) {
		fake_text(&e, 24, name);
		fake_profiler.api = fake_start(&e);
	}
	/* Its handle is not cleared, so that later calls end it once more. */
	fake_stop(fake_profiler.api);
	if (copies && can_copy)
		fake_copies(name, count, nranks);
	else if (can_copy && strcmp(name, "AllGather"))
		for (int r = 0; r < 2 * nranks; r++)
			fake_p2p(r % 2 ? "Recv" : "Send", count, r / 2);
	else
		fake_collective(name, count);
}

#endif
