/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gemm.cu gives to cuda_compute.c: the launches; and cuda_check.c, whether they are right.
 * Matrices are bf16, stored by columns.
 */
#ifndef FB_OVERLAP_GPU_GEMM_H
#define FB_OVERLAP_GPU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * to[m][n] = a[m][k] * b[k][n], or with `transposed` b[n][k]'s transpose; the leading dimensions
 * are m, k or n, and m. Sums are f32. m, n and k are multiples of 8, the matrices are aligned to
 * 16 bytes.
 */
struct fb_gemm {
	uint32_t m, n, k;
	bool transposed;
	const uint16_t *a, *b;
	uint16_t *to;
};

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
