/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts CUDA's errors to this project's, and prints them once, where they are found, with the
 * call, the error's name and the place. For files that include CUDA's headers.
 */
#ifndef FB_COMMON_CUDA_CUDA_ERROR_H
#define FB_COMMON_CUDA_CUDA_ERROR_H

#include <cuda_runtime_api.h>
#include <string.h>

#include "common/base/error.h"

static inline int fb_cuda_error(cudaError_t code, const char *call, const char *file, int line)
{
	if (code == cudaSuccess)
		return FB_OK;
	/* The name of the call is enough: its arguments are in the source. */
	fb_error_print("%s:%d: %.*s: %s: %s", file, line, (int)strcspn(call, "("), call,
		       cudaGetErrorName(code), cudaGetErrorString(code));
	return code == cudaErrorMemoryAllocation ? FB_ENOMEM : FB_ESYS;
}

/* 0, or FB_ESYS or FB_ENOMEM, printed. */
#define FB_CUDA(call) fb_cuda_error((call), #call, __FILE__, __LINE__)

#endif
