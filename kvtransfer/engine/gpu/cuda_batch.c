/* SPDX-License-Identifier: BSD-3-Clause */
/* All runs of a sender in one call; see cuda_batch.h. Its arguments changed with CUDA 13. */
#include "kvtransfer/engine/gpu/cuda_batch.h"

#include <stdlib.h>

#include "common/cuda/cuda_error.h"

bool fb_kv_has_batch(void)
{
	return CUDART_VERSION >= 12080;
}

static void add(struct fb_kv_batch *batch, const struct fb_kv_job *job,
		const struct fb_kv_pair *pair, uint32_t region)
{
	const char *from = fb_kv_region_of(job, job->rank, FB_KV_PREFILL, region);
	char *to = fb_kv_region_of(job, fb_kv_receiver(job, pair), FB_KV_DECODE, region);

	for (uint32_t i = 0; i < pair->runs; i++, batch->count++) {
		batch->from[batch->count] = from + pair->run[i].src;
		batch->to[batch->count] = to + pair->run[i].dst;
		batch->bytes[batch->count] = pair->run[i].bytes;
	}
}

int fb_kv_batch_open(struct fb_kv_batch *batch, const struct fb_kv_job *job)
{
	uint32_t regions = fb_kv_regions(&job->plan.shape);
	size_t n = 1;

	for (uint32_t p = 0; p < job->plan.pairs; p++)
		if (fb_kv_sender(job, &job->plan.pair[p]) == job->rank)
			n += (size_t)job->plan.pair[p].runs * regions;
	batch->from = calloc(n, sizeof(*batch->from));
	batch->to = calloc(n, sizeof(*batch->to));
	batch->bytes = calloc(n, sizeof(*batch->bytes));
	if (!batch->from || !batch->to || !batch->bytes)
		return FB_ENOMEM;
	for (uint32_t p = 0; p < job->plan.pairs; p++)
		for (uint32_t region = 0; region < regions; region++)
			if (fb_kv_sender(job, &job->plan.pair[p]) == job->rank)
				add(batch, job, &job->plan.pair[p], region);
	return FB_OK;
}

void fb_kv_batch_close(struct fb_kv_batch *batch)
{
	free((void *)batch->from);
	free((void *)batch->to);
	free(batch->bytes);
}

#if CUDART_VERSION >= 12080
int fb_kv_batch_enqueue(const struct fb_kv_batch *batch, cudaStream_t stream)
{
	struct cudaMemcpyAttributes how = {
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
		.flags = cudaMemcpyFlagPreferOverlapWithCompute,
	};
	size_t first = 0;
#if CUDART_VERSION < 13000
	size_t failed;
#endif

	if (!batch->count)
		return FB_OK;
#if CUDART_VERSION >= 13000
	return FB_CUDA(cudaMemcpyBatchAsync((void *const *)batch->to, batch->from, batch->bytes,
					    batch->count, &how, &first, 1, stream));
#else
	return FB_CUDA(cudaMemcpyBatchAsync(batch->to, (void **)(uintptr_t)batch->from,
					    batch->bytes, batch->count, &how, &first, 1, &failed,
					    stream));
#endif
}
#else
int fb_kv_batch_enqueue(const struct fb_kv_batch *batch, cudaStream_t stream)
{
	(void)batch;
	(void)stream;
	return FB_EUNSUPPORTED;
}
#endif
