/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A training step on a GPU: matrix products on one stream, all_reduces on another, ordered by
 * events. All of it is enqueued, or captured in a graph, without the host waiting for anything.
 *
 * No header of CUDA's is needed to include this one.
 */
#ifndef FB_OVERLAP_GPU_STEP_H
#define FB_OVERLAP_GPU_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cuda/gpu_stream.h"
#include "overlap/buckets.h"
#include "overlap/schedule.h"

/* What backward computes with: cuBLAS, or a kernel of this project's, and its matrices. */
struct fb_gpu_compute; /* opaque */

/*
 * Local. `library`: cuBLAS as a path or a name, "auto" for any that the linker finds, else the own
 * kernel, or "none" for that. `sms`: how many multiprocessors cuBLAS is to use, 0 for all. 0,
 * FB_EUNSUPPORTED where what was named cannot be had, FB_EDATA where it multiplies wrongly,
 * FB_ENOMEM or FB_ESYS (all printed), *compute untouched.
 */
int fb_gpu_compute_open(struct fb_gpu_compute **compute, const struct fb_gpu *gpu,
			const char *library, int sms);
void fb_gpu_compute_close(struct fb_gpu_compute *compute);

/*
 * Local: matrices for so many tokens, columns, and rows at most, of numbers at random. Multiplies
 * once and compares some results with the host's. 0, FB_ENOMEM, FB_ESYS, or FB_EDATA (printed).
 */
int fb_gpu_compute_resize(struct fb_gpu_compute *compute, uint64_t tokens, uint64_t hidden,
			  uint64_t most_rows);

/*
 * Local: backward of a tensor of so many rows, 4 * tokens * rows * hidden floating-point
 * operations. `stream` is a cudaStream_t; NULL: a stream of its own, for which _finish waits.
 */
int fb_gpu_compute_enqueue(struct fb_gpu_compute *compute, uint64_t rows, void *stream);
int fb_gpu_compute_finish(struct fb_gpu_compute *compute);

/* "cuBLAS 13.0.2 bf16", "own kernel bf16". */
void fb_gpu_compute_describe(const struct fb_gpu_compute *compute, char *text, size_t n);

struct fb_gpu_step; /* opaque */

/* Puts a bucket's all_reduce on a stream. 0 or an error (printed). */
typedef int (*fb_gpu_communicate_fn)(void *arg, size_t bucket, void *stream);

/* What is pointed to must live as long as the step. */
struct fb_gpu_step_config {
	const struct fb_gpu *gpu;
	const struct fb_session *session;
	struct fb_gpu_compute *compute;
	bool graph, high;   /* high: priority of the communication */
	const struct fb_gradients *gradients;
	size_t element_bytes;
	uint64_t hidden;
	const void *in;     /* gradients as backward finds them */
	void *out;          /* the buckets */
	fb_gpu_communicate_fn communicate;
	void *arg;
};

/* Local. 0, FB_ENOMEM or FB_ESYS (printed). */
int fb_gpu_step_open(struct fb_gpu_step **step, const struct fb_gpu_step_config *config);
/* Waits for what is under way. NULL is fine. */
void fb_gpu_step_close(struct fb_gpu_step *step);

/* Local, not timed: captures graphs. Then: so many steps back to back, complete on return. */
int fb_gpu_step_ready(struct fb_gpu_step *step, enum fb_schedule schedule, int calls);
int fb_gpu_step_run(struct fb_gpu_step *step, enum fb_schedule schedule, int calls);
/* Local: all gradients into their buckets, complete on return. */
int fb_gpu_step_pack(struct fb_gpu_step *step);

/* As fb_gpu_stream_event_us. */
double fb_gpu_step_event_us(const struct fb_gpu_step *step, enum fb_schedule schedule);

#endif
