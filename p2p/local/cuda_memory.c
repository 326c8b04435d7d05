/* SPDX-License-Identifier: BSD-3-Clause */
/* The host memory that is copied from and to; see local.h. */
#include <string.h>

#include "common/cuda/cuda_error.h"
#include "p2p/local/local.h"

/* Memory that the driver makes is not zeroed. */
static int get_from_driver(struct fb_local_host *host, size_t bytes)
{
	void *got = NULL;
	int err = host->kind == FB_MEMORY_PINNED
			  ? FB_CUDA(cudaHostAlloc(&got, bytes, cudaHostAllocMapped))
			  : FB_CUDA(cudaMallocManaged(&got, bytes, cudaMemAttachGlobal));

	if (err)
		return err;
	memset(got, 0, bytes);
	host->memory = got;
	return FB_OK;
}

int fb_local_memory_get(struct fb_local_host *host, enum fb_memory_kind kind, size_t bytes)
{
	int err;

	host->kind = kind;
	if (fb_memory_by_gpu(kind))
		return get_from_driver(host, bytes);
	err = fb_private_get(&host->pages, fb_memory_kinds[kind].pages, bytes, -1);
	if (!err && kind == FB_MEMORY_REGISTERED)
		err = FB_CUDA(cudaHostRegister(host->pages.memory, bytes, cudaHostRegisterMapped));
	if (err)
		fb_private_put(&host->pages);
	host->memory = host->pages.memory;
	return err;
}

void fb_local_memory_put(struct fb_local_host *host)
{
	if (host->memory && host->kind == FB_MEMORY_PINNED)
		(void)cudaFreeHost(host->memory);
	else if (host->memory && host->kind == FB_MEMORY_MANAGED)
		(void)cudaFree(host->memory);
	else if (host->memory && host->kind == FB_MEMORY_REGISTERED)
		(void)cudaHostUnregister(host->memory);
	fb_private_put(&host->pages);
	host->memory = NULL;
}
