/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of fresh.cu that cuda_fresh.c calls: launches that return a cudaError_t. */
#ifndef FB_COMMON_CUDA_FRESH_KERNELS_H
#define FB_COMMON_CUDA_FRESH_KERNELS_H

#include "common/cuda/data_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In device memory. */
struct fb_fresh_state {
	uint64_t call; /* number of the current call, from 1 on */
	struct fb_check_result result;
	unsigned long long errors_before; /* this call */
	uint64_t wrong_calls;		  /* before this one */
};

int fb_fresh_kernel_begin(struct fb_fresh_state *state, void *stream);
int fb_fresh_kernel_produce(const struct fb_fresh_state *state,
			    const struct fb_element_recipe *recipe,
			    struct fb_element_source from, void *to, uint64_t count, int early,
			    void *stream);
int fb_fresh_kernel_consume(struct fb_fresh_state *state, const struct fb_element_recipe *recipe,
			    struct fb_element_source from, uint64_t first, const void *data,
			    uint64_t count, void *stream);

#ifdef __cplusplus
}
#endif

#endif
