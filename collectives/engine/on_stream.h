/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by engines whose operations are enqueued on a stream, or captured in a graph and replayed:
 * the stream starts them and is waited for, and rows contain the clocks of the GPU.
 */
#ifndef FB_COLLECTIVES_ENGINE_ON_STREAM_H
#define FB_COLLECTIVES_ENGINE_ON_STREAM_H

#include "collectives/engine/engine.h"
#include "common/cuda/gpu_stream.h"

/* The first member of such an engine's requests. */
struct fb_on_stream {
	struct fb_request request;
	struct fb_gpu_stream *stream; /* the engine opens it in prepare and closes it in release */
};

/* Members of struct fb_engine_ops, for requests that begin with a struct fb_on_stream. */
int fb_on_stream_ready(struct fb_request *request, int calls);
int fb_on_stream_run(struct fb_request *request, int calls);
int fb_on_stream_start(struct fb_request *request);
int fb_on_stream_test(struct fb_request *request, bool *done);
int fb_on_stream_wait(struct fb_request *request);

/* For describe: the time by events, and the clocks of this rank's GPU where they can be read. */
void fb_on_stream_describe(const struct fb_on_stream *on, const struct fb_gpu *gpu,
			   struct fb_traits *traits);

#endif
