/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of 8-bit floats for cuda_compute.c: their matrices, and whether they are right. */
#ifndef FB_OVERLAP_GPU_FP8_H
#define FB_OVERLAP_GPU_FP8_H

#include "common/library/cublaslt.h"

/* Fills device memory with random E4M3 in [-1, 1); none is NaN. 0, FB_ENOMEM or FB_ESYS. */
int fb_fp8_fill(void *to, uint64_t bytes, uint32_t seed);

/* Compares all elements of a product with the host's. 0, FB_EDATA (printed), FB_ENOMEM, FB_ESYS. */
int fb_fp8_check(const struct fb_gemm_fp8 *gemm);

#endif
