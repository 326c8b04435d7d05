/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments by the virtual memory interface: each rank creates its memory with an exportable handle,
 * and maps the parts of all ranks one behind the other in one reserved range. Handles are passed as
 * file descriptors or as fabric handles. Multicast objects are in cuda_multicast.c.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/cuda_segment.h"
#include "common/system/fd_exchange.h"

struct vmm {
	struct fb_cuda_driver driver;
	CUdeviceptr base;
	size_t reserved;
	bool *mapped; /* [nparts] */
};

#define TRY(v, function, ...) \
	fb_cuda_driver_error(&(v)->driver, (v)->driver.function(__VA_ARGS__), #function)

static void vmm_close(struct fb_segment *s)
{
	struct vmm *v = s->mapping;

	for (int i = 0; v->mapped && i < s->nparts; i++)
		if (v->mapped[i])
			(void)TRY(v, MemUnmap, v->base + (size_t)i * s->part_bytes, s->part_bytes);
	if (v->reserved)
		(void)TRY(v, MemAddressFree, v->base, v->reserved);
	free(v->mapped);
	free(v);
}

static const struct fb_memory_ops vmm_ops = {
	.name = "vmm", .device = true, .close = vmm_close,
	.set = fb_device_set, .put = fb_device_put, .get = fb_device_get,
	.fill = fb_device_fill, .check = fb_device_check,
	.fill_spans = fb_device_fill_spans, .check_spans = fb_device_check_spans,
};

static CUmemAllocationProp properties(const struct fb_gpu *gpu, CUmemAllocationHandleType type)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = type,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
	};
}

/* Maps part `i` and lets this rank's GPU use it; the mapping keeps the memory alive. */
static int map_part(struct fb_segment *s, const struct fb_gpu *gpu, int i,
		    CUmemGenericAllocationHandle handle)
{
	const CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	struct vmm *v = s->mapping;
	CUdeviceptr at = v->base + (size_t)i * s->part_bytes;
	int err = TRY(v, MemMap, at, s->part_bytes, 0, handle, 0);

	if (err)
		return err;
	v->mapped[i] = true;
	return TRY(v, MemSetAccess, at, s->part_bytes, &access, 1);
}

/* Reserves the address range, and maps this rank's zeroed memory in it. */
static int make_own(struct fb_segment *s, const struct fb_gpu *gpu, CUmemAllocationHandleType type,
		    CUmemGenericAllocationHandle *own)
{
	const CUmemAllocationProp prop = properties(gpu, type);
	struct vmm *v = calloc(1, sizeof(*v));
	int self = s->part_of[gpu->group->rank], err;
	size_t total = s->part_bytes * (size_t)s->nparts, page = 0;

	if (!v || fb_cuda_driver_find(&v->driver)) {
		free(v);
		return v ? fb_error(FB_EUNSUPPORTED, "the driver has no virtual memory interface")
			 : FB_ENOMEM;
	}
	s->mapping = v;
	s->ops = &vmm_ops;
	v->mapped = calloc((size_t)s->nparts, sizeof(*v->mapped));
	if (!v->mapped)
		return FB_ENOMEM;
	err = TRY(v, MemGetAllocationGranularity, &page, &prop,
		  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
	if (!err && (!page || s->part_bytes % page))
		err = fb_error(FB_EUNSUPPORTED, "GPU memory comes in pieces of %zu bytes", page);
	if (!err)
		err = TRY(v, MemAddressReserve, &v->base, total, FB_GPU_PAGE, 0, 0);
	if (err)
		return err;
	v->reserved = total;
	s->base = (char *)(uintptr_t)v->base; /* NOLINT(performance-no-int-to-ptr) */
	err = TRY(v, MemCreate, own, s->part_bytes, &prop, 0);
	if (err)
		return err;
	err = map_part(s, gpu, self, *own);
	if (!err)
		err = FB_CUDA(cudaMemset(s->base + (size_t)self * s->part_bytes, 0, s->part_bytes));
	if (!err)
		err = FB_CUDA(cudaDeviceSynchronize());
	if (err)
		(void)TRY(v, MemRelease, *own);
	return err;
}

/* Imports what a peer exported, and maps it. */
static int take_part(struct fb_segment *s, const struct fb_gpu *gpu, int i, void *exported,
		     CUmemAllocationHandleType type)
{
	const struct vmm *v = s->mapping;
	CUmemGenericAllocationHandle handle;
	int err = TRY(v, MemImportFromShareableHandle, &handle, exported, type), other;

	if (err)
		return err;
	err = map_part(s, gpu, i, handle);
	other = TRY(v, MemRelease, handle);
	return err ? err : other;
}

int fb_vmm_open_posix(struct fb_segment *s, const struct fb_gpu *gpu)
{
	const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	const struct fb_group *w = gpu->group;
	int *fds = calloc((size_t)s->nparts, sizeof(*fds)), fd = -1, made, err;
	CUmemGenericAllocationHandle own;

	made = make_own(s, gpu, type, &own);
	err = fds ? made : FB_ENOMEM;
	if (!err)
		err = TRY((const struct vmm *)s->mapping, MemExportToShareableHandle, &fd, own,
			  type, 0);
	err = fb_group_agree(w, err);
	if (err || !fds)
		goto release;
	err = fb_fd_exchange(w, fd, fds, s->nparts);
	for (int r = 0; r < w->nranks && !err; r++)
		if (s->part_of[r] >= 0 && r != w->rank && gpu->reaches[r])
			err = take_part(s, gpu, s->part_of[r],
					(void *)(intptr_t)fds[s->part_of[r]], type);
	for (int i = 0; i < s->nparts; i++)
		if (fds[i] >= 0)
			close(fds[i]);
release:
	if (fd >= 0)
		close(fd);
	if (!made)
		(void)TRY((const struct vmm *)s->mapping, MemRelease, own);
	free(fds);
	return fb_group_agree(w, err);
}

#if CUDART_VERSION >= 12040
/* Tries it, because a GPU that supports fabric handles also needs the machine's IMEX service. */
bool fb_vmm_has_fabric(const struct fb_gpu *gpu, const struct fb_cuda_driver *driver)
{
	const CUmemAllocationProp prop = properties(gpu, CU_MEM_HANDLE_TYPE_FABRIC);
	CUmemGenericAllocationHandle handle;
	CUmemFabricHandle exported;
	bool has;

	if (driver->MemCreate(&handle, FB_GPU_PAGE, &prop, 0) != CUDA_SUCCESS)
		return false;
	has = driver->MemExportToShareableHandle(&exported, handle, CU_MEM_HANDLE_TYPE_FABRIC,
						 0) == CUDA_SUCCESS;
	return driver->MemRelease(handle) == CUDA_SUCCESS && has;
}

int fb_vmm_open_fabric(struct fb_segment *s, const struct fb_gpu *gpu)
{
	const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_FABRIC;
	const struct fb_group *w = gpu->group;
	CUmemFabricHandle mine, *all = calloc((size_t)w->nranks, sizeof(*all));
	CUmemGenericAllocationHandle own;
	int made, err;

	memset(&mine, 0, sizeof(mine));
	made = make_own(s, gpu, type, &own);
	err = all ? made : FB_ENOMEM;
	if (!err)
		err = TRY((const struct vmm *)s->mapping, MemExportToShareableHandle, &mine, own,
			  type, 0);
	err = fb_group_agree(w, err);
	if (err || !all)
		goto release;
	MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, w->comm);
	for (int r = 0; r < w->nranks && !err; r++)
		if (r != w->rank && gpu->reaches[r])
			err = take_part(s, gpu, s->part_of[r], &all[r], type);
release:
	if (!made)
		(void)TRY((const struct vmm *)s->mapping, MemRelease, own);
	free(all);
	return fb_group_agree(w, err);
}
#else
bool fb_vmm_has_fabric(const struct fb_gpu *gpu, const struct fb_cuda_driver *driver)
{
	(void)gpu;
	(void)driver;
	return false;
}

int fb_vmm_open_fabric(struct fb_segment *s, const struct fb_gpu *gpu)
{
	(void)s;
	(void)gpu;
	return fb_error(FB_EUNSUPPORTED, "fabric handles need CUDA 12.4");
}
#endif
