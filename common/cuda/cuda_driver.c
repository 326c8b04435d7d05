/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of the driver; see cuda_driver.h. */
#include "common/cuda/cuda_driver.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "common/base/error.h"

/* Interfaces of CUDA 11.8, which has all of them. */
enum { DRIVER_VERSION = 11080 };

int fb_cuda_driver_entry(const char *name, void *entry)
{
	return fb_cuda_driver_entry_of(name, DRIVER_VERSION, entry);
}

int fb_cuda_driver_entry_of(const char *name, unsigned version, void *entry)
{
	enum cudaDriverEntryPointQueryResult found;
	void *function = NULL;
	cudaError_t code;

#if CUDART_VERSION >= 12050
	code = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault,
						&found);
#else
	(void)version;
	code = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
	if (code != cudaSuccess || found != cudaDriverEntryPointSuccess || !function)
		return FB_EUNSUPPORTED;
	/* ISO C has no conversion from void * to a function's address. */
	memcpy(entry, &function, sizeof(function));
	return FB_OK;
}

int fb_cuda_driver_find(struct fb_cuda_driver *driver)
{
	const struct {
		const char *name;
		void *entry;
	} table[] = {
		{"cuGetErrorName", &driver->GetErrorName},
		{"cuDeviceGetAttribute", &driver->DeviceGetAttribute},
		{"cuMemGetAllocationGranularity", &driver->MemGetAllocationGranularity},
		{"cuMemCreate", &driver->MemCreate},
		{"cuMemRelease", &driver->MemRelease},
		{"cuMemExportToShareableHandle", &driver->MemExportToShareableHandle},
		{"cuMemImportFromShareableHandle", &driver->MemImportFromShareableHandle},
		{"cuMemAddressReserve", &driver->MemAddressReserve},
		{"cuMemAddressFree", &driver->MemAddressFree},
		{"cuMemMap", &driver->MemMap},
		{"cuMemUnmap", &driver->MemUnmap},
		{"cuMemSetAccess", &driver->MemSetAccess},
		{"cuStreamBatchMemOp", &driver->StreamBatchMemOp},
	};
	int err = FB_OK;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !err; i++)
		err = fb_cuda_driver_entry(table[i].name, table[i].entry);
	return err;
}

int fb_cuda_driver_error(const struct fb_cuda_driver *driver, CUresult code, const char *call)
{
	const char *name = NULL;

	if (code == CUDA_SUCCESS)
		return FB_OK;
	if (driver->GetErrorName(code, &name) != CUDA_SUCCESS || !name)
		name = "unknown error";
	fb_error_print("cu%s: %s (%d)", call, name, (int)code);
	return code == CUDA_ERROR_OUT_OF_MEMORY ? FB_ENOMEM : FB_ESYS;
}
