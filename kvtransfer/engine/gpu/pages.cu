/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills and checks pages in GPU memory, an element per thread. Not timed, so it is kept plain. */
#include <cuda_runtime.h>

#include "kvtransfer/engine/gpu/kernels.h"

enum { THREADS = 256 };
static const uint64_t most_blocks = 4096;

/* Bits of an element; of a canary, its byte again and again. */
static __device__ uint64_t expected(const struct fb_element_recipe *recipe,
				    const struct fb_kv_locator *locator, int canary,
				    uint64_t place)
{
	const struct fb_kv_place at = fb_kv_locate(locator, place);
	const struct fb_element_source first = {0, 0};

	if (!at.used)
		return (uint64_t)(uint8_t)canary * 0x0101010101010101u;
	return fb_element_make(recipe, first, at.index);
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

__global__ void __launch_bounds__(THREADS)
	fill(const __grid_constant__ struct fb_element_recipe recipe, struct fb_kv_locator locator,
	     int canary, void *to, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS)
		put(to, i, recipe.bytes, expected(&recipe, &locator, canary, i));
}

__global__ void __launch_bounds__(THREADS)
	check(const __grid_constant__ struct fb_element_recipe recipe,
	      struct fb_kv_locator locator, int canary, const void *from, uint64_t count,
	      struct fb_check_result *result)
{
	uint64_t mask = recipe.bytes == 8 ? ~(uint64_t)0 : ((uint64_t)1 << recipe.bytes * 8) - 1;
	unsigned long long errors = 0, least = ~0ull;

	for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)THREADS) {
		uint64_t wanted = expected(&recipe, &locator, canary, i) & mask;

		if (get(from, i, recipe.bytes) == wanted)
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

extern "C" int fb_kv_kernel_fill(const struct fb_element_recipe *recipe,
				 const struct fb_kv_locator *locator, int canary, void *to,
				 uint64_t count)
{
	fill<<<blocks_for(count), THREADS>>>(*recipe, *locator, canary, to, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_kv_kernel_check(const struct fb_element_recipe *recipe,
				  const struct fb_kv_locator *locator, int canary,
				  const void *from, uint64_t count,
				  struct fb_check_result *result)
{
	check<<<blocks_for(count), THREADS>>>(*recipe, *locator, canary, from, count, result);
	return (int)cudaGetLastError();
}
