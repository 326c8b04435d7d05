/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between GPU and host on a stream of their own; see staging.h. */
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "kvtransfer/staging.h"

struct fb_kv_stage {
	cudaStream_t stream;
	cudaEvent_t *over; /* [copies] */
	uint32_t copies;
	void *pinned; /* NULL: nothing is */
};

static int pin(struct fb_kv_stage *s, char *host, size_t bytes)
{
	void *seen = NULL;
	int err = FB_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterMapped |
								cudaHostRegisterPortable));

	if (err)
		return err;
	s->pinned = host;
	err = FB_CUDA(cudaHostGetDevicePointer(&seen, host, 0));
	if (!err && seen != host)
		err = fb_error(FB_EUNSUPPORTED, "locked memory has another address on the GPU");
	return err;
}

int fb_kv_stage_open(struct fb_kv_stage **stage, enum fb_kv_staging how, char *host, size_t bytes,
		     uint32_t copies)
{
	struct fb_kv_stage *s = calloc(1, sizeof(*s));
	int err = FB_OK;

	*stage = s;
	if (s)
		s->over = calloc(copies + (size_t)1, sizeof(*s->over));
	if (!s || !s->over)
		return fb_error(FB_ENOMEM, "out of memory for %u copies", copies);
	if (how != FB_KV_STAGING_PAGEABLE)
		err = pin(s, host, bytes);
	if (!err)
		err = FB_CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
	for (; !err && s->copies < copies; s->copies++)
		err = FB_CUDA(cudaEventCreateWithFlags(&s->over[s->copies],
						       cudaEventDisableTiming));
	return err;
}

void fb_kv_stage_close(struct fb_kv_stage *s)
{
	if (!s)
		return;
	for (uint32_t k = 0; k < s->copies; k++)
		if (s->over[k])
			(void)cudaEventDestroy(s->over[k]);
	if (s->stream)
		(void)cudaStreamDestroy(s->stream);
	if (s->pinned)
		(void)cudaHostUnregister(s->pinned);
	free(s->over);
	free(s);
}

int fb_kv_stage_copy(struct fb_kv_stage *s, uint32_t copy, char *to, const char *from, size_t bytes)
{
	int err = FB_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s->stream));

	return err ? err : FB_CUDA(cudaEventRecord(s->over[copy], s->stream));
}

int fb_kv_stage_done(struct fb_kv_stage *s, uint32_t copy, bool *done)
{
	cudaError_t code = cudaEventQuery(s->over[copy]);

	*done = code == cudaSuccess;
	return code == cudaErrorNotReady ? FB_OK : FB_CUDA(code);
}
