/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of host memory that are copied from and to; see local.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/cuda/cuda_error.h"
#include "p2p/local/local.h"

static int get_registered(size_t bytes, void **memory)
{
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int err = mapped == MAP_FAILED ? FB_ENOMEM : FB_OK;

	if (err)
		return fb_error(err, "mmap of %zu bytes", bytes);
	err = FB_CUDA(cudaHostRegister(mapped, bytes, cudaHostRegisterMapped));
	if (err) {
		munmap(mapped, bytes);
		return err;
	}
	*memory = mapped;
	return FB_OK;
}

int fb_local_memory_get(enum fb_local_memory kind, size_t bytes, void **memory)
{
	void *got = NULL;
	int err = FB_OK;

	if (kind == FB_LOCAL_PINNED)
		err = FB_CUDA(cudaHostAlloc(&got, bytes, cudaHostAllocMapped));
	else if (kind == FB_LOCAL_MANAGED)
		err = FB_CUDA(cudaMallocManaged(&got, bytes, cudaMemAttachGlobal));
	else if (kind == FB_LOCAL_REGISTERED)
		err = get_registered(bytes, &got);
	else
		err = (got = aligned_alloc(4096, bytes)) ? FB_OK
							 : fb_error(FB_ENOMEM, "out of memory");
	if (err)
		return err;
	memset(got, 0, bytes);
	*memory = got;
	return FB_OK;
}

void fb_local_memory_put(enum fb_local_memory kind, void *memory, size_t bytes)
{
	if (kind == FB_LOCAL_PINNED)
		(void)cudaFreeHost(memory);
	else if (kind == FB_LOCAL_MANAGED)
		(void)cudaFree(memory);
	else if (kind == FB_LOCAL_PAGEABLE)
		free(memory);
	if (kind != FB_LOCAL_REGISTERED)
		return;
	(void)cudaHostUnregister(memory);
	munmap(memory, bytes);
}
