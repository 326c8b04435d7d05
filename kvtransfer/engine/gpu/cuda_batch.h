/* SPDX-License-Identifier: BSD-3-Clause */
/* All runs of a sender as one call of cudaMemcpyBatchAsync (CUDA 12.8). */
#ifndef FB_KVTRANSFER_ENGINE_GPU_CUDA_BATCH_H
#define FB_KVTRANSFER_ENGINE_GPU_CUDA_BATCH_H

#include <cuda_runtime_api.h>

#include "kvtransfer/job.h"

struct fb_kv_batch {
	const void **from;
	void **to;
	size_t *bytes, count;
};

bool fb_kv_has_batch(void);

/* Local: 0 or FB_ENOMEM. Safe to close when zeroed. */
int fb_kv_batch_open(struct fb_kv_batch *batch, const struct fb_kv_job *job);
void fb_kv_batch_close(struct fb_kv_batch *batch);

int fb_kv_batch_enqueue(const struct fb_kv_batch *batch, cudaStream_t stream);

#endif
