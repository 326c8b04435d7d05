/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of host memory that are copied from and to; see local.h. */
#include <string.h>
#include <sys/mman.h>

#include "common/cuda/cuda_error.h"
#include "p2p/local/local.h"

/* Fresh pages of its own, which malloc's need not be: they come from where --numa says. */
static int get_pageable(size_t bytes, void **memory)
{
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (mapped == MAP_FAILED)
		return fb_error(FB_ENOMEM, "mmap of %zu bytes", bytes);
	*memory = mapped;
	return FB_OK;
}

static int get_registered(size_t bytes, void **memory)
{
	void *mapped = NULL;
	int err = get_pageable(bytes, &mapped);

	if (err)
		return err;
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
		err = get_pageable(bytes, &got);
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
	if (kind == FB_LOCAL_REGISTERED)
		(void)cudaHostUnregister(memory);
	if (kind == FB_LOCAL_REGISTERED || kind == FB_LOCAL_PAGEABLE)
		munmap(memory, bytes);
}
