/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of the profiler plugin, the same for all versions of its interface: the events of a
 * rank of a communicator, as lines of a CSV and as a Chrome trace. Functions return the result for
 * NCCL: 0, or 2, ncclSystemError.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_PROFILER_RECORD_H
#define FB_COMMON_LIBRARY_NCCL_PROFILER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fb_nccl_profile; /* opaque */

/* Texts are NCCL's or this program's, of static storage. Zeroes and NULL: not reported. */
struct fb_nccl_record {
	const char *kind, *func, *datatype, *algorithm, *protocol, *kernel;
	size_t count;
	uint64_t tag;
	int rank, channels, peer; /* rank -1: the communicator's; peer -1: none */
	unsigned batches;
	int channel;                 /* -1: none */
	uint64_t gpu_start, gpu_end; /* ns of the GPU's timer */
	int step, steps;             /* of the proxy; step -1: none */
	uint64_t bytes;              /* of a step, or of a chunk of an operation */
	uint64_t parent;             /* the number of an event; 0: none */
	bool leaf;                   /* no other event names it: it is freed at its end */
	/* The rest is this module's. */
	struct fb_nccl_profile *profile;
	uint64_t number;
	double start_us;
	double state_us[4]; /* of a step: when each of its waits began */
	bool kept;
};

/*
 * Creates the files in FB_NCCL_PROFILE for events of the mask's types. `keeps`: events stay in
 * memory after their end, because later events name them as parents. Free by fb_nccl_profile_close.
 */
int fb_nccl_profile_open(struct fb_nccl_profile **profile, uint64_t hash, int rank, int mask,
			 bool keeps);
int fb_nccl_profile_close(struct fb_nccl_profile *profile);

/*
 * A program that watches its own calls (watch.h) has these functions called instead of writing
 * files: for each communicator, for each begin of an event, and for the end of events with a
 * handle. For an event that is no channel, `begun` returns the handle, with `kept` set, or NULL;
 * channels name that handle as their parent. In the plugin for other jobs the pointer is NULL.
 */
struct fb_nccl_watcher {
	void (*opened)(int *mask, int known); /* the mask that NCCL reads, and the events it has */
	void *(*begun)(const struct fb_nccl_record *event);
	void (*ended)(const struct fb_nccl_record *event);
};
extern const struct fb_nccl_watcher *fb_nccl_watcher;

/* Whether events of the type were asked for: NCCL also reports the parents of those. */
bool fb_nccl_profile_wants(const struct fb_nccl_profile *profile, int type);

/*
 * Begins an event. Without memory it is not written, and *handle is NULL. A watcher gives no handle
 * to events of the API, because NCCL 2.28 to 2.30 would end them again with each later call.
 */
int fb_nccl_record_begin(struct fb_nccl_profile *profile, void **handle,
			 const struct fb_nccl_record *what);

/* NCCL's functions of the same name for plugins; `handle` may be NULL. */
int fb_nccl_record_state(void *handle, int state, void *arguments);
int fb_nccl_record_end(void *handle);

#endif
