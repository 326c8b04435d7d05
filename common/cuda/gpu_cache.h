/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the GPU's L2 cache cold: a kernel writes so much other memory that nothing else is left in
 * it. L1 caches are empty at the start of every kernel anyway.
 */
#ifndef FB_COMMON_CUDA_GPU_CACHE_H
#define FB_COMMON_CUDA_GPU_CACHE_H

#include <stddef.h>

#include "common/cuda/gpu.h"

struct fb_gpu_cache {
	void *memory; /* on the device; NULL: closed */
	size_t bytes; /* twice the cache's */
	unsigned blocks, turn;
};

/*
 * Local, on the current device. 0, FB_ENOMEM, FB_ESYS, or FB_EUNSUPPORTED where the cache's size
 * is not known (printed). Closing what is zeroed or closed is fine.
 */
int fb_gpu_cache_open(struct fb_gpu_cache *cache, const struct fb_gpu *gpu);
void fb_gpu_cache_close(struct fb_gpu_cache *cache);

/* Local: clears the cache and waits for the device, which must not run a kernel that never ends. */
int fb_gpu_cache_clear(struct fb_gpu_cache *cache);

#endif
