/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA engine's own structures; internal to collectives/engine/cuda. */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_CUDA_ENGINE_H
#define FB_COLLECTIVES_ENGINE_CUDA_CUDA_ENGINE_H

#include "collectives/algorithm/algorithm.h"
#include "collectives/engine/cuda/build.h"
#include "collectives/engine/engine.h"
#include "common/cuda/gpu_segment.h"
#include "common/cuda/gpu_stream.h"

struct cuda_engine {
	struct fb_engine engine;
	const struct fb_world *world;
	const struct fb_settings *settings;
	struct fb_topology topology;
	struct fb_gpu gpu;               /* if has_gpu */
	bool has_gpu;
	char why[FB_GPU_REASON_CHARS];   /* why not */
};

struct cuda_request {
	struct fb_request request;
	struct cuda_engine *engine;
	const struct fb_operation *op;
	const struct fb_algorithm *algorithm;
	const char *stages;
	bool direct, pinned;             /* pinned: links are in host memory */
	bool wide;                       /* sums within a step stay f32 */
	struct fb_gpu_wishes wishes;
	struct fb_gpu_shape shape;
	struct fb_plan **plans;          /* [shape.nchannels] */
	struct fb_segment links, scratch;
	struct fb_gpu_layout layout;
	struct fb_gpu_table table;
	bool fused;
	struct fb_gpu_launch launch;
	struct fb_gpu_one_shot one_shot;
	const void *kernel;
	unsigned blocks, threads;
	void *uploaded, *times;          /* device memory, or NULL */
	struct fb_gpu_stream *stream;
	uint64_t calls;
	int last_batch;
};

/* Plans, links, tables of a request (cuda_request.c). Collective; the same value on all ranks. */
int fb_cuda_setup(struct cuda_request *r, const struct fb_case *c);
void fb_cuda_teardown(struct cuda_request *r);

/* Own memory and launches (cuda_launch.c). */
int fb_cuda_upload(struct cuda_request *r, const struct fb_case *c);
int fb_cuda_enqueue(void *request, void *stream);
/* Columns of the device's clock. */
void fb_cuda_iterations(const struct cuda_request *r, double *median_us, double *p99_us);

/* The shape a case asks the algorithm for; stages as in fb_shape. */
struct fb_shape fb_cuda_shape(const struct cuda_engine *e, const struct fb_operation *op,
			      const char *stages, int channel, int nchannels);

#endif
