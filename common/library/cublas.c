/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading and calling cuBLAS; see cublas.h. */
#include "common/library/cublas.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

/* Values from NVIDIA's documentation of cuBLAS and its data types. */
enum { SUCCESS = 0, PLAIN = 0, TRANSPOSED = 1, BF16 = 14, COMPUTE_F32 = 68, DEFAULT = -1 };

#define SYMBOL(member, name) { "cublas" name, offsetof(struct fb_blas, member), false }
#define OPTIONAL(member) { "cublas" #member, offsetof(struct fb_blas, member), true }

static const struct fb_library_symbol symbols[] = {
	SYMBOL(Create, "Create_v2"),	   SYMBOL(Destroy, "Destroy_v2"),
	SYMBOL(GetVersion, "GetVersion_v2"), SYMBOL(SetStream, "SetStream_v2"),
	SYMBOL(SetWorkspace, "SetWorkspace_v2"), SYMBOL(GemmEx, "GemmEx"),
	OPTIONAL(SetSmCountTarget),
};

static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};

static int failed(const char *what, int status)
{
	return status == SUCCESS ? FB_OK
				 : fb_error(FB_ESYS, "cublas%s: status %d", what, status);
}

static void *load(const char *library, char *reason, size_t n)
{
	if (strcmp(library, "auto"))
		return fb_library_open_cuda(&library, 1, reason, n);
	return fb_library_open_cuda(names, sizeof(names) / sizeof(names[0]), reason, n);
}

int fb_blas_open(struct fb_blas *blas, const char *library, char *reason, size_t n)
{
	struct fb_blas found = {.library = load(library, reason, n)};
	const char *lacks;

	if (!found.library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(found.library, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks) {
		snprintf(reason, n, "it has no %s", lacks);
		return FB_EUNSUPPORTED;
	}
	if (found.Create(&found.handle) != SUCCESS) {
		snprintf(reason, n, "cublasCreate failed");
		return FB_EUNSUPPORTED;
	}
	if (found.GetVersion(found.handle, &found.version) != SUCCESS)
		found.version = 0;
	*blas = found;
	return FB_OK;
}

void fb_blas_close(struct fb_blas *blas)
{
	if (blas->handle)
		(void)blas->Destroy(blas->handle);
	*blas = (struct fb_blas){.library = NULL};
}

/* cublasSetStream() resets the workspace, so it is set again. */
static int set_stream(struct fb_blas *blas, void *stream)
{
	int err;

	if (blas->stream == stream)
		return FB_OK;
	err = failed("SetStream", blas->SetStream(blas->handle, stream));
	if (!err)
		err = failed("SetWorkspace", blas->SetWorkspace(blas->handle, blas->workspace,
								blas->workspace_bytes));
	blas->stream = err ? NULL : stream;
	return err;
}

int fb_blas_gemm(struct fb_blas *blas, const struct fb_gemm *g, void *stream)
{
	const float one = 1, zero = 0;
	int m = (int)g->m, n = (int)g->n, k = (int)g->k;
	int err = set_stream(blas, stream);

	if (err)
		return err;
	return failed("GemmEx", blas->GemmEx(blas->handle, PLAIN,
					     g->transposed ? TRANSPOSED : PLAIN, m, n, k, &one,
					     g->a, BF16, m, g->b, BF16, g->transposed ? n : k,
					     &zero, g->to, BF16, m, COMPUTE_F32, DEFAULT));
}
