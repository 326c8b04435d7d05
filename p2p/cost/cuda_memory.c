/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Getting GPU memory and letting a neighbour map it, by the runtime (cudaMalloc and CUDA IPC) and
 * by the driver's virtual memory interface (handles that travel as file descriptors). The calls are
 * those of the segments (common/cuda/cuda_ipc.c, cuda_vmm.c), one by one and nothing else.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/system/fd_exchange.h"
#include "p2p/cost/cost.h"

struct site {
	struct fb_cuda_driver driver; /* of memory vmm */
	int ranks, next, previous;    /* on this host */
	int *fds;		      /* [ranks] */
	CUmemGenericAllocationHandle handle;
	size_t bytes; /* mapped, in whole pages of the GPU */
};

static const size_t page = (size_t)2 << 20; /* cuMemCreate's on all GPUs so far */

#define TRY(s, function, ...) \
	fb_cuda_driver_error(&(s)->driver, (s)->driver.function(__VA_ARGS__), #function)

int fb_cost_cuda_open(struct fb_cost_context *context)
{
	const struct fb_group *w = context->world;
	struct site *s = calloc(1, sizeof(*s));
	int at;

	if (!s)
		return fb_error(FB_ENOMEM, "out of memory for GPU memory");
	context->gpu_own = s;
	MPI_Comm_size(w->node_comm, &s->ranks);
	MPI_Comm_rank(w->node_comm, &at);
	s->next = (at + 1) % s->ranks;
	s->previous = (at + s->ranks - 1) % s->ranks;
	s->fds = calloc((size_t)s->ranks, sizeof(*s->fds));
	if (!s->fds)
		return fb_error(FB_ENOMEM, "out of memory for GPU memory");
	if (context->gpu_memory == FB_GPU_VMM && fb_cuda_driver_find(&s->driver))
		return fb_error(FB_EUNSUPPORTED, "the driver has no virtual memory interface");
	return FB_OK;
}

void fb_cost_cuda_close(struct fb_cost_context *context)
{
	struct site *s = context->gpu_own;

	if (s)
		free(s->fds);
	free(s);
	context->gpu_own = NULL;
}

/* Gives the memory behind a handle an address that this GPU may use. */
static int map(const struct site *s, int device, CUmemGenericAllocationHandle handle,
	       CUdeviceptr *at)
{
	const CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	int err = TRY(s, MemAddressReserve, at, s->bytes, page, 0, 0);

	if (err)
		return err;
	err = TRY(s, MemMap, *at, s->bytes, 0, handle, 0);
	if (err)
		goto free_address;
	err = TRY(s, MemSetAccess, *at, s->bytes, &access, 1);
	if (!err)
		return FB_OK;
	(void)TRY(s, MemUnmap, *at, s->bytes);
free_address:
	(void)TRY(s, MemAddressFree, *at, s->bytes);
	return err;
}

static int unmap(const struct site *s, CUdeviceptr at)
{
	int err = TRY(s, MemUnmap, at, s->bytes);

	return err ? err : TRY(s, MemAddressFree, at, s->bytes);
}

/* Exportable, and where the GPU has it for RDMA devices, as memory vmm of the other programs is. */
static int create(struct site *s, int device)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
	};
	int rdma = 0;

	if (s->driver.DeviceGetAttribute(
		    &rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
		    (CUdevice)device) == CUDA_SUCCESS && rdma)
		prop.allocFlags.gpuDirectRDMACapable = 1;
	return TRY(s, MemCreate, &s->handle, s->bytes, &prop, 0);
}

static int get_vmm(struct fb_cost_context *context, size_t bytes)
{
	int device = context->gpu->gpu.device, err;
	struct site *s = context->gpu_own;
	CUdeviceptr at;

	s->bytes = (bytes + page - 1) / page * page;
	err = create(s, device);
	if (err)
		return err;
	err = map(s, device, s->handle, &at);
	if (err) {
		(void)TRY(s, MemRelease, s->handle);
		return err;
	}
	context->memory = (char *)(uintptr_t)at; /* NOLINT(performance-no-int-to-ptr) */
	return FB_OK;
}

int fb_cost_cuda_get(struct fb_cost_context *context, size_t bytes)
{
	void *memory = NULL;
	int err;

	if (context->gpu_memory == FB_GPU_VMM)
		return get_vmm(context, bytes);
	err = FB_CUDA(cudaMalloc(&memory, bytes));
	context->memory = err ? NULL : memory;
	return err;
}

int fb_cost_cuda_drop(struct fb_cost_context *context)
{
	struct site *s = context->gpu_own;
	char *memory = context->memory;
	int err, other;

	context->memory = NULL;
	if (context->gpu_memory != FB_GPU_VMM)
		return FB_CUDA(cudaFree(memory));
	err = unmap(s, (CUdeviceptr)(uintptr_t)memory);
	other = TRY(s, MemRelease, s->handle);
	return err ? err : other;
}

static int share_by_ipc(struct fb_cost_context *context)
{
	const struct site *s = context->gpu_own;
	cudaIpcMemHandle_t own, remote;
	void *memory = NULL;
	int err;

	memset(&own, 0, sizeof(own));
	err = FB_CUDA(cudaIpcGetMemHandle(&own, context->memory));
	if (err)
		return err;
	MPI_Sendrecv(&own, sizeof(own), MPI_BYTE, s->previous, 0, &remote, sizeof(remote),
		     MPI_BYTE, s->next, 0, context->world->node_comm, MPI_STATUS_IGNORE);
	if (s->ranks == 1)
		return FB_OK;
	err = FB_CUDA(cudaIpcOpenMemHandle(&memory, remote, cudaIpcMemLazyEnablePeerAccess));
	return err ? err : FB_CUDA(cudaIpcCloseMemHandle(memory));
}

/* Imports what the file is of, maps it, and gives it up. */
static int use_file(const struct site *s, int device, int fd)
{
	CUmemGenericAllocationHandle handle;
	void *from = (void *)(intptr_t)fd; /* NOLINT(performance-no-int-to-ptr) */
	CUdeviceptr at;
	int err = TRY(s, MemImportFromShareableHandle, &handle, from,
		      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), other;

	if (err)
		return err;
	err = map(s, device, handle, &at);
	if (!err)
		err = unmap(s, at);
	other = TRY(s, MemRelease, handle);
	return err ? err : other;
}

static int share_by_file(struct fb_cost_context *context)
{
	const struct site *s = context->gpu_own;
	int fd = -1, err;

	err = TRY(s, MemExportToShareableHandle, &fd, s->handle,
		  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (err)
		return err;
	err = fb_fd_exchange(context->world, fd, s->fds, s->ranks);
	if (!err && s->ranks > 1)
		err = use_file(s, context->gpu->gpu.device, s->fds[s->next]);
	for (int i = 0; i < s->ranks; i++)
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	close(fd);
	return err;
}

int fb_cost_cuda_share(struct fb_cost_context *context)
{
	return context->gpu_memory == FB_GPU_VMM ? share_by_file(context) : share_by_ipc(context);
}
