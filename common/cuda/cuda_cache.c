/* SPDX-License-Identifier: BSD-3-Clause */
/* A cold L2 cache of the GPU; see gpu_cache.h. */
#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_cache.h"
#include "common/cuda/stream_kernels.h"

enum { BLOCKS_PER_SM = 4, PIECE_BYTES = 1 << 20 };

int fb_gpu_cache_open(struct fb_gpu_cache *cache, const struct fb_gpu *gpu)
{
	int bytes = 0;
	int err = FB_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, gpu->device));

	*cache = (struct fb_gpu_cache){.blocks = (unsigned)gpu->sms * BLOCKS_PER_SM};
	if (err)
		return err;
	if (bytes <= 0)
		return fb_error(FB_EUNSUPPORTED, "cold caches: the GPU's has no known size");
	cache->bytes = (2 * (size_t)bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
	err = FB_CUDA(cudaMalloc(&cache->memory, cache->bytes));
	return err ? err : fb_gpu_cache_clear(cache);
}

void fb_gpu_cache_close(struct fb_gpu_cache *cache)
{
	if (cache->memory)
		(void)cudaFree(cache->memory);
	*cache = (struct fb_gpu_cache){.memory = NULL};
}

int fb_gpu_cache_clear(struct fb_gpu_cache *cache)
{
	int err = FB_CUDA((cudaError_t)fb_stream_kernel_clear(cache->memory, cache->bytes,
							      ++cache->turn, cache->blocks));

	/* Waits, because the caller may read the host's clock next. */
	return err ? err : FB_CUDA(cudaStreamSynchronize(NULL));
}
