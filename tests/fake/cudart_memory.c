/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's virtual memory interface for the GPU that does nothing (cudart.c): handles are files
 * without names, which ranks pass on and map, so that memory vmm is one that they share. And the
 * runtime's plain memory.
 */
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fake/cudart.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { PAGE = 2 << 20 };

static void *at(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *prop,
			    CUmemAllocationGranularity_flags which)
{
	*bytes = PAGE;
	return CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes,
		       const CUmemAllocationProp *prop, unsigned long long flags)
{
	int fd = memfd_create("vmm", MFD_CLOEXEC);

	if (bytes % PAGE || fd < 0 || ftruncate(fd, (off_t)bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*handle = (CUmemGenericAllocationHandle)fd;
	return CUDA_SUCCESS;
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
	CUresult code = fake_multicast_release(handle);

	return code != CUDA_SUCCESS ? code
	       : close((int)handle) ? CUDA_ERROR_INVALID_VALUE
				    : CUDA_SUCCESS;
}

static CUresult export(void *to, CUmemGenericAllocationHandle handle,
		       CUmemAllocationHandleType type, unsigned long long flags)
{
	int fd = dup((int)handle);

	memcpy(to, &fd, sizeof(fd));
	return fd < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult import(CUmemGenericAllocationHandle *handle, void *from,
		       CUmemAllocationHandleType type)
{
	CUresult code = fake_multicast_import((CUmemGenericAllocationHandle)(intptr_t)from);
	int fd = code == CUDA_SUCCESS ? dup((int)(intptr_t)from) : -1;

	*handle = (CUmemGenericAllocationHandle)fd;
	return fd < 0 && code == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : code;
}

/* Room for the alignment stays reserved behind it until the process ends. */
static CUresult reserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
			unsigned long long flags)
{
	char *memory = mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before = PAGE - (uintptr_t)memory % PAGE;

	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	munmap(memory, before);
	*address = (CUdeviceptr)(uintptr_t)(memory + before);
	return CUDA_SUCCESS;
}

static CUresult unreserve(CUdeviceptr address, size_t bytes)
{
	CUresult code = fake_multicast_unreserve(address, bytes);

	return code != CUDA_SUCCESS	   ? code
	       : munmap(at(address), bytes) ? CUDA_ERROR_INVALID_VALUE
					    : CUDA_SUCCESS;
}

static CUresult map(CUdeviceptr address, size_t bytes, size_t offset,
		    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult code;

	if (!fake_multicast_map(address, bytes, handle, &code))
		return code;
	return mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    (int)handle, (off_t)offset) == MAP_FAILED
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

static CUresult unmap(CUdeviceptr address, size_t bytes)
{
	CUresult code = fake_multicast_unmap(address, bytes);

	if (code != CUDA_SUCCESS)
		return code;
	return mmap(at(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) == MAP_FAILED
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
			   size_t n)
{
	return CUDA_SUCCESS;
}

/* --- the runtime's memory, for GPUs that work ------------------------------------------------- */

enum { MOST = 256 };

static struct block {
	void *memory; /* NULL: no block */
	size_t bytes;
	int fd;       /* -1: another process's */
} blocks[MOST];

struct handle {
	pid_t pid;
	int fd;
	size_t bytes;
};

static cudaError_t map_block(void **memory, int fd, size_t bytes, bool own)
{
	struct block *b = blocks;

	while (b < blocks + MOST && b->memory)
		b++;
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory == MAP_FAILED || b == blocks + MOST)
		return cudaErrorMemoryAllocation;
	*b = (struct block){*memory, bytes, own ? fd : -1};
	return cudaSuccess;
}

cudaError_t fake_malloc(void **memory, size_t bytes)
{
	int fd = memfd_create("device", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)(bytes ? bytes : 1)))
		return cudaErrorMemoryAllocation;
	return map_block(memory, fd, bytes ? bytes : 1, true);
}

static struct block *find_block(const void *memory)
{
	struct block *b = blocks;

	while (b < blocks + MOST && (!memory || b->memory != memory))
		b++;
	return b < blocks + MOST ? b : NULL;
}

bool fake_free(void *memory)
{
	struct block *b = find_block(memory);

	if (!b)
		return false;
	munmap(b->memory, b->bytes);
	if (b->fd >= 0)
		close(b->fd);
	b->memory = NULL;
	return true;
}

cudaError_t fake_export(void *to, void *memory)
{
	const struct block *b = find_block(memory);
	const struct handle handle = {getpid(), b ? b->fd : -1, b ? b->bytes : 0};

	memcpy(to, &handle, sizeof(handle));
	return b ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t fake_import(void **memory, const void *from)
{
	struct handle handle;
	char path[64];
	cudaError_t code;
	int fd;

	memcpy(&handle, from, sizeof(handle));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)handle.pid, handle.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	code = fd < 0 ? cudaErrorInvalidValue : map_block(memory, fd, handle.bytes, false);
	if (fd >= 0)
		close(fd);
	return code;
}

void *fake_memory_function(const char *symbol)
{
	static const struct {
		const char *symbol;
		uintptr_t function;
	} table[] = {
		{"cuMemGetAllocationGranularity", (uintptr_t)granularity},
		{"cuMemCreate", (uintptr_t)create},
		{"cuMemRelease", (uintptr_t)release},
		{"cuMemExportToShareableHandle", (uintptr_t)export},
		{"cuMemImportFromShareableHandle", (uintptr_t)import},
		{"cuMemAddressReserve", (uintptr_t)reserve},
		{"cuMemAddressFree", (uintptr_t)unreserve},
		{"cuMemMap", (uintptr_t)map},
		{"cuMemUnmap", (uintptr_t)unmap},
		{"cuMemSetAccess", (uintptr_t)set_access},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].symbol, symbol))
			return (void *)table[i].function;
	return fake_multicast_function(symbol);
}

/* --- plain memory -------------------------------------------------------------------------- */

/* Bytes of a GPU's memory: FB_FAKE_GPU_MEMORY, or 8 GiB. */
static size_t memory_bytes(void)
{
	const char *text = getenv("FB_FAKE_GPU_MEMORY");

	return text ? strtoull(text, NULL, 10) : (size_t)8 << 30;
}

/* With FB_FAKE_GPU_MEMORY no more than that is given to a process; what it frees stays taken. */
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
	static size_t taken;

	taken += bytes;
	if (taken > memory_bytes() && getenv("FB_FAKE_GPU_MEMORY"))
		return cudaErrorMemoryAllocation;
	if (fake_works())
		return fake_malloc(memory, bytes);
	*memory = aligned_alloc(512, (bytes + 511) / 512 * 512);
	if (!*memory)
		return cudaErrorMemoryAllocation;
	memset(*memory, 0, bytes);
	return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
	if (!fake_works() || !fake_free(memory))
		free(memory);
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
	*available = *total = memory_bytes();
	return cudaSuccess;
}
