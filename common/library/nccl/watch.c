/* SPDX-License-Identifier: BSD-3-Clause */
/* See watch.h. NCCL reports calls from callers' threads, and channels from another thread. */
#include "common/library/nccl/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/library/nccl/profiler.h"
#include "common/library/nccl/profiler_record.h"

enum {
	CALLS = FB_NCCL_EVENT_COLL | FB_NCCL_EVENT_P2P | FB_NCCL_EVENT_COLL_API |
		FB_NCCL_EVENT_P2P_API | FB_NCCL_EVENT_CE_COLL,
	MOST_WAITS = 100, /* each of a millisecond */
	MARKS = 64,
};

static const char variable[] = "NCCL_PROFILER_PLUGIN";

static struct {
	pthread_mutex_t lock;
	int *mask; /* NCCL's own, the same for all communicators; NULL: it has no plugin */
	int known, wanted;
	struct fb_nccl_seen seen;
	/* The handle of all events between a begin and its end, with the number of the begin. */
	struct fb_nccl_record mark[MARKS];
	uint64_t number;
	int expected, begun, ended; /* channels; ended: those with both times reported */
	uint64_t gpu_begin, gpu_end;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set_mask(void)
{
	if (watch.mask)
		__atomic_store_n(watch.mask, watch.wanted & watch.known, __ATOMIC_RELAXED);
}

/* NCCL has made a communicator. */
static void opened(int *mask, int known)
{
	pthread_mutex_lock(&watch.lock);
	watch.mask = mask;
	watch.known = known;
	set_mask();
	pthread_mutex_unlock(&watch.lock);
}

/* Whether the channel belongs to an earlier begin: NCCL's own thread may report it late. */
static bool is_late(const struct fb_nccl_record *e)
{
	return e->channel >= 0 && e->parent && e->parent != watch.number;
}

static void *begun(const struct fb_nccl_record *e)
{
	struct fb_nccl_seen *s = &watch.seen;
	void *handle = NULL;

	pthread_mutex_lock(&watch.lock);
	if (is_late(e)) {
		pthread_mutex_unlock(&watch.lock);
		return NULL;
	}
	s->events++;
	if (e->channel >= 0) {
		watch.begun++;
	} else if (!strcmp(e->kind, "copy engine")) {
		s->copies = true;
	} else if (!strcmp(e->kind, "p2p")) {
		s->p2p = true;
	} else if (!strcmp(e->kind, "collective")) {
		s->algorithm = e->algorithm;
		s->protocol = e->protocol;
		s->kernel = e->kernel;
	}
	if (e->channel < 0 && (!strcmp(e->kind, "p2p") || !strcmp(e->kind, "collective"))) {
		handle = &watch.mark[watch.number % MARKS];
		watch.expected += e->channels;
		if (e->channels > s->channels)
			s->channels = e->channels;
	}
	pthread_mutex_unlock(&watch.lock);
	return handle;
}

/* The end of a channel. The call lasts from the first channel's begin to the last one's end. */
static void ended(const struct fb_nccl_record *e)
{
	pthread_mutex_lock(&watch.lock);
	if (e->channel >= 0 && !is_late(e) && e->gpu_start && e->gpu_end > e->gpu_start) {
		watch.ended++;
		if (!watch.gpu_begin || e->gpu_start < watch.gpu_begin)
			watch.gpu_begin = e->gpu_start;
		if (e->gpu_end > watch.gpu_end)
			watch.gpu_end = e->gpu_end;
	}
	pthread_mutex_unlock(&watch.lock);
}

void fb_nccl_watch_open(void)
{
	static const struct fb_nccl_watcher watcher = {opened, begun, ended};

	if (!getenv(variable))
		fb_nccl_watcher = &watcher;
}

void fb_nccl_watch_begin(bool gpu)
{
	if (fb_nccl_watcher)
		(void)setenv(variable, "STATIC_PLUGIN", 1);
	pthread_mutex_lock(&watch.lock);
	watch.seen = (struct fb_nccl_seen){.watched = false};
	watch.number++;
	watch.mark[watch.number % MARKS] = (struct fb_nccl_record){
		.rank = -1, .peer = -1, .channel = -1, .step = -1, .number = watch.number,
		.kept = true};
	watch.expected = watch.begun = watch.ended = 0;
	watch.gpu_begin = watch.gpu_end = 0;
	watch.wanted = CALLS | (gpu ? FB_NCCL_EVENT_KERNEL_CHANNEL : 0);
	set_mask();
	pthread_mutex_unlock(&watch.lock);
}

/* Whether NCCL has reported the end of all channels. The caller holds the lock. */
static bool is_told(void)
{
	return watch.begun >= watch.expected && watch.begun == watch.ended;
}

void fb_nccl_watch_end(struct fb_nccl_seen *seen)
{
	bool gpu;

	if (fb_nccl_watcher)
		(void)unsetenv(variable);
	pthread_mutex_lock(&watch.lock);
	gpu = watch.mask && watch.wanted & watch.known & FB_NCCL_EVENT_KERNEL_CHANNEL;
	watch.wanted = 0;
	set_mask();
	for (int i = 0; gpu && i < MOST_WAITS && !is_told(); i++) {
		pthread_mutex_unlock(&watch.lock);
		usleep(1000);
		pthread_mutex_lock(&watch.lock);
	}
	watch.seen.watched = watch.mask && watch.known & FB_NCCL_EVENT_COLL_API;
	if (is_told()) {
		watch.seen.gpu_begin = watch.gpu_begin;
		watch.seen.gpu_end = watch.gpu_end;
	}
	*seen = watch.seen;
	pthread_mutex_unlock(&watch.lock);
}
