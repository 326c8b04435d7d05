/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills and checks pages in GPU memory, an element per thread. Not timed, so it is kept plain. */
#include "common/cuda/data_access.h"
#include "kvtransfer/pages_kernels.h"

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

__global__ void __launch_bounds__(FB_DATA_THREADS)
	fill(const __grid_constant__ struct fb_element_recipe recipe, struct fb_kv_locator locator,
	     int canary, void *to, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)FB_DATA_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)FB_DATA_THREADS)
		fb_data_put(to, i, recipe.bytes, expected(&recipe, &locator, canary, i));
}

__global__ void __launch_bounds__(FB_DATA_THREADS)
	check(const __grid_constant__ struct fb_element_recipe recipe,
	      struct fb_kv_locator locator, int canary, const void *from, uint64_t count,
	      struct fb_check_result *result)
{
	uint64_t mask = fb_data_mask(recipe.bytes);
	unsigned long long errors = 0, least = ~0ull;

	for (uint64_t i = blockIdx.x * (uint64_t)FB_DATA_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)FB_DATA_THREADS) {
		uint64_t wanted = expected(&recipe, &locator, canary, i) & mask;

		if (fb_data_get(from, i, recipe.bytes) == wanted)
			continue;
		errors++;
		least = i < least ? i : least;
	}
	fb_data_report(result, errors, least);
}

extern "C" int fb_kv_kernel_fill(const struct fb_element_recipe *recipe,
				 const struct fb_kv_locator *locator, int canary, void *to,
				 uint64_t count)
{
	fill<<<fb_data_blocks(count), FB_DATA_THREADS>>>(*recipe, *locator, canary, to, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_kv_kernel_check(const struct fb_element_recipe *recipe,
				  const struct fb_kv_locator *locator, int canary,
				  const void *from, uint64_t count,
				  struct fb_check_result *result)
{
	check<<<fb_data_blocks(count), FB_DATA_THREADS>>>(*recipe, *locator, canary, from,
							  count, result);
	return (int)cudaGetLastError();
}
