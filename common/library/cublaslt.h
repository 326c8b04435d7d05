/* SPDX-License-Identifier: BSD-3-Clause */
/* cuBLASLt, found at run time without its header. It has products of 8-bit floats. */
#ifndef FB_COMMON_LIBRARY_CUBLASLT_H
#define FB_COMMON_LIBRARY_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

struct fb_blas_lt {
	void *library, *handle;
	int sms; /* multiprocessors to use; 0: all */
	int (*Create)(void **handle);
	int (*Destroy)(void *handle);
	int (*MatmulDescCreate)(void **desc, int compute_type, int scale_type);
	int (*MatmulDescDestroy)(void *desc);
	int (*MatmulDescSetAttribute)(void *desc, int attribute, const void *value, size_t bytes);
	int (*MatrixLayoutCreate)(void **layout, int type, uint64_t rows, uint64_t columns,
				  int64_t ld);
	int (*MatrixLayoutDestroy)(void *layout);
	int (*Matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
		      const void *b, void *b_layout, const void *beta, const void *c,
		      void *c_layout, void *d, void *d_layout, const void *algorithm,
		      void *workspace, size_t workspace_bytes, void *stream);
};

/*
 * to[m][n] in bf16 = transpose of a[k][m] times b[k][n] in E4M3, all stored by columns without
 * gaps: the one form that Hopper has. Sums are f32. Sizes are multiples of 16.
 */
struct fb_gemm_fp8 {
	uint32_t m, n, k;
	const uint8_t *a, *b;
	uint16_t *to;
};

/*
 * Local: loads the library and opens a handle on the current device. `cublas` is "auto", or the
 * path or name of cuBLAS, beside which cuBLASLt lies. 0, or FB_EUNSUPPORTED (reason not printed).
 */
int fb_blas_lt_open(struct fb_blas_lt *lt, const char *cublas, char *reason, size_t n);
void fb_blas_lt_close(struct fb_blas_lt *lt);

/* 0 or FB_ESYS (printed). Calls on several streams must not overlap: they share `workspace`. */
int fb_blas_lt_gemm(const struct fb_blas_lt *lt, const struct fb_gemm_fp8 *gemm, void *workspace,
		    size_t workspace_bytes, void *stream);

#endif
