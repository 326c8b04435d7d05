/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather, move and scatter as a pipeline of streams; see cuda_device.h. */
#include "common/cuda/cuda_error.h"
#include "kvtransfer/engine/gpu/cuda_device.h"

/* `to` goes on only when `from` has come to where it is now. */
static int order(cudaEvent_t event, cudaStream_t from, cudaStream_t to)
{
	int err;

	if (from == to)
		return FB_OK;
	err = FB_CUDA(cudaEventRecord(event, from));
	return err ? err : FB_CUDA(cudaStreamWaitEvent(to, event, 0));
}

static int send_step(struct fb_kv_device_request *r, const struct fb_kv_mover *mover,
		     uint32_t step, cudaStream_t packs, cudaStream_t moves)
{
	int err = FB_OK;

	if (r->phases & FB_KV_GATHER) {
		err = fb_kv_device_launch(r, FB_KV_GATHER_OUT, step, false, false, packs);
		if (!err && packs != moves)
			err = order(r->packed[step], packs, moves);
	}
	return err || !(r->phases & FB_KV_MOVE) ? err : mover->move(r, step, moves);
}

static int receive_step(struct fb_kv_device_request *r, const struct fb_kv_mover *mover,
			uint32_t step, cudaStream_t moves, cudaStream_t unpacks)
{
	int err = FB_OK;

	if ((r->phases & FB_KV_MOVE) && mover->await)
		err = mover->await(r, step, unpacks);
	else if ((r->phases & FB_KV_MOVE) && moves != unpacks)
		err = FB_CUDA(cudaStreamWaitEvent(unpacks, r->moved[step], 0));
	if (!err && (r->phases & FB_KV_SCATTER))
		err = fb_kv_device_launch(r, FB_KV_SCATTER_IN, step, false, false, unpacks);
	return err;
}

int fb_kv_staged_enqueue(struct fb_kv_device_request *r, const struct fb_kv_mover *mover,
			 cudaStream_t stream)
{
	uint32_t steps = r->request.job->steps;
	bool sides = r->side[FB_KV_PACKS] != NULL;
	cudaStream_t packs = sides ? r->side[FB_KV_PACKS] : stream;
	cudaStream_t unpacks = sides ? r->side[FB_KV_UNPACKS] : stream;
	int err = sides ? order(r->begin, stream, packs) : FB_OK;

	r->calls += r->phases & FB_KV_MOVE ? 1 : 0;
	if (!err && sides)
		err = FB_CUDA(cudaStreamWaitEvent(unpacks, r->begin, 0));
	for (uint32_t step = 0; step < steps && !err; step++) {
		err = send_step(r, mover, step, packs, stream);
		if (!err && sides && !mover->await)
			err = FB_CUDA(cudaEventRecord(r->moved[step], stream));
	}
	for (uint32_t step = 0; step < steps && !err; step++)
		err = receive_step(r, mover, step, stream, unpacks);
	if (!err && (r->phases & FB_KV_MOVE) && mover->release)
		err = mover->release(r, unpacks);
	if (!err && sides)
		err = order(r->joined[FB_KV_PACKS], packs, stream);
	if (!err && sides)
		err = order(r->joined[FB_KV_UNPACKS], unpacks, stream);
	return err;
}
