/* SPDX-License-Identifier: BSD-3-Clause */
/* Fresh data for each call; see gpu_fresh.h. */
#include "common/cuda/gpu_fresh.h"

#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "common/cuda/cuda_segment.h"
#include "common/cuda/fresh_kernels.h"

struct fb_gpu_fresh {
	struct fb_fresh_state *state; /* of the device */
};

int fb_gpu_fresh_open(struct fb_gpu_fresh **result)
{
	struct fb_gpu_fresh *fresh = calloc(1, sizeof(*fresh));
	int err = fresh ? FB_CUDA(cudaMalloc((void **)&fresh->state, sizeof(*fresh->state)))
			: fb_error(FB_ENOMEM, "out of memory");

	if (!err)
		err = fb_gpu_fresh_reset(fresh);
	if (err) {
		fb_gpu_fresh_close(fresh);
		return err;
	}
	*result = fresh;
	return FB_OK;
}

void fb_gpu_fresh_close(struct fb_gpu_fresh *fresh)
{
	if (fresh && fresh->state)
		(void)cudaFree(fresh->state);
	free(fresh);
}

int fb_gpu_fresh_reset(struct fb_gpu_fresh *fresh)
{
	const struct fb_fresh_state none = {.result = {.first = ~0ull}};

	return fb_device_put(fresh->state, &none, sizeof(none));
}

int fb_gpu_fresh_read(struct fb_gpu_fresh *fresh, struct fb_fresh_seen *seen)
{
	struct fb_fresh_state state = {.call = 0};
	int err = FB_CUDA(cudaDeviceSynchronize());

	if (!err)
		err = fb_device_get(&state, fresh->state, sizeof(state));
	*seen = (struct fb_fresh_seen){
		.calls = state.call,
		.wrong_calls = state.wrong_calls + (state.result.errors != state.errors_before),
		.errors = state.result.errors,
		.first = state.result.first,
	};
	return err;
}

static struct fb_element_source source_of(int rank)
{
	return (struct fb_element_source){.reduced = rank == FB_REDUCED,
					  .rank = rank == FB_REDUCED ? 0 : (uint32_t)rank};
}

int fb_gpu_fresh_produce(struct fb_gpu_fresh *fresh, const struct fb_data *data, int rank,
			 void *to, size_t count, bool early, void *stream)
{
	const struct fb_element_recipe recipe = fb_element_prepare(data);
	int err = FB_CUDA((cudaError_t)fb_fresh_kernel_begin(fresh->state, stream));

	if (err || !count)
		return err;
	return FB_CUDA((cudaError_t)fb_fresh_kernel_produce(fresh->state, &recipe, source_of(rank),
							    to, count, early, stream));
}

int fb_gpu_fresh_consume(struct fb_gpu_fresh *fresh, const struct fb_data *data, int rank,
			 uint64_t first, const void *from, size_t count, void *stream)
{
	const struct fb_element_recipe recipe = fb_element_prepare(data);

	if (!count)
		return FB_OK;
	return FB_CUDA((cudaError_t)fb_fresh_kernel_consume(fresh->state, &recipe, source_of(rank),
							    first, from, count, stream));
}
