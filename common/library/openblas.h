/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of OpenBLAS that are used, found at run time; its header is not needed. */
#ifndef FB_COMMON_LIBRARY_OPENBLAS_H
#define FB_COMMON_LIBRARY_OPENBLAS_H

#include <stdbool.h>
#include <stddef.h>

struct fb_openblas {
	void *library; /* NULL: none */
	void (*sgemm)(int order, int transposed_a, int transposed_b, int m, int n, int k,
		      float alpha, const float *a, int lda, const float *b, int ldb, float beta,
		      float *c, int ldc);
	void (*set_num_threads)(int threads); /* NULL: the library has one thread */
};

/*
 * Local: loads the library (a path, a name, or "auto") and limits it to one thread, since a lane is
 * one thread. 0, or FB_EUNSUPPORTED (reason not printed). It stays loaded, as it may have threads.
 */
int fb_openblas_open(struct fb_openblas *blas, const char *library, char *reason, size_t n);

/* c[m][n] (by rows) = a times b[k][n]; a is [m][k], or [k][m] with `transposed`, of width lda. */
void fb_openblas_gemm(const struct fb_openblas *blas, bool transposed, int m, int n, int k,
		       const float *a, int lda, const float *b, float *c);

#endif
