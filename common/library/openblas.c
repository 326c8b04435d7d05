/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading and calling OpenBLAS; see openblas.h. */
#include "common/library/openblas.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

/* Values from the C interface to BLAS. */
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

static const struct fb_library_symbol symbols[] = {
	{"cblas_sgemm", offsetof(struct fb_openblas, sgemm), false},
	{"openblas_set_num_threads", offsetof(struct fb_openblas, set_num_threads), true},
};

static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};

int fb_openblas_open(struct fb_openblas *blas, const char *library, char *reason, size_t n)
{
	struct fb_openblas found = {.library = NULL};
	const char *lacks;

	if (strcmp(library, "auto"))
		found.library = fb_library_open(library, NULL, 0, reason, n);
	for (size_t i = 0; !strcmp(library, "auto") && !found.library &&
	     i < sizeof(names) / sizeof(names[0]); i++)
		found.library = fb_library_open(names[i], NULL, 0, reason, n);
	if (!found.library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(found.library, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks) {
		snprintf(reason, n, "it has no %s", lacks);
		return FB_EUNSUPPORTED;
	}
	if (found.set_num_threads)
		found.set_num_threads(1);
	*blas = found;
	return FB_OK;
}

void fb_openblas_gemm(const struct fb_openblas *blas, bool transposed, int m, int n, int k,
		       const float *a, int lda, const float *b, float *c)
{
	blas->sgemm(ROW_MAJOR, transposed ? TRANSPOSED : PLAIN, PLAIN, m, n, k, 1, a, lda, b, n, 0,
		    c, n);
}
