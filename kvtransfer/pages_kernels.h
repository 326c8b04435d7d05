/* SPDX-License-Identifier: BSD-3-Clause */
/* What pages.cu gives to cuda_pages.c, and wire.cu to cuda_wire.c. */
#ifndef FB_KVTRANSFER_PAGES_KERNELS_H
#define FB_KVTRANSFER_PAGES_KERNELS_H

#include "common/cuda/data_kernels.h"
#include "kvtransfer/place.h"
#include "kvtransfer/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes, or compares, `count` elements of pages in own memory, on the default stream; the
 * locator's table is in device memory. Both return a cudaError_t, of launching only. `worst`: the
 * request's elements may be off as far as quantising has them, and the bits of the largest relative
 * error, a float, come there; NULL: they may not.
 */
int fb_kv_kernel_fill(const struct fb_element_recipe *recipe, const struct fb_kv_locator *locator,
		      int canary, void *to, uint64_t count);
int fb_kv_kernel_check(const struct fb_element_recipe *recipe,
		       const struct fb_kv_locator *locator, int canary, const void *from,
		       uint64_t count, struct fb_check_result *result, unsigned *worst);

/* One end of a message, on the default stream. Returns a cudaError_t, of launching only. */
int fb_kv_kernel_packing(const struct fb_kv_packing *packing);

#ifdef __cplusplus
}
#endif

#endif
