/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Green contexts of the fake driver: multiprocessors come in eights, as on Hopper, and are counted,
 * so that a context that is not destroyed ends the process.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/cudart.h"

enum { ALL = 132, UNIT = 8 };

static int contexts;

static CUresult resource(CUdevice device, CUdevResource *r, CUdevResourceType type)
{
	(void)device;
	memset(r, 0, sizeof(*r));
	r->type = type;
	r->sm.smCount = ALL;
	return type == CU_DEV_RESOURCE_TYPE_SM ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult split(CUdevResource *result, unsigned *groups, const CUdevResource *input,
		      CUdevResource *remaining, unsigned flags, unsigned least)
{
	unsigned sms = (least + UNIT - 1) / UNIT * UNIT;

	(void)remaining;
	(void)flags;
	if (*groups != 1 || !least || sms > input->sm.smCount)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	*result = *input;
	result->sm.smCount = sms;
	return CUDA_SUCCESS;
}

static CUresult describe(CUdevResourceDesc *desc, CUdevResource *resources, unsigned n)
{
	*desc = (CUdevResourceDesc)(uintptr_t)(n * resources->sm.smCount);
	return CUDA_SUCCESS;
}

static void nothing_left(void)
{
	if (contexts) {
		fprintf(stderr, "fake driver: %d green contexts are left\n", contexts);
		_exit(9);
	}
}

static CUresult create(CUgreenCtx *context, CUdevResourceDesc desc, CUdevice device,
		       unsigned flags)
{
	(void)device;
	if (flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (!contexts++)
		atexit(nothing_left);
	*context = (CUgreenCtx)desc;
	return CUDA_SUCCESS;
}

static CUresult destroy(CUgreenCtx context)
{
	contexts--;
	return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult stream(CUstream *made, CUgreenCtx context, unsigned flags, int priority)
{
	if (!contexts || !context || flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	return cudaStreamCreateWithPriority(made, flags, priority) == cudaSuccess
	       ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void *fake_green_function(const char *symbol)
{
	static const struct {
		const char *symbol;
		uintptr_t function;
	} table[] = {
		{"cuDeviceGetDevResource", (uintptr_t)resource},
		{"cuDevSmResourceSplitByCount", (uintptr_t)split},
		{"cuDevResourceGenerateDesc", (uintptr_t)describe},
		{"cuGreenCtxCreate", (uintptr_t)create},
		{"cuGreenCtxDestroy", (uintptr_t)destroy},
		{"cuGreenCtxStreamCreate", (uintptr_t)stream},
	};

	for (size_t i = 0; getenv("FAKE_GREEN") && i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].symbol, symbol))
			return (void *)table[i].function;
	return NULL;
}
