/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of cuBLAS that the suite uses, found at run time; its header is not needed. */
#ifndef FB_COMMON_LIBRARY_CUBLAS_H
#define FB_COMMON_LIBRARY_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Matrices of bf16, stored by columns: to[m][n] = a[m][k] * b[k][n], or with `transposed` a[m][k]
 * times the transpose of b[n][k]. The leading dimensions are m for a and to, and k or n for b. Sums
 * are f32. m, n and k are multiples of 8; the matrices are aligned to 16 bytes.
 */
struct fb_gemm {
	uint32_t m, n, k;
	bool transposed;
	const uint16_t *a, *b;
	uint16_t *to;
};

struct fb_blas {
	void *library, *handle, *stream, *workspace;
	size_t workspace_bytes;
	int version; /* 130002 is 13.0.2 */
	int (*Create)(void **handle);
	int (*Destroy)(void *handle);
	int (*GetVersion)(void *handle, int *version);
	int (*SetStream)(void *handle, void *stream);
	int (*SetSmCountTarget)(void *handle, int sms); /* NULL: older than 11.5 */
	int (*SetWorkspace)(void *handle, void *workspace, size_t bytes);
	int (*GemmEx)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
		      const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
		      const void *beta, void *c, int c_type, int ldc, int compute_type,
		      int algorithm);
};

/*
 * Local: loads the library (a path, a name, or "auto") and opens a handle on the current device. 0,
 * or FB_EUNSUPPORTED with the reason (not printed). The library stays loaded, as it has threads.
 */
int fb_blas_open(struct fb_blas *blas, const char *library, char *reason, size_t n);
void fb_blas_close(struct fb_blas *blas);

/*
 * 0 or FB_ESYS (printed). Calls on several streams must not overlap: they share `workspace`, which
 * is the caller's device memory. Without it cuBLAS may allocate, which cannot be captured.
 */
int fb_blas_gemm(struct fb_blas *blas, const struct fb_gemm *gemm, void *stream);

#endif
