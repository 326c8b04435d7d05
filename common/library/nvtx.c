/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading and calling NVTX; see nvtx.h. */
#include "common/library/nvtx.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/library/library.h"

static const struct fb_library_symbol symbols[] = {
	{"nvtxRangePushA", offsetof(struct fb_nvtx, RangePushA), false},
	{"nvtxRangePop", offsetof(struct fb_nvtx, RangePop), false},
};

/* CUDA 12.8 and later have the first one, CUDA 12 and earlier the second. */
static const char *const names[] = {"libnvtx3interop.so.1", "libnvToolsExt.so.1"};

int fb_nvtx_open(struct fb_nvtx *nvtx, char *reason, size_t n)
{
	struct fb_nvtx found = {.RangePushA = NULL};
	const char *lacks;
	void *library;

	*nvtx = found;
	if (!getenv("NVTX_INJECTION64_PATH"))
		return FB_OK;
	library = fb_library_open_cuda(names, sizeof(names) / sizeof(names[0]), reason, n);
	if (!library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(library, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks) {
		snprintf(reason, n, "it has no %s", lacks);
		return FB_EUNSUPPORTED;
	}
	*nvtx = found;
	return FB_OK;
}

void fb_nvtx_push(const struct fb_nvtx *nvtx, const char *name)
{
	if (nvtx->RangePushA)
		(void)nvtx->RangePushA(name);
}

void fb_nvtx_pop(const struct fb_nvtx *nvtx)
{
	if (nvtx->RangePop)
		(void)nvtx->RangePop();
}
