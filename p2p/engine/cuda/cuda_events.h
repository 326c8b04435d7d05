/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times by CUDA events around single calls. (common/cuda/gpu_stream.h has events around batches of
 * calls, but calls that move much data are not batched.) Short calls, which an event would lengthen
 * noticeably, have no events. For files that include CUDA's headers.
 */
#ifndef FB_P2P_ENGINE_CUDA_CUDA_EVENTS_H
#define FB_P2P_ENGINE_CUDA_CUDA_EVENTS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "p2p/engine/device.h"

enum { FB_P2P_EVENT_SAMPLES = 512 }; /* the last so many count */

struct fb_p2p_events {
	bool wanted, armed, recorded;
	int messages; /* in a call */
	cudaEvent_t begin, end;
	float us[FB_P2P_EVENT_SAMPLES];
	size_t samples;
};

/*
 * Local, with `events` zeroed: creates events if a call moves enough bytes, `messages` messages of
 * the case's size. 0 or FB_ESYS (printed). Close also after an error.
 */
int fb_p2p_events_open(struct fb_p2p_events *events, const struct fb_case *c, int messages,
		       uint64_t bytes);
void fb_p2p_events_close(struct fb_p2p_events *events);

/* Before a run: whether its call is timed. Then begin and end, in the stream; then take. */
void fb_p2p_events_arm(struct fb_p2p_events *events, int calls);
int fb_p2p_events_begin(struct fb_p2p_events *events, cudaStream_t stream);
int fb_p2p_events_end(struct fb_p2p_events *events, cudaStream_t stream);
int fb_p2p_events_take(struct fb_p2p_events *events);

/* The time of a message, median over calls; NAN where none was timed. */
double fb_p2p_events_us(const struct fb_p2p_events *events);

/* Requests of device engines whose calls are timed so begin with this. */
struct fb_p2p_timed_request {
	struct fb_p2p_device_request base;
	struct fb_p2p_events events;
};

/*
 * Collective, at the end of setting up a request, for which this rank has `err` so far: events, the
 * stream, and the graph. `enqueue` has the call between fb_p2p_events_begin() and _end(). The same
 * value on all ranks.
 */
int fb_p2p_timed_prepare(struct fb_p2p_timed_request *r, const struct fb_case *c,
			 fb_gpu_enqueue_fn enqueue, int err);

/* fb_p2p_engine_ops.run, .columns and .release of such requests. */
int fb_p2p_timed_run(struct fb_p2p_request *request, int calls);
void fb_p2p_timed_columns(struct fb_p2p_request *request, double value[FB_P2P_GPU_COLUMNS]);
void fb_p2p_timed_release(struct fb_p2p_request *request);

#endif
