/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine nccl: pages are gathered by a kernel, sent by ncclSend and ncclRecv, all pairs of a step
 * in one group, and scattered by a kernel. The library is the one that --nccl-library names, loaded
 * when the program starts. Multicast is off (common/system/multicast.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/library/nccl/comm.h"
#include "common/base/error.h"
#include "kvtransfer/engine/gpu/cuda_device.h"

struct nccl_kv {
	struct fb_kv_device base;
	struct fb_nccl nccl; /* if nothing is missing */
	struct fb_nccl_group *groups;
};

struct nccl_request {
	struct fb_kv_device_request base;
	struct fb_nccl_group *group;
};

static int nccl_open(struct fb_kv_engine **engine, const struct fb_kv_engine_ops *ops,
		     const struct fb_kv_context *context)
{
	struct nccl_kv *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(context->world, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine nccl");
	}
	e->base.engine.ops = ops;
	err = fb_kv_device_open(&e->base, context);
	if (context->gpu && !*e->base.why &&
	    !fb_nccl_find(&e->nccl, context->session, context->world, context->gpu->shared,
			  e->base.why))
		(void)fb_nccl_has(&e->nccl, FB_NCCL_POINT_TO_POINT, e->base.why,
				  sizeof(e->base.why));
	*engine = &e->base.engine;
	return err;
}

static void nccl_close(struct fb_kv_engine *engine)
{
	struct nccl_kv *e = (struct nccl_kv *)engine;

	fb_nccl_group_close(&e->groups, &e->nccl);
	fb_kv_device_close(&e->base);
	free(e);
}

static const struct nccl_kv *engine_of(const struct nccl_request *r)
{
	return (const struct nccl_kv *)r->base.engine;
}

/* What a rank has for itself goes through NCCL, too, which copies it. Returns NCCL's code. */
static int messages(const struct nccl_request *r, uint32_t step, void *stream)
{
	const struct fb_nccl *nccl = &engine_of(r)->nccl;
	const struct fb_kv_job *job = r->base.request.job;
	uint32_t region = step * job->step_regions;
	int code = FB_NCCL_SUCCESS, type = fb_nccl_type(FB_U8);

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];
		uint64_t bytes = pair->region_bytes * job->step_regions;
		int from = fb_kv_sender(job, pair), to = fb_kv_receiver(job, pair);

		if (from == job->rank && !code)
			code = nccl->Send(fb_kv_out(job, pair, region), bytes, type, to,
					  r->group->comm, stream);
		if (to == job->rank && !code)
			code = nccl->Recv(fb_kv_in(job, pair, region), bytes, type, from,
					  r->group->comm, stream);
	}
	return code;
}

static int move(struct fb_kv_device_request *base, uint32_t step, cudaStream_t stream)
{
	const struct nccl_request *r = (const struct nccl_request *)base;
	const struct fb_nccl *nccl = &engine_of(r)->nccl;
	int code = nccl->GroupStart(), sent = messages(r, step, stream), end = nccl->GroupEnd();

	return fb_nccl_error(nccl, r->group->comm, code ? code : sent ? sent : end,
			     "Send and ncclRecv");
}

static int enqueue(void *request, void *stream)
{
	static const struct fb_kv_mover mover = {.move = move};

	return fb_kv_staged_enqueue(request, &mover, stream);
}

static int poll(void *request)
{
	const struct nccl_request *r = request;

	return fb_nccl_group_poll(&engine_of(r)->nccl, r->group);
}

static void nccl_release(struct fb_kv_request *request)
{
	fb_kv_device_end((struct fb_kv_device_request *)request);
	free(request);
}

static int nccl_prepare(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			struct fb_kv_request **request)
{
	const struct fb_nccl_need need = {
		.choice = {"library", "library"}, .registration = FB_NCCL_NONE,
		.channels = (int)engine->context->settings->channels,
	};
	struct nccl_kv *e = (struct nccl_kv *)engine;
	struct nccl_request *r = calloc(1, sizeof(*r));
	int err = fb_group_agree(engine->context->world, r ? FB_OK : FB_ENOMEM);

	if (err || !r) {
		free(r);
		return err;
	}
	err = fb_kv_device_prepare(&r->base, &e->base, job, enqueue);
	if (!err)
		err = fb_nccl_group_get(&e->groups, &e->nccl, engine->context->world, &need,
					&r->group);
	if (err) {
		nccl_release(&r->base.request);
		return err;
	}
	fb_gpu_stream_watch(r->base.stream, poll, r);
	*request = &r->base.request;
	return FB_OK;
}

static void nccl_describe(struct fb_kv_request *request, struct fb_traits *traits)
{
	const struct nccl_request *r = (const struct nccl_request *)request;
	char version[FB_NCCL_NAME_CHARS];

	snprintf(traits->path, sizeof(traits->path), "NCCL %s ncclSend and ncclRecv",
		 fb_nccl_version_text(&engine_of(r)->nccl, version));
}

const struct fb_kv_engine_ops fb_kv_nccl = {
	.name = "nccl",
	.summary = "NVIDIA's NCCL, and kernels that pack",
	.transport = "library",
	.device = true,
	.modes = 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE,
	.open = nccl_open,
	.close = nccl_close,
	.missing = fb_kv_device_missing,
	.can = fb_kv_device_can,
	.prepare = nccl_prepare,
	.run = fb_kv_device_run,
	.describe = nccl_describe,
	.release = nccl_release,
};
