/* SPDX-License-Identifier: BSD-3-Clause */
/* Green contexts by the driver's functions, found at run time; see gpu_green.h. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/cuda/cuda_driver.h"
#include "common/cuda/gpu_green.h"

#if CUDA_VERSION >= 12050

struct fb_gpu_green {
	CUgreenCtx context;
	CUresult (*DeviceGetDevResource)(CUdevice device, CUdevResource *resource,
					 CUdevResourceType type);
	CUresult (*DevSmResourceSplitByCount)(CUdevResource *result, unsigned *groups,
					      const CUdevResource *input, CUdevResource *remaining,
					      unsigned flags, unsigned least);
	CUresult (*DevResourceGenerateDesc)(CUdevResourceDesc *desc, CUdevResource *resources,
					    unsigned n);
	CUresult (*GreenCtxCreate)(CUgreenCtx *context, CUdevResourceDesc desc, CUdevice device,
				   unsigned flags);
	CUresult (*GreenCtxDestroy)(CUgreenCtx context);
	CUresult (*GreenCtxStreamCreate)(CUstream *stream, CUgreenCtx context, unsigned flags,
					 int priority);
};

/* Finds the functions. Returns the name of one that the driver lacks, or NULL. */
static const char *find(struct fb_gpu_green *g)
{
	const struct {
		const char *name;
		void *entry;
	} table[] = {
		{"cuDeviceGetDevResource", &g->DeviceGetDevResource},
		{"cuDevSmResourceSplitByCount", &g->DevSmResourceSplitByCount},
		{"cuDevResourceGenerateDesc", &g->DevResourceGenerateDesc},
		{"cuGreenCtxCreate", &g->GreenCtxCreate},
		{"cuGreenCtxDestroy", &g->GreenCtxDestroy},
		{"cuGreenCtxStreamCreate", &g->GreenCtxStreamCreate},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (fb_cuda_driver_entry_of(table[i].name, FB_CUDA_GREEN_VERSION, table[i].entry))
			return table[i].name;
	return NULL;
}

/* Makes the context. Returns the name of the function that failed, or NULL. */
static const char *make(struct fb_gpu_green *g, int device, unsigned sms, int *got,
			CUresult *code)
{
	CUdevResource all, part;
	CUdevResourceDesc desc;
	unsigned groups = 1;

	*code = g->DeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
	if (*code != CUDA_SUCCESS)
		return "cuDeviceGetDevResource";
	*code = g->DevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, sms);
	if (*code != CUDA_SUCCESS || groups != 1)
		return "cuDevSmResourceSplitByCount";
	*code = g->DevResourceGenerateDesc(&desc, &part, 1);
	if (*code != CUDA_SUCCESS)
		return "cuDevResourceGenerateDesc";
	*got = (int)part.sm.smCount;
	*code = g->GreenCtxCreate(&g->context, desc, device, CU_GREEN_CTX_DEFAULT_STREAM);
	return *code == CUDA_SUCCESS ? NULL : "cuGreenCtxCreate";
}

int fb_gpu_green_open(struct fb_gpu_green **green, int device, int sms, int *got, char *why,
		      size_t n)
{
	struct fb_gpu_green *g = calloc(1, sizeof(*g));
	CUresult code = CUDA_SUCCESS;
	const char *lacks, *failed = NULL;

	if (!g)
		return FB_ENOMEM;
	lacks = find(g);
	if (!lacks)
		failed = make(g, device, (unsigned)sms, got, &code);
	if (lacks || failed) {
		if (lacks)
			snprintf(why, n, "the driver has no %s", lacks);
		else
			snprintf(why, n, "%s: %d", failed, (int)code);
		free(g);
		return FB_EUNSUPPORTED;
	}
	*green = g;
	return FB_OK;
}

int fb_gpu_green_stream(const struct fb_gpu_green *green, int priority, void *stream)
{
	CUresult code = green->GreenCtxStreamCreate(stream, green->context,
						    CU_STREAM_NON_BLOCKING, priority);

	return code == CUDA_SUCCESS ? FB_OK
				    : fb_error(FB_ESYS, "cuGreenCtxStreamCreate: %d", (int)code);
}

void fb_gpu_green_close(struct fb_gpu_green *green)
{
	if (green)
		(void)green->GreenCtxDestroy(green->context);
	free(green);
}

#else

int fb_gpu_green_open(struct fb_gpu_green **green, int device, int sms, int *got, char *why,
		      size_t n)
{
	(void)green;
	(void)device;
	(void)sms;
	(void)got;
	snprintf(why, n, "built with CUDA before 12.5");
	return FB_EUNSUPPORTED;
}

int fb_gpu_green_stream(const struct fb_gpu_green *green, int priority, void *stream)
{
	(void)green;
	(void)priority;
	(void)stream;
	return FB_EUNSUPPORTED;
}

void fb_gpu_green_close(struct fb_gpu_green *green)
{
	(void)green;
}

#endif
