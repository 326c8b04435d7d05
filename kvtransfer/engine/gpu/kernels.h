/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernels.cu gives to the engines and to cuda_pages.c. */
#ifndef FB_KVTRANSFER_ENGINE_GPU_KERNELS_H
#define FB_KVTRANSFER_ENGINE_GPU_KERNELS_H

#include "common/cuda/data_kernels.h"
#include "kvtransfer/engine/gpu/launch.h"
#include "kvtransfer/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The address of the kernel that takes a struct fb_kv_launch, for cudaLaunchKernel. */
const void *fb_kv_kernel(void);

/*
 * Writes, or compares, `count` elements of pages in own memory, on the default stream; the
 * locator's table is in device memory. Both return a cudaError_t, of launching only.
 */
int fb_kv_kernel_fill(const struct fb_element_recipe *recipe, const struct fb_kv_locator *locator,
		      int canary, void *to, uint64_t count);
int fb_kv_kernel_check(const struct fb_element_recipe *recipe,
		       const struct fb_kv_locator *locator, int canary, const void *from,
		       uint64_t count, struct fb_check_result *result);

#ifdef __cplusplus
}
#endif

#endif
