/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking kernel: keeps a stream waiting until the host has enqueued the calls to be timed.
 *
 * It gives up after some seconds. Otherwise a full queue would be a deadlock: the host waits in a
 * launch for room, and the stream waits for the host.
 */
#ifndef FB_COMMON_CUDA_GPU_HOLD_H
#define FB_COMMON_CUDA_GPU_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cuda/stream_kernels.h"

struct fb_gpu_hold {
	struct fb_hold_gate *gate, *device_gate; /* as host and device see it; NULL: closed */
	uint32_t number;			 /* of the last hold */
	bool held;
};

/* Local. 0, FB_ENOMEM or FB_ESYS (printed). */
int fb_gpu_hold_open(struct fb_gpu_hold *hold);

/* It must not hold a stream. Safe if zeroed or closed. */
void fb_gpu_hold_close(struct fb_gpu_hold *hold);

/* From begin on the stream (a cudaStream_t) waits; end lets it go on. */
int fb_gpu_hold_begin(struct fb_gpu_hold *hold, void *stream);
void fb_gpu_hold_end(struct fb_gpu_hold *hold);

/* When the stream has completed the kernel: 0, or FB_ETIMEOUT if it had given up (printed). */
int fb_gpu_hold_check(const struct fb_gpu_hold *hold);

#endif
