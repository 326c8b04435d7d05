/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine cuda: kernels that push into the receivers' memory, to all of them at once.
 *
 * direct      a launch that stores every run at its place in the receivers' pages
 * pack        gather to own staging, push that, scatter: three launches
 * layerwise   for each layer a launch that gathers straight into the receivers' staging, and one
 *             there that scatters
 *
 * A receiver's kernel of one block waits for the counters of its senders' blocks; what scatters
 * comes behind it on the stream. What the kernels do is in move.h.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/engine/gpu/cuda_device.h"

static int cuda_open(struct fb_kv_engine **engine, const struct fb_kv_engine_ops *ops,
		     const struct fb_kv_context *context)
{
	struct fb_kv_device *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(context->world, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine cuda");
	}
	e->engine.ops = ops;
	err = fb_kv_device_open(e, context);
	*engine = &e->engine;
	return err;
}

static void cuda_close(struct fb_kv_engine *engine)
{
	fb_kv_device_close((struct fb_kv_device *)engine);
	free(engine);
}

static int launch(const struct fb_kv_device_request *r, const struct fb_kv_task *task, int n,
		  uint32_t step, cudaStream_t stream)
{
	int err = FB_OK;

	for (int i = 0; i < n && !err; i++)
		err = fb_kv_device_launch(r, task[i].work, step, task[i].counts, task[i].last,
					  stream);
	return err;
}

static int enqueue(void *request, void *stream)
{
	struct fb_kv_device_request *r = request;
	const struct fb_kv_job *job = r->request.job;
	struct fb_kv_task task[FB_KV_STEP_TASKS];
	int err = FB_OK;

	r->calls += r->phases & FB_KV_MOVE ? 1 : 0;
	for (uint32_t step = 0; step < job->steps && !err; step++)
		err = launch(r, task, fb_kv_push_tasks(job, r->phases, task), step, stream);
	for (uint32_t step = 0; step < job->steps && !err; step++)
		err = launch(r, task, fb_kv_receive_tasks(job, r->phases, step, task), step,
			     stream);
	return err;
}

static void cuda_release(struct fb_kv_request *request)
{
	fb_kv_device_end((struct fb_kv_device_request *)request);
	free(request);
}

static int cuda_prepare(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			struct fb_kv_request **request)
{
	struct fb_kv_device_request *r = calloc(1, sizeof(*r));
	int err = fb_group_agree(engine->context->world, r ? FB_OK : FB_ENOMEM);

	if (err || !r) {
		free(r);
		return err;
	}
	err = fb_kv_device_prepare(r, (struct fb_kv_device *)engine, job, enqueue);
	if (err) {
		cuda_release(&r->request);
		return err;
	}
	*request = &r->request;
	return FB_OK;
}

static void cuda_describe(struct fb_kv_request *request, struct fb_traits *traits)
{
	const struct fb_kv_device_request *r = (const struct fb_kv_device_request *)request;

	fb_kv_device_path(r, "kernels", traits);
	traits->channels = (int)r->view.push_blocks;
}

const struct fb_kv_engine_ops fb_kv_cuda = {
	.name = "cuda",
	.summary = "kernels that push into the receivers' memory",
	.transport = "p2p",
	.device = true,
	.modes = 1u << FB_KV_DIRECT | 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE,
	.open = cuda_open,
	.close = cuda_close,
	.missing = fb_kv_device_missing,
	.can = fb_kv_device_can,
	.prepare = cuda_prepare,
	.run = fb_kv_device_run,
	.describe = cuda_describe,
	.release = cuda_release,
};
