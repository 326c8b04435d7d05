/* SPDX-License-Identifier: BSD-3-Clause */
/* Producers and consumers of fresh data; see gpu_fresh.h. */
#include "common/cuda/data_access.h"
#include "common/cuda/fresh_kernels.h"

/* As fb_fresh_first() of gpu_fresh.h. */
static __device__ uint64_t first_of(const struct fb_fresh_state *state)
{
	return state->call << 40;
}

__global__ void fresh_begin(struct fb_fresh_state *state)
{
	state->wrong_calls += state->result.errors != state->errors_before;
	state->errors_before = state->result.errors;
	state->call++;
}

/* A dependent kernel that does not wait has the time of this sleep to read the old data. */
static __device__ void let_dependents_begin()
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;");
	__nanosleep(2000);
#endif
}

__global__ void __launch_bounds__(FB_DATA_THREADS)
	fresh_produce(const struct fb_fresh_state *state,
		      const __grid_constant__ struct fb_element_recipe recipe,
		      struct fb_element_source from, void *to, uint64_t count, int early)
{
	uint64_t first = first_of(state);

	if (early)
		let_dependents_begin();
	for (uint64_t i = blockIdx.x * (uint64_t)FB_DATA_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)FB_DATA_THREADS)
		fb_data_put(to, i, recipe.bytes, fb_element_make(&recipe, from, first + i));
}

__global__ void __launch_bounds__(FB_DATA_THREADS)
	fresh_consume(struct fb_fresh_state *state,
		      const __grid_constant__ struct fb_element_recipe recipe,
		      struct fb_element_source from, uint64_t first, const void *data,
		      uint64_t count)
{
	uint64_t mask = fb_data_mask(recipe.bytes);
	unsigned long long errors = 0, least = ~0ull;

	first += first_of(state);
	for (uint64_t i = blockIdx.x * (uint64_t)FB_DATA_THREADS + threadIdx.x; i < count;
	     i += gridDim.x * (uint64_t)FB_DATA_THREADS) {
		if (fb_data_get(data, i, recipe.bytes) ==
		    (fb_element_make(&recipe, from, first + i) & mask))
			continue;
		errors++;
		least = i < least ? i : least;
	}
	fb_data_report(&state->result, errors, least);
}

extern "C" int fb_fresh_kernel_begin(struct fb_fresh_state *state, void *stream)
{
	fresh_begin<<<1, 1, 0, (cudaStream_t)stream>>>(state);
	return (int)cudaGetLastError();
}

extern "C" int fb_fresh_kernel_produce(const struct fb_fresh_state *state,
				       const struct fb_element_recipe *recipe,
				       struct fb_element_source from, void *to, uint64_t count,
				       int early, void *stream)
{
	fresh_produce<<<fb_data_blocks(count), FB_DATA_THREADS, 0, (cudaStream_t)stream>>>(
		state, *recipe, from, to, count, early);
	return (int)cudaGetLastError();
}

extern "C" int fb_fresh_kernel_consume(struct fb_fresh_state *state,
				       const struct fb_element_recipe *recipe,
				       struct fb_element_source from, uint64_t first,
				       const void *data, uint64_t count, void *stream)
{
	fresh_consume<<<fb_data_blocks(count), FB_DATA_THREADS, 0, (cudaStream_t)stream>>>(
		state, *recipe, from, first, data, count);
	return (int)cudaGetLastError();
}
