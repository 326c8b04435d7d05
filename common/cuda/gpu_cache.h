/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cold second-level cache of the GPU: a kernel writes so much other memory that nothing else is
 * left in it. First levels are empty at the start of every kernel anyway.
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

/* Local: writes it; over on return. The device must have nothing to do that does not end. */
int fb_gpu_cache_clear(struct fb_gpu_cache *cache);

#endif
