/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills and checks pages in GPU memory, an element per thread. Not timed, so it is kept plain. */
#include "common/cuda/data_access.h"
#include "kvtransfer/pages_kernels.h"
#include "kvtransfer/wire.h"

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
	      struct fb_check_result *result, unsigned *worst)
{
	uint64_t mask = fb_data_mask(recipe.bytes);
	unsigned long long errors = 0, least = ~0ull;

	for (uint64_t i = blockIdx.x * (uint64_t)FB_DATA_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)FB_DATA_THREADS) {
		uint64_t wanted = expected(&recipe, &locator, canary, i) & mask;
		uint64_t got = fb_data_get(from, i, recipe.bytes);
		float off = 0;

		if (got == wanted)
			continue;
		if (worst && fb_kv_locate(&locator, i).used &&
		    fb_kv_fp8_is_near((uint16_t)wanted, (uint16_t)got, &off)) {
			/* Floats that are not negative are in the order of their bits. */
			atomicMax(worst, __float_as_uint(off));
			continue;
		}
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
				  struct fb_check_result *result, unsigned *worst)
{
	check<<<fb_data_blocks(count), FB_DATA_THREADS>>>(*recipe, *locator, canary, from,
							  count, result, worst);
	return (int)cudaGetLastError();
}
