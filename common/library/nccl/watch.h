/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL ran, reported by its profiler interface (2.23) with --nccl-gpu-time. The interface also
 * reports calls that NCCL's log does not have: sends, receives and, before 2.29, copy engines.
 *
 * The programs contain the profiler plugin. NCCL finds it, because NCCL_PROFILER_PLUGIN is
 * STATIC_PLUGIN, unless the user has set that variable: then NCCL loads the user's plugin, and
 * nothing is reported here. NCCL reads the mask of wanted events whenever a call is made. It is
 * empty between an end and the next begin, so that timed calls cause no events.
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
	int events;       /* number of reported events */
	bool p2p, copies; /* sends and receives, or copies by copy engines */
	const char *algorithm, *protocol, *kernel; /* "RING", "LL128", a symmetric kernel's name */
	int channels;     /* of several sends and receives: the most that one of them has */
	/* ns of the GPU's timer; 0: NCCL did not report all channels of the call */
	uint64_t gpu_begin, gpu_end;
};

/* Local, before the process's first communicator. */
void fb_nccl_watch_open(void);

/*
 * Local: NCCL reports the calls between begin and end. The first communicator has to be made
 * between them as well: NCCL looks for the plugin then, and the variable is set there only. `gpu`:
 * NCCL also reports when each channel of a kernel begins and ends (2.27), which costs time; the
 * caller then has to wait for its calls before the end. The end waits up to 100 ms more for reports
 * from NCCL's own thread.
 */
void fb_nccl_watch_begin(bool gpu);
void fb_nccl_watch_end(struct fb_nccl_seen *seen);

#endif
