/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL ran, reported by its profiler interface (2.23) with --nccl-gpu-time. It also reports
 * calls that its log does not have: sends, receives and, before 2.29, copy engines.
 *
 * The profiler plugin is a part of the programs too. NCCL finds it there, because
 * NCCL_PROFILER_PLUGIN is STATIC_PLUGIN, unless the user has set that variable: then NCCL loads the
 * user's plugin, and nothing is reported here. NCCL reads which events are wanted whenever a call
 * is made. None are between an end and the next begin, so that calls that are timed have none.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_WATCH_H
#define FB_COMMON_LIBRARY_NCCL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reports of the last call; texts are NCCL's own and of static storage. NULL and 0: not reported.
 */
struct fb_nccl_seen {
	bool watched;     /* NCCL has loaded the plugin and reports calls of its API (2.28) */
	int events;       /* that it reported; 0: none */
	bool p2p, copies; /* sends and receives, or copies by copy engines */
	const char *algorithm, *protocol, *kernel; /* "RING", "LL128", a symmetric kernel's name */
	int channels;     /* of sends and receives: of the one with most */
	/* ns of the GPU's timer, if all channels of the call were told of; 0: not told */
	uint64_t gpu_begin, gpu_end;
};

/* Local, before the process's first communicator. */
void fb_nccl_watch_open(void);

/*
 * Local: NCCL reports the calls between them. It looks for the plugin when the first communicator
 * is made, which has to be between them as well; the variable is set there only. `gpu`: it also
 * watches when each channel of a kernel begins and ends (2.27), which costs time; wait for the
 * calls before the end then. The end waits up to 100 ms more for what NCCL's own thread has still
 * to tell.
 */
void fb_nccl_watch_begin(bool gpu);
void fb_nccl_watch_end(struct fb_nccl_seen *seen);

#endif
