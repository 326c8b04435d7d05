/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared code of the engines between GPUs: opening the GPU, streams and graphs, waiting for
 * one-sided operations, and the description of a row. Internal to p2p/engine.
 *
 * A function of the engine enqueues a request's calls, `calls` of them in a batch. They are
 * complete when the stream has finished. The passive ends of put and get enqueue nothing. They wait
 * for a counter in host memory, or between hosts for an empty MPI message. The active end raises
 * the counter, or sends the message, when its stream has finished.
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
	uint64_t completions; /* one-sided: value that this rank's counter has to reach by now */
};

/*
 * Collective, called by fb_p2p_engine_ops.open. Returns 0 also if there is no GPU; then `why` says
 * what is missing. Otherwise an error (printed), the same on all ranks.
 */
int fb_p2p_device_open(struct fb_p2p_device *engine);
void fb_p2p_device_close(struct fb_p2p_device *engine);

/* Pure, equal on all ranks: what holds for all device engines. */
bool fb_p2p_device_can(const struct fb_p2p_device *engine, const struct fb_case *c,
		       char reason[FB_REASON_CHARS]);

/* Whether this rank enqueues something for the flow: as its active end, or as an end of a send. */
bool fb_p2p_device_acts(const struct fb_p2p_device_request *r, const struct fb_flow *flow);

/* How many messages a flow has in a call, one after the other. */
int fb_p2p_device_messages(const struct fb_p2p_device_request *r);

/*
 * Collective: fb_p2p_engine_ops.prepare for a request structure of `bytes` bytes. `set_up` gets it
 * with its first member filled in and the rest zeroed. If `set_up` fails, the request is released.
 */
int fb_p2p_device_make(struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, size_t bytes,
		       int (*set_up)(struct fb_p2p_device_request *r, const struct fb_case *c),
		       struct fb_p2p_request **request);

/* Collective: makes the stream if this rank enqueues something. The same value on all ranks. */
int fb_p2p_device_prepare(struct fb_p2p_device_request *r, const struct fb_case *c,
			  fb_gpu_enqueue_fn enqueue);

/*
 * Collective: captures a call if the launch is a graph. FB_EUNSUPPORTED: the driver or a library
 * cannot capture it, so the row is skipped.
 */
int fb_p2p_device_capture(struct fb_p2p_device_request *r);

/* Collective: ends the stream. After it no rank accesses this rank's memory any more. */
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
