/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills and checks buffers in GPU memory, one element per thread. Nothing here is timed, so it is
 * simple; it still reaches some hundred GB/s.
 */
#include "common/cuda/data_access.h"

__global__ void __launch_bounds__(FB_DATA_THREADS)
	fill(const __grid_constant__ struct fb_element_recipe recipe, struct fb_element_source from,
	     uint64_t first, void *to, uint64_t count)
{
	for (uint64_t i = blockIdx.x * (uint64_t)FB_DATA_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)FB_DATA_THREADS)
		fb_data_put(to, i, recipe.bytes, fb_element_make(&recipe, from, first + i));
}

__global__ void __launch_bounds__(FB_DATA_THREADS)
	check(const __grid_constant__ struct fb_element_recipe recipe,
	      struct fb_element_source from, uint64_t first, const void *data, uint64_t count,
	      struct fb_check_result *result)
{
	uint64_t mask = fb_data_mask(recipe.bytes);
	unsigned long long errors = 0, least = ~0ull;

	for (uint64_t i = blockIdx.x * (uint64_t)FB_DATA_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)FB_DATA_THREADS) {
		uint64_t expected = fb_element_make(&recipe, from, first + i) & mask;

		if (fb_data_get(data, i, recipe.bytes) == expected)
			continue;
		errors++;
		least = i < least ? i : least;
	}
	fb_data_report(result, errors, least);
}

/* Blocks take spans in turn. */
__global__ void __launch_bounds__(FB_DATA_THREADS)
	fill_spans(const __grid_constant__ struct fb_element_recipe recipe,
		   struct fb_element_source from, const struct fb_data_span *span, uint64_t n,
		   uint64_t count)
{
	for (uint64_t s = blockIdx.x; s < n; s += gridDim.x)
		for (uint64_t i = threadIdx.x; i < count; i += FB_DATA_THREADS)
			fb_data_put(span[s].at, i, recipe.bytes,
				    fb_element_make(&recipe, from, span[s].first + i));
}

__global__ void __launch_bounds__(FB_DATA_THREADS)
	check_spans(const __grid_constant__ struct fb_element_recipe recipe,
		    struct fb_element_source from, const struct fb_data_span *span, uint64_t n,
		    uint64_t count, struct fb_check_result *result)
{
	uint64_t mask = fb_data_mask(recipe.bytes);
	unsigned long long errors = 0, least = ~0ull;

	for (uint64_t s = blockIdx.x; s < n; s += gridDim.x)
		for (uint64_t i = threadIdx.x; i < count; i += FB_DATA_THREADS) {
			uint64_t first = span[s].first, at = s * count + i;

			if (fb_data_get(span[s].at, i, recipe.bytes) ==
			    (fb_element_make(&recipe, from, first + i) & mask))
				continue;
			errors++;
			least = at < least ? at : least;
		}
	fb_data_report(result, errors, least);
}

extern "C" int fb_data_kernel_fill(const struct fb_element_recipe *recipe,
				   struct fb_element_source from, uint64_t first, void *to,
				   uint64_t count)
{
	fill<<<fb_data_blocks(count), FB_DATA_THREADS>>>(*recipe, from, first, to, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_data_kernel_check(const struct fb_element_recipe *recipe,
				    struct fb_element_source from, uint64_t first,
				    const void *data, uint64_t count,
				    struct fb_check_result *result)
{
	check<<<fb_data_blocks(count), FB_DATA_THREADS>>>(*recipe, from, first, data,
							  count, result);
	return (int)cudaGetLastError();
}

extern "C" int fb_data_kernel_fill_spans(const struct fb_element_recipe *recipe,
					 struct fb_element_source from,
					 const struct fb_data_span *span, uint64_t n,
					 uint64_t count)
{
	fill_spans<<<fb_data_blocks(n * FB_DATA_THREADS), FB_DATA_THREADS>>>(*recipe, from, span,
									     n, count);
	return (int)cudaGetLastError();
}

extern "C" int fb_data_kernel_check_spans(const struct fb_element_recipe *recipe,
					  struct fb_element_source from,
					  const struct fb_data_span *span, uint64_t n,
					  uint64_t count, struct fb_check_result *result)
{
	check_spans<<<fb_data_blocks(n * FB_DATA_THREADS), FB_DATA_THREADS>>>(*recipe, from, span,
									      n, count, result);
	return (int)cudaGetLastError();
}
