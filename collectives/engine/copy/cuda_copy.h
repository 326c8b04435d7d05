/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the two parts of engine copy: cuda_copy.c prepares, cuda_enqueue.c enqueues. */
#ifndef FB_COLLECTIVES_ENGINE_COPY_CUDA_COPY_H
#define FB_COLLECTIVES_ENGINE_COPY_CUDA_COPY_H

#include "collectives/engine/copy/plan.h"
#include "collectives/engine/on_stream.h"
#include "common/cuda/cuda_driver.h"
#include "common/cuda/gpu_segment.h"

#include <cuda_runtime_api.h>

struct copy_engine {
	struct fb_engine engine;
	const struct fb_group *group;
	const struct fb_settings *settings;
	struct fb_gpu gpu;         /* if has_gpu */
	bool has_gpu;
	char why[FB_REASON_CHARS]; /* why not */
	struct fb_cuda_driver driver;
	struct fb_segment flags;   /* all zero between calls, so that all requests share them */
	int driver_version;        /* 12080 is CUDA 12.8 */
};

struct copy_request {
	struct fb_on_stream on;
	struct copy_engine *engine;
	const struct fb_operation *op;
	struct fb_copy_list list;
	bool batch;                /* copies that are next to each other go as one batch */
	cudaStream_t streams[FB_COPY_MOST_STREAMS + 1]; /* [0]: of the call under way */
	cudaEvent_t events[FB_COPY_MOST_STREAMS + 1]; /* of what a stream held last */
	const void **sources;      /* [list.count], of a batch */
	void **destinations;
	size_t *sizes;
	struct fb_segment scratch;  /* if .ops; of reductions */
	char **scratch_of;          /* [ranks] */
	const void *sum;            /* kernel */
};

/* Side streams, events and the arrays of batches. Local; close also after an error. */
int fb_copy_streams_open(struct copy_request *r);
void fb_copy_streams_close(struct copy_request *r);

/* fb_gpu_enqueue_fn: the whole list. */
int fb_copy_enqueue(void *request, void *stream);

/* Whether this build and this driver have cudaMemcpyBatchAsync (CUDA 12.8). */
bool fb_copy_has_batch(const struct copy_engine *e);

#endif
