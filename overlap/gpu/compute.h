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
 * Local. `device`: the GPU that computes, this rank's or another one that the process sees; the
 * current device does not change. `library`: cuBLAS as a path or a name, "none" for the project's
 * kernel, or "auto" for cuBLAS if the linker finds it and else the kernel. `fp8`: all products
 * except those of attention use 8-bit floats by cuBLASLt, whose library is beside cuBLAS. As a test
 * it multiplies small matrices and compares all elements with the host's. 0; FB_EUNSUPPORTED if the
 * named library cannot be used, or in a build without CUDA; FB_EDATA if it multiplies wrongly;
 * FB_ENOMEM or FB_ESYS (all printed). After an error *compute is untouched.
 */
int fb_gpu_compute_open(struct fb_gpu_compute **compute, const struct fb_gpu *gpu, int device,
			const char *library, bool fp8);
/*
 * Local: limits products to `sms` multiprocessors; 0: all. A green context sets the limit, if the
 * driver has them: fb_gpu_compute_stream makes its streams, and cuBLAS is told the number. Else
 * only cuBLAS is told, and may use more. 0, or FB_EUNSUPPORTED (printed) if neither is possible.
 * Streams of an earlier limit must have been destroyed.
 */
int fb_gpu_compute_limit(struct fb_gpu_compute *compute, int sms);
/* Local: *stream becomes one of the green context, or stays if there is none. 0 or FB_ESYS. */
int fb_gpu_compute_stream(const struct fb_gpu_compute *compute, int priority, void *stream);

/* NULL is fine. */
void fb_gpu_compute_close(struct fb_gpu_compute *compute);

/*
 * Local: allocates the memory that the work needs and fills it with random numbers. Call it for
 * each kind and size before it runs. Sizes of products are rounded up to multiples of 16. 0,
 * FB_ENOMEM or FB_ESYS (printed).
 */
int fb_gpu_compute_room(struct fb_gpu_compute *compute, const struct fb_work *work);

/*
 * Local: enqueues the work on a cudaStream_t. All streams share one memory, whose content is not
 * used, and cuBLAS's workspace. 0 or FB_ESYS (printed).
 */
int fb_gpu_compute_enqueue(struct fb_gpu_compute *compute, const struct fb_work *work,
			   void *stream);
/* Waits for what was put on stream NULL, which stands for one of its own. */
int fb_gpu_compute_finish(struct fb_gpu_compute *compute);

/* "cuBLAS 13.0.2 bf16", "own kernel bf16". */
void fb_gpu_compute_describe(const struct fb_gpu_compute *compute, char *text, size_t n);

#endif
