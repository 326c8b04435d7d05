/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products on a GPU: gemm.cu launches them, cuda_check.c checks them. */
#ifndef FB_OVERLAP_GPU_GEMM_H
#define FB_OVERLAP_GPU_GEMM_H

#include "common/library/cublas.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Both return a cudaError_t, of launching only; `stream` is a cudaStream_t. */
int fb_gemm_launch(const struct fb_gemm *gemm, void *stream);
/* Numbers at random in [-1, 1). */
int fb_gemm_fill(uint16_t *to, uint64_t count, uint32_t seed, void *stream);

/* Compares all elements with the host's. 0, FB_EDATA (printed), FB_ENOMEM or FB_ESYS. */
int fb_gemm_check(const struct fb_gemm *gemm);

#ifdef __cplusplus
}
#endif

#endif
