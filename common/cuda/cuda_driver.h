/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few functions of the driver's interface for which the runtime has no equivalent, found
 * through the runtime: programs that are linked with libcuda do not start on machines without it.
 */
#ifndef FB_COMMON_CUDA_CUDA_DRIVER_H
#define FB_COMMON_CUDA_CUDA_DRIVER_H

#include <cuda.h>

struct fb_cuda_driver {
	CUresult (*GetErrorName)(CUresult code, const char **name);
	CUresult (*DeviceGetAttribute)(int *value, CUdevice_attribute attribute, CUdevice device);
	CUresult (*MemGetAllocationGranularity)(size_t *bytes, const CUmemAllocationProp *prop,
						CUmemAllocationGranularity_flags which);
	CUresult (*MemCreate)(CUmemGenericAllocationHandle *handle, size_t bytes,
			      const CUmemAllocationProp *prop, unsigned long long flags);
	CUresult (*MemRelease)(CUmemGenericAllocationHandle handle);
	CUresult (*MemExportToShareableHandle)(void *to, CUmemGenericAllocationHandle handle,
					       CUmemAllocationHandleType type,
					       unsigned long long flags);
	CUresult (*MemImportFromShareableHandle)(CUmemGenericAllocationHandle *handle, void *from,
						 CUmemAllocationHandleType type);
	CUresult (*MemAddressReserve)(CUdeviceptr *address, size_t bytes, size_t alignment,
				      CUdeviceptr at, unsigned long long flags);
	CUresult (*MemAddressFree)(CUdeviceptr address, size_t bytes);
	CUresult (*MemMap)(CUdeviceptr address, size_t bytes, size_t offset,
			   CUmemGenericAllocationHandle handle, unsigned long long flags);
	CUresult (*MemUnmap)(CUdeviceptr address, size_t bytes);
	CUresult (*MemSetAccess)(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
				 size_t n);
	CUresult (*StreamBatchMemOp)(CUstream stream, unsigned n, CUstreamBatchMemOpParams *ops,
				     unsigned flags);
};

/* 0, or FB_EUNSUPPORTED where the driver lacks one (not printed). */
int fb_cuda_driver_find(struct fb_cuda_driver *driver);

/*
 * Finds one more function: 0 with its address in *entry, a pointer to a function; or
 * FB_EUNSUPPORTED (not printed).
 */
int fb_cuda_driver_entry(const char *name, void *entry);

/* The same for a function that came with, and has the form of, this CUDA version (12050: 12.5). */
enum { FB_CUDA_GREEN_VERSION = 12050 };
int fb_cuda_driver_entry_of(const char *name, unsigned version, void *entry);

/* 0, or FB_ESYS or FB_ENOMEM, printed with the name of the call. */
int fb_cuda_driver_error(const struct fb_cuda_driver *driver, CUresult code, const char *call);

#endif
