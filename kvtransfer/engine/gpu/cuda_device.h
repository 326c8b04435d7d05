/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engines between GPUs share: their memory of flags, pieces, streams and launches. */
#ifndef FB_KVTRANSFER_ENGINE_GPU_CUDA_DEVICE_H
#define FB_KVTRANSFER_ENGINE_GPU_CUDA_DEVICE_H

#include <cuda_runtime_api.h>

#include "common/cuda/gpu_segment.h"
#include "common/cuda/gpu_stream.h"
#include "kvtransfer/engine/engine.h"
#include "kvtransfer/engine/gpu/build.h"

struct fb_kv_device {
	struct fb_kv_engine engine;
	struct fb_segment flags; /* opened by the first request */
	uint32_t push_blocks, local_blocks, threads;
	char why[FB_REASON_CHARS]; /* what is missing; "": nothing */
};

/* Side streams, on which packing and unpacking go on beside moving. */
enum fb_kv_stream { FB_KV_PACKS, FB_KV_UNPACKS, FB_KV_STREAMS };

/* Every request of a GPU engine begins with this. */
struct fb_kv_device_request {
	struct fb_kv_request request;
	struct fb_kv_device *engine;
	struct fb_gpu_stream *stream;
	struct fb_kv_view view;
	struct fb_kv_pieces *of_pair; /* [pairs] */
	void *pieces;                 /* in device memory */
	uint64_t calls;               /* that moved something, so far */
	unsigned phases;              /* of the run under way */
	cudaStream_t side[FB_KV_STREAMS];          /* of layerwise */
	cudaEvent_t begin, joined[FB_KV_STREAMS];  /* the same */
	cudaEvent_t *packed, *moved;               /* [steps] of layerwise */
};

/* Collective: fills in an engine (zeroed, its ops set). 0 also without a GPU. */
int fb_kv_device_open(struct fb_kv_device *e, const struct fb_kv_context *context);
void fb_kv_device_close(struct fb_kv_device *e);

/* fb_kv_engine_ops.missing and .can */
const char *fb_kv_device_missing(const struct fb_kv_engine *engine);
bool fb_kv_device_can(const struct fb_kv_engine *engine, const struct fb_kv_job *job,
		      char reason[FB_REASON_CHARS]);

/*
 * Collective: fills in a request (zeroed) but for what is the engine's own. The same value on all
 * ranks; after an error the caller ends it, too.
 */
int fb_kv_device_prepare(struct fb_kv_device_request *r, struct fb_kv_device *e,
			 const struct fb_kv_job *job, fb_gpu_enqueue_fn enqueue);

/* Collective: behind it nobody uses this rank's memory any more. */
void fb_kv_device_end(struct fb_kv_device_request *r);

/* fb_kv_engine_ops.run, of requests that begin as above. */
int fb_kv_device_run(struct fb_kv_request *request, unsigned phases, int calls);

/*
 * Enqueues a kernel of this rank's for a step of call r->calls, or nothing where it has no part in
 * it. `counts`: it waits for its peers and counts at them.
 */
int fb_kv_device_launch(const struct fb_kv_device_request *r, enum fb_kv_work work, uint32_t step,
			bool counts, bool last, cudaStream_t stream);

/* "kernels, push, NVLink" */
void fb_kv_device_path(const struct fb_kv_device_request *r, const char *by,
		       struct fb_traits *traits);

/* --- cuda_staged.c: gather, move, scatter, for engines whose movers are not kernels ----------- */

struct fb_kv_mover {
	/* Moves a step of all pairs, from out to in, on the stream. */
	int (*move)(struct fb_kv_device_request *r, uint32_t step, cudaStream_t stream);
	/* Waits on the stream for what has come in a step. NULL: move has received it, too. */
	int (*await)(struct fb_kv_device_request *r, uint32_t step, cudaStream_t stream);
	/* Tells the senders that all is unpacked. NULL: they need not know. */
	int (*release)(struct fb_kv_device_request *r, cudaStream_t stream);
};

/*
 * One call of pack or layerwise, or phases of it. Steps of layerwise are pipelined: packing,
 * moving and unpacking each have a stream, joined by events.
 */
int fb_kv_staged_enqueue(struct fb_kv_device_request *r, const struct fb_kv_mover *mover,
			 cudaStream_t stream);

#endif
