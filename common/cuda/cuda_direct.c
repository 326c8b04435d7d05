/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU memory that other devices access; see gpu_direct.h. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_direct.h"
#include "common/option/settings.h"

enum { PAGE = 2 << 20 };

void *fb_gpu_direct_alloc(size_t bytes)
{
	void *memory = NULL;
	int err = FB_CUDA(cudaMalloc(&memory, bytes));

	if (!err)
		err = FB_CUDA(cudaMemset(memory, 0, bytes));
	/* cudaMemset() may return before the memory is set. */
	if (!err)
		err = FB_CUDA(cudaDeviceSynchronize());
	if (!err)
		return memory;
	(void)cudaFree(memory);
	return NULL;
}

int fb_gpu_direct_free(void *memory)
{
	return FB_CUDA(cudaFree(memory));
}

static int attribute(const struct fb_gpu *gpu, CUdevice_attribute which)
{
	struct fb_cuda_driver driver;
	int value = 0;

	if (fb_cuda_driver_find(&driver) ||
	    driver.DeviceGetAttribute(&value, which, (CUdevice)gpu->device) != CUDA_SUCCESS)
		return 0;
	return value;
}

int fb_gpu_direct_export(const struct fb_gpu *gpu, void *base, size_t bytes, int *fd,
			 uint64_t *offset, char *why, size_t n)
{
	CUresult (*get)(void *handle, CUdeviceptr at, size_t size,
			CUmemRangeHandleType type, unsigned long long flags) = NULL;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)base / page * page;
	uintptr_t to = ((uintptr_t)base + bytes + page - 1) / page * page;
	CUresult code;

	if (fb_cuda_driver_entry("cuMemGetHandleForAddressRange", &get) ||
	    !attribute(gpu, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED)) {
		snprintf(why, n, "the driver exports no GPU memory as dma-buf");
		return FB_EUNSUPPORTED;
	}
	code = get(fd, (CUdeviceptr)from, to - from, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
	if (code != CUDA_SUCCESS) {
		snprintf(why, n, "the driver gives no dma-buf of GPU memory (error %d)",
			 (int)code);
		return FB_EUNSUPPORTED;
	}
	*offset = (uintptr_t)base - from;
	return FB_OK;
}

/*
 * *flush: whether kernels see a device's writes only after a flush. FB_OK, or FB_EUNSUPPORTED with
 * the reason if the GPU neither orders nor flushes such writes. The scopes of its order and of a
 * flush have comparable numbers: no flush to the owner is needed if the order includes the owner.
 */
static int find_order(const struct fb_gpu *gpu, bool *flush, char *why, size_t n)
{
	int order = attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
	int options = attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);

	*flush = order < (int)CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER;
	if (!attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED)) {
		snprintf(why, n, "%s has no GPUDirect RDMA", gpu->name);
		return FB_EUNSUPPORTED;
	}
	if (*flush && !(options & (int)CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST)) {
		snprintf(why, n, "%s neither orders nor flushes what devices write", gpu->name);
		return FB_EUNSUPPORTED;
	}
	return FB_OK;
}

/* Returns whether the device can register the page, by dma-buf or by address. */
static bool takes(const struct fb_gpu *gpu, const struct fb_gpu_direct_taker *taker, bool by_fd,
		  void *memory, char *why, size_t n)
{
	uint64_t offset = 0;
	int fd = -1;
	bool good;

	if (by_fd && fb_gpu_direct_export(gpu, memory, PAGE, &fd, &offset, why, n))
		return false;
	good = taker->takes(taker->arg, memory, PAGE, fd, offset, why, n);
	if (fd >= 0)
		close(fd);
	return good;
}

unsigned fb_gpu_direct_methods(const struct fb_gpu *gpu, int asked,
			       const struct fb_gpu_direct_taker *taker, bool *flush, char *why,
			       size_t n)
{
	unsigned found = 0;
	void *memory;

	if (find_order(gpu, flush, why, n))
		return 0;
	memory = fb_gpu_direct_alloc(PAGE);
	if (!memory) {
		snprintf(why, n, "no GPU memory");
		return 0;
	}
	if (asked != FB_GPU_DIRECT_PEERMEM && takes(gpu, taker, true, memory, why, n))
		found |= 1u << FB_GPU_DIRECT_DMABUF;
	if (asked != FB_GPU_DIRECT_DMABUF && takes(gpu, taker, false, memory, why, n))
		found |= 1u << FB_GPU_DIRECT_PEERMEM;
	(void)fb_gpu_direct_free(memory);
	return found;
}

int fb_gpu_direct_flush(const struct fb_gpu *gpu)
{
	/* The calling thread may have no current device yet. */
	int err = FB_CUDA(cudaSetDevice(gpu->device));

	if (err)
		return err;
	return FB_CUDA(cudaDeviceFlushGPUDirectRDMAWrites(
		cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
		cudaFlushGPUDirectRDMAWritesToOwner));
}
