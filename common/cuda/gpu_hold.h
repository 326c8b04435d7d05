/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking kernel: keeps a stream waiting until the host has enqueued what is to be timed.
 *
 * It gives up after some seconds. Without that a queue that is full would never end: the host
 * waits in the launch for room, the stream for the host.
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

/* Nothing may be held by it. Fine where it is zeroed or closed. */
void fb_gpu_hold_close(struct fb_gpu_hold *hold);

/* From here on the stream (a cudaStream_t) waits; until then, what is enqueued behind may run. */
int fb_gpu_hold_begin(struct fb_gpu_hold *hold, void *stream);
void fb_gpu_hold_end(struct fb_gpu_hold *hold);

/* After the stream has come past: 0, or FB_ETIMEOUT where the kernel had given up (printed). */
int fb_gpu_hold_check(const struct fb_gpu_hold *hold);

#endif
