/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading and calling cuBLASLt; see cublaslt.h. */
#include "common/library/cublaslt.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

/* Values from NVIDIA's documentation of cuBLASLt and its data types. */
enum { TRANSPOSED = 1, F32 = 0, BF16 = 14, E4M3 = 28, COMPUTE_F32 = 68, NAME_CHARS = 512 };
enum { TRANSPOSE_A = 3, SM_COUNT_TARGET = 15 };

#define SYMBOL(member) { "cublasLt" #member, offsetof(struct fb_blas_lt, member), false }

static const struct fb_library_symbol symbols[] = {
	SYMBOL(Create), SYMBOL(Destroy), SYMBOL(MatmulDescCreate), SYMBOL(MatmulDescDestroy),
	SYMBOL(MatmulDescSetAttribute), SYMBOL(MatrixLayoutCreate), SYMBOL(MatrixLayoutDestroy),
	SYMBOL(Matmul),
};

static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};

/* "/there/libcublas.so.12" has "/there/libcublasLt.so.12" beside it. */
static void *load(const char *cublas, char *reason, size_t n)
{
	static const char plain[] = "libcublas.so";
	const char *at = strstr(cublas, plain);
	char name[NAME_CHARS];
	const char *only = name;

	if (!at)
		return fb_library_open_cuda(names, sizeof(names) / sizeof(names[0]), reason, n);
	snprintf(name, sizeof(name), "%.*slibcublasLt.so%s", (int)(at - cublas), cublas,
		 at + sizeof(plain) - 1);
	return fb_library_open_cuda(&only, 1, reason, n);
}

int fb_blas_lt_open(struct fb_blas_lt *lt, const char *cublas, char *reason, size_t n)
{
	struct fb_blas_lt found = {.library = load(cublas, reason, n)};
	const char *lacks;

	if (!found.library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(found.library, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks || found.Create(&found.handle)) {
		snprintf(reason, n, "%s%s", lacks ? "it has no " : "cublasLtCreate failed",
			 lacks ? lacks : "");
		return FB_EUNSUPPORTED;
	}
	*lt = found;
	return FB_OK;
}

void fb_blas_lt_close(struct fb_blas_lt *lt)
{
	if (lt->handle)
		(void)lt->Destroy(lt->handle);
	*lt = (struct fb_blas_lt){.library = NULL};
}

static int make(const struct fb_blas_lt *lt, const struct fb_gemm_fp8 *g, void **desc,
		void *layout[3])
{
	const int32_t transposed = TRANSPOSED, sms = lt->sms;
	int status = lt->MatmulDescCreate(desc, COMPUTE_F32, F32);

	if (!status)
		status = lt->MatmulDescSetAttribute(*desc, TRANSPOSE_A, &transposed,
						    sizeof(transposed));
	if (!status && sms)
		status = lt->MatmulDescSetAttribute(*desc, SM_COUNT_TARGET, &sms, sizeof(sms));
	if (!status)
		status = lt->MatrixLayoutCreate(&layout[0], E4M3, g->k, g->m, g->k);
	if (!status)
		status = lt->MatrixLayoutCreate(&layout[1], E4M3, g->k, g->n, g->k);
	if (!status)
		status = lt->MatrixLayoutCreate(&layout[2], BF16, g->m, g->n, g->m);
	return status;
}

int fb_blas_lt_gemm(const struct fb_blas_lt *lt, const struct fb_gemm_fp8 *g, void *workspace,
		    size_t workspace_bytes, void *stream)
{
	const float one = 1, zero = 0;
	void *desc = NULL, *layout[3] = {NULL};
	int status = make(lt, g, &desc, layout);

	if (!status)
		status = lt->Matmul(lt->handle, desc, &one, g->a, layout[0], g->b, layout[1],
				    &zero, g->to, layout[2], g->to, layout[2], NULL, workspace,
				    workspace_bytes, stream);
	for (int i = 0; i < 3; i++)
		if (layout[i])
			(void)lt->MatrixLayoutDestroy(layout[i]);
	if (desc)
		(void)lt->MatmulDescDestroy(desc);
	return status ? fb_error(FB_ESYS, "cublasLtMatmul of 8-bit floats: status %d", status)
		      : FB_OK;
}
