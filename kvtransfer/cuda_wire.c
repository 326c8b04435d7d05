/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages made of pages in GPU memory, by a kernel; see wire.h. */
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "kvtransfer/pages_kernels.h"

int fb_kv_gpu_packing_open(struct fb_kv_packing *p)
{
	void *host = (void *)(uintptr_t)p->part, *device = NULL;
	size_t bytes = (size_t)p->parts * sizeof(struct fb_kv_part);
	int err = FB_CUDA(cudaMalloc(&device, bytes + 1));

	if (!err)
		err = FB_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
	free(host);
	p->part = (uintptr_t)device;
	return err;
}

void fb_kv_gpu_packing_close(struct fb_kv_packing *p)
{
	(void)cudaFree((void *)(uintptr_t)p->part);
}

/* The default stream waits for no stream of the movers, so that earlier moves go on meanwhile. */
int fb_kv_gpu_packing_run(const struct fb_kv_packing *p)
{
	int err = p->parts ? FB_CUDA((cudaError_t)fb_kv_kernel_packing(p)) : FB_OK;

	return err ? err : FB_CUDA(cudaStreamSynchronize(NULL));
}
