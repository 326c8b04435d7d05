/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared code of the engines between GPUs: opening the GPU, streams and graphs, waiting for
 * one-sided operations, and the description of a row. Internal to p2p/engine.
 *
 * A request's calls are enqueued by a function of the engine's, `calls` of them in a batch, and
 * are complete when the stream is. The passive ends of put and get enqueue nothing: they wait for
 * a counter in host memory, or across hosts for an empty message, which the active end sends
 * when its stream is through.
 */
#ifndef FB_P2P_ENGINE_DEVICE_H
#define FB_P2P_ENGINE_DEVICE_H

#include "common/cuda/gpu_segment.h"
#include "common/cuda/gpu_stream.h"
#include "p2p/engine/engine.h"

struct fb_p2p_device {
	struct fb_p2p_engine engine;
	const struct fb_group *world;
	const struct fb_settings *settings;
	struct fb_gpu gpu;         /* if has_gpu */
	bool has_gpu;
	char why[FB_REASON_CHARS]; /* what is missing */
	struct fb_segment counters; /* host memory; each rank's part begins with a counter */
};

/* Every request of a device engine begins with this. */
struct fb_p2p_device_request {
	struct fb_p2p_request request;
	struct fb_p2p_device *engine;
	const struct fb_job *job;
	struct fb_gpu_stream *stream; /* NULL: this rank has nothing to enqueue */
	uint64_t completions;         /* one-sided: that have to have come so far, on this host */
};

/*
 * Collective, within fb_p2p_engine_ops.open. 0 also without a GPU, `why` then says what is missing;
 * else an error (printed), the same on all ranks.
 */
int fb_p2p_device_open(struct fb_p2p_device *engine);
void fb_p2p_device_close(struct fb_p2p_device *engine);

/* Pure, equal on all ranks: what holds for all device engines. */
bool fb_p2p_device_can(const struct fb_p2p_device *engine, const struct fb_case *c,
		       char reason[FB_REASON_CHARS]);

/* Whether this rank carries the flow out, or in its part of `send` has something to enqueue. */
bool fb_p2p_device_acts(const struct fb_p2p_device_request *r, const struct fb_flow *flow);

/* How many messages a flow has in a call, one after the other. */
int fb_p2p_device_messages(const struct fb_p2p_device_request *r);

/*
 * Collective: fb_p2p_engine_ops.prepare of a request of so many bytes, which is zeroed but for its
 * beginning when it is set up. Where that fails it is released.
 */
int fb_p2p_device_make(struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, size_t bytes,
		       int (*set_up)(struct fb_p2p_device_request *r, const struct fb_case *c),
		       struct fb_p2p_request **request);

/* Collective: makes the stream where the rank acts. The same value on all ranks. */
int fb_p2p_device_prepare(struct fb_p2p_device_request *r, const struct fb_case *c,
			  fb_gpu_enqueue_fn enqueue);

/*
 * Collective: captures a call where the launch is a graph. FB_EUNSUPPORTED where a driver or a
 * library cannot do that, so that the row is skipped.
 */
int fb_p2p_device_capture(struct fb_p2p_device_request *r);

/* Collective: ends the stream; behind it nobody uses this rank's memory any more. */
void fb_p2p_device_end(struct fb_p2p_device_request *r);

/* fb_p2p_engine_ops.ready and .run, of requests that begin as above. */
int fb_p2p_device_ready(struct fb_p2p_request *request, int calls);
int fb_p2p_device_run(struct fb_p2p_request *request, int calls);

/* "copy engine, push, NVLink": by whom, in which direction, and over what. */
void fb_p2p_device_path(const struct fb_p2p_device_request *r, const char *by,
			struct fb_traits *traits);

/* fb_p2p_engine_ops.columns: events and clocks. */
void fb_p2p_device_columns(struct fb_p2p_request *request, double value[FB_P2P_GPU_COLUMNS]);

#endif
