/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills and checks buffers in GPU memory, an element per thread. Nothing here is timed, so it is
 * kept plain; it still runs at some hundred GB/s.
 */
#include "common/cuda/data_kernels.h"

#include <cuda_runtime.h>

enum { THREADS = 256 };
static const uint64_t most_blocks = 4096;

static __device__ void put(void *to, uint64_t i, uint32_t bytes, uint64_t value)
{
	if (bytes == 1)
		((uint8_t *)to)[i] = (uint8_t)value;
	else if (bytes == 2)
		((uint16_t *)to)[i] = (uint16_t)value;
	else if (bytes == 4)
		((uint32_t *)to)[i] = (uint32_t)value;
	else
		((uint64_t *)to)[i] = value;
}

static __device__ uint64_t get(const void *from, uint64_t i, uint32_t bytes)
{
	if (bytes == 1)
		return ((const uint8_t *)from)[i];
	if (bytes == 2)
		return ((const uint16_t *)from)[i];
	if (bytes == 4)
		return ((const uint32_t *)from)[i];
	return ((const uint64_t *)from)[i];
}

__global__ void __launch_bounds__(THREADS)
	fill(const __grid_constant__ struct fb_element_recipe recipe, struct fb_element_source from,
	     uint64_t first, void *to, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS)
		put(to, i, recipe.bytes, fb_element_make(&recipe, from, first + i));
}

__global__ void __launch_bounds__(THREADS)
	check(const __grid_constant__ struct fb_element_recipe recipe,
	      struct fb_element_source from, uint64_t first, const void *data, uint64_t count,
	      struct fb_check_result *result)
{
	uint64_t mask = recipe.bytes == 8 ? ~(uint64_t)0 : ((uint64_t)1 << recipe.bytes * 8) - 1;
	unsigned long long errors = 0, least = ~0ull;

	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS) {
		uint64_t expected = fb_element_make(&recipe, from, first + i) & mask;

		if (get(data, i, recipe.bytes) == expected)
			continue;
		errors++;
		least = i < least ? i : least;
	}
	if (!errors)
		return;
	atomicAdd(&result->errors, errors);
	atomicMin(&result->first, least);
}

static unsigned blocks_for(uint64_t count)
{
	uint64_t blocks = (count + THREADS - 1) / THREADS;

	return (unsigned)(blocks < most_blocks ? blocks : most_blocks);
}

extern "C" int fb_data_kernel_fill(const struct fb_element_recipe *recipe,
				   struct fb_element_source from, uint64_t first, void *to,
				   uint64_t count)
{
	fill<<<blocks_for(count), THREADS>>>(*recipe, from, first, to, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_data_kernel_check(const struct fb_element_recipe *recipe,
				    struct fb_element_source from, uint64_t first,
				    const void *data, uint64_t count,
				    struct fb_check_result *result)
{
	check<<<blocks_for(count), THREADS>>>(*recipe, from, first, data, count, result);
	return (int)cudaGetLastError();
}
