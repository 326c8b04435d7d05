/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call on streams: gather, move and scatter, step by step. Steps of layerwise are a pipeline,
 * where packing, moving and unpacking each have a stream, joined by events; but kernels that push
 * gather as they go, and need one stream only. All steps' sends come before the receives, so that
 * no rank waits in a circle.
 */
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "kvtransfer/over_gpu.h"

/* Side streams, on which packing and unpacking go on beside moving. */
enum side { PACKS, UNPACKS, SIDES };

struct fb_kv_streams {
	cudaStream_t side[SIDES]; /* NULL: there are none */
	cudaEvent_t begin, joined[SIDES];
	cudaEvent_t *packed, *moved; /* [steps] */
};

static int make_events(cudaEvent_t *event, uint32_t n)
{
	int err = FB_OK;

	for (uint32_t i = 0; i < n && !err; i++)
		err = FB_CUDA(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
	return err;
}

static void free_events(cudaEvent_t *event, uint32_t n)
{
	for (uint32_t i = 0; event && i < n; i++)
		if (event[i])
			(void)cudaEventDestroy(event[i]);
}

int fb_kv_streams_open(struct fb_kv_gpu_request *r)
{
	uint32_t steps = r->request.job->steps;
	struct fb_kv_streams *s = calloc(1, sizeof(*s));
	int err = FB_OK;

	r->streams = s;
	if (!s)
		return FB_ENOMEM;
	if (r->request.job->mode != FB_KV_LAYERWISE || fb_kv_packs(r->request.engine))
		return FB_OK;
	s->packed = calloc(steps, sizeof(cudaEvent_t));
	s->moved = calloc(steps, sizeof(cudaEvent_t));
	if (!s->packed || !s->moved)
		return FB_ENOMEM;
	for (int i = 0; i < SIDES && !err; i++)
		err = FB_CUDA(cudaStreamCreateWithFlags(&s->side[i], cudaStreamNonBlocking));
	if (!err)
		err = make_events(s->packed, steps);
	if (!err)
		err = make_events(s->moved, steps);
	if (!err)
		err = make_events(s->joined, SIDES);
	return err ? err : make_events(&s->begin, 1);
}

void fb_kv_streams_close(struct fb_kv_gpu_request *r)
{
	uint32_t steps = r->request.job->steps;
	struct fb_kv_streams *s = r->streams;

	if (!s)
		return;
	free_events(s->packed, steps);
	free_events(s->moved, steps);
	free_events(s->joined, SIDES);
	free_events(&s->begin, 1);
	for (int i = 0; i < SIDES; i++)
		if (s->side[i])
			(void)cudaStreamDestroy(s->side[i]);
	free(s->packed);
	free(s->moved);
	free(s);
}

/* `to` goes on only when `from` has come to where it is now. */
static int order(cudaEvent_t event, cudaStream_t from, cudaStream_t to)
{
	int err = FB_CUDA(cudaEventRecord(event, from));

	return err ? err : FB_CUDA(cudaStreamWaitEvent(to, event, 0));
}

static int enqueue(struct fb_move *move, cudaStream_t stream)
{
	return move ? move->mover->ops->enqueue_behind(move->mover, NULL, 0, move, stream) : FB_OK;
}

/* The move behind FREE of the call before from all receivers. */
static int enqueue_with_leave(struct fb_kv_gpu_request *r, struct fb_move *move,
			      cudaStream_t stream)
{
	struct fb_mover *mover = r->request.engine->mover;

	for (int i = 0; i < r->receivers; i++)
		r->leave[i].count = r->leave_base[i] + r->calls - 1;
	return move ? mover->ops->enqueue_behind(mover, r->leave, r->receivers, move, stream)
		    : FB_OK;
}

/* Waits for a step from all senders, and behind that enqueues a move, or nothing. */
static int await_step(struct fb_kv_gpu_request *r, uint32_t step, struct fb_move *move,
		      cudaStream_t stream)
{
	struct fb_mover *mover = r->request.engine->mover;

	for (int i = 0; i < r->senders; i++)
		r->done[i].count =
			r->done_base[i] + (r->calls - 1) * r->request.job->steps + step + 1;
	return r->senders ? mover->ops->enqueue_behind(mover, r->done, r->senders, move, stream)
			  : FB_OK;
}

static int send_step(struct fb_kv_gpu_request *r, uint32_t step, cudaStream_t packs,
		     cudaStream_t moves)
{
	enum fb_kv_leg leg = r->phases == FB_KV_ALL ? fb_kv_gpu_leg(r) : FB_KV_PUSH;
	int err = FB_OK;

	if (leg == FB_KV_PAGES)
		return enqueue(fb_kv_gpu_move(r, leg, step), moves);
	if ((r->phases & FB_KV_GATHER) && leg == FB_KV_PUSH) {
		err = enqueue(fb_kv_gpu_move(r, FB_KV_GATHERS, step), packs);
		if (!err && packs != moves)
			err = order(r->streams->packed[step], packs, moves);
	}
	if (err || !(r->phases & FB_KV_MOVE))
		return err;
	err = step == 0 ? enqueue_with_leave(r, fb_kv_gpu_move(r, leg, step), moves)
			: enqueue(fb_kv_gpu_move(r, leg, step), moves);
	return err ? err : enqueue(r->keep[step], moves);
}

static int receive_step(struct fb_kv_gpu_request *r, uint32_t step, cudaStream_t moves,
			cudaStream_t unpacks)
{
	bool last = step + 1 == r->request.job->steps, comes = r->phases & FB_KV_MOVE;
	bool direct = r->phases == FB_KV_ALL && fb_kv_is_direct(r->request.job);
	bool scatters = (r->phases & FB_KV_SCATTER) && !direct;
	struct fb_move *unpack = fb_kv_gpu_move(r, FB_KV_SCATTERS, step);
	int err = FB_OK;

	if (comes && fb_kv_has_put(r->request.engine))
		err = await_step(r, step, last && !scatters ? r->freeing : NULL, unpacks);
	else if (comes && moves != unpacks)
		err = FB_CUDA(cudaStreamWaitEvent(unpacks, r->streams->moved[step], 0));
	if (err || !scatters)
		return err;
	if (last && comes && r->last)
		return enqueue(r->last, unpacks);
	err = enqueue(unpack, unpacks);
	return err || !last || !comes ? err : enqueue(r->freeing, unpacks);
}

int fb_kv_enqueue_call(void *request, void *call_stream)
{
	struct fb_kv_gpu_request *r = request;
	const struct fb_kv_streams *s = r->streams;
	uint32_t steps = r->request.job->steps;
	cudaStream_t stream = call_stream;
	bool sides = s->side[PACKS] != NULL;
	cudaStream_t packs = sides ? s->side[PACKS] : stream;
	cudaStream_t unpacks = sides ? s->side[UNPACKS] : stream;
	int err = sides ? order(s->begin, stream, packs) : FB_OK;

	r->calls += r->phases & FB_KV_MOVE ? 1 : 0;
	if (!err && sides)
		err = FB_CUDA(cudaStreamWaitEvent(unpacks, s->begin, 0));
	for (uint32_t step = 0; step < steps && !err; step++) {
		err = send_step(r, step, packs, stream);
		if (!err && sides && !fb_kv_has_put(r->request.engine))
			err = FB_CUDA(cudaEventRecord(s->moved[step], stream));
	}
	for (uint32_t step = 0; step < steps && !err; step++)
		err = receive_step(r, step, stream, unpacks);
	for (int i = 0; i < SIDES && !err && sides; i++)
		err = order(s->joined[i], s->side[i], stream);
	return err;
}
