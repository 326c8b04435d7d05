/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing on a GPU: matrix products of bf16 by cuBLAS or a kernel of the project's, and passes
 * over memory. No header of CUDA's is needed to include this one.
 */
#ifndef FB_OVERLAP_GPU_COMPUTE_H
#define FB_OVERLAP_GPU_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/cuda/gpu.h"
#include "overlap/compute/work.h"

struct fb_gpu_compute; /* opaque */

/*
 * Local. `device`: this rank's GPU, or another one that the process sees, on which it then
 * computes; the current device stays as it is. `library`: cuBLAS as a path or a name, "auto" for
 * any that the linker finds, else the own kernel, or "none" for that. `fp8`: products but for
 * those of attention are of 8-bit floats by cuBLASLt, which `library` has beside it. Multiplies
 * small matrices once and compares all elements with the host's. 0, FB_EUNSUPPORTED where what was
 * named cannot be had or in a build without CUDA, FB_EDATA where it multiplies wrongly, FB_ENOMEM
 * or FB_ESYS (all printed), *compute untouched.
 */
int fb_gpu_compute_open(struct fb_gpu_compute **compute, const struct fb_gpu *gpu, int device,
			const char *library, bool fp8);
/*
 * Local: from now on products are for so many multiprocessors, 0 for all. By a green context, whose
 * streams fb_gpu_compute_stream makes, and cuBLAS knows of it; or by cuBLAS alone, as far as it
 * likes. 0, or FB_EUNSUPPORTED where neither can be had (printed). Streams of the limit before have
 * ended.
 */
int fb_gpu_compute_limit(struct fb_gpu_compute *compute, int sms);
/* Local: *stream becomes one of the green context, or stays if there is none. 0 or FB_ESYS. */
int fb_gpu_compute_stream(const struct fb_gpu_compute *compute, int priority, void *stream);

/* NULL is fine. */
void fb_gpu_compute_close(struct fb_gpu_compute *compute);

/*
 * Local: room for that work, filled with random numbers; once for each kind and size before it
 * runs. Sizes of products are rounded up to multiples of 16. 0, FB_ENOMEM or FB_ESYS (printed).
 */
int fb_gpu_compute_room(struct fb_gpu_compute *compute, const struct fb_work *work);

/*
 * Local: puts the work on a cudaStream_t. Works on several streams share their memory, whose
 * content nobody uses, and cuBLAS's workspace. 0 or FB_ESYS (printed).
 */
int fb_gpu_compute_enqueue(struct fb_gpu_compute *compute, const struct fb_work *work,
			   void *stream);
/* Waits for what was put on stream NULL, which stands for one of its own. */
int fb_gpu_compute_finish(struct fb_gpu_compute *compute);

/* "cuBLAS 13.0.2 bf16", "own kernel bf16". */
void fb_gpu_compute_describe(const struct fb_gpu_compute *compute, char *text, size_t n);

#endif
