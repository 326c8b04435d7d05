/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of data.cu that cuda_data.c calls: the launches, on the default stream. */
#ifndef FB_COMMON_CUDA_DATA_KERNELS_H
#define FB_COMMON_CUDA_DATA_KERNELS_H

#include "common/cuda/data_element.h"
#include "common/memory/memory_ops.h" /* struct fb_data_span */

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a check, in device memory. */
struct fb_check_result {
	unsigned long long errors;
	unsigned long long first; /* index of the first wrong element; largest: none */
};

/* All return a cudaError_t, of launching only. */
int fb_data_kernel_fill(const struct fb_element_recipe *recipe, struct fb_element_source from,
			uint64_t first, void *to, uint64_t count);
int fb_data_kernel_check(const struct fb_element_recipe *recipe, struct fb_element_source from,
			 uint64_t first, const void *data, uint64_t count,
			 struct fb_check_result *result);

/*
 * The same for n spans of `count` elements each; the list is in device memory. Wrong elements are
 * counted over all spans, as if these were contiguous.
 */
int fb_data_kernel_fill_spans(const struct fb_element_recipe *recipe,
			      struct fb_element_source from, const struct fb_data_span *span,
			      uint64_t n, uint64_t count);
int fb_data_kernel_check_spans(const struct fb_element_recipe *recipe,
			       struct fb_element_source from, const struct fb_data_span *span,
			       uint64_t n, uint64_t count, struct fb_check_result *result);

#ifdef __cplusplus
}
#endif

#endif
