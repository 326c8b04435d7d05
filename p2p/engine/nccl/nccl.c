/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine nccl: ncclSend and ncclRecv between GPUs, with the library that --nccl-library names,
 * loaded when the program starts. A window of all flows of a rank is one group; in ping_pong each
 * message is a call of its own, in stream order. Multicast is off (common/system/multicast.h).
 * It has loops of its own beside engine mover-nccl (p2p/engine/over.c), because the mover has one
 * communicator without registrations, and no graphs. The mover has not been timed beside it.
 *
 * If buffers are registered with a communicator (also by a window), peers on the same host may map
 * them, so that a message of NCCL's protocol Simple is copied only once. NCCL decides whether it
 * does so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/library/nccl/comm.h"
#include "common/base/error.h"
#include "p2p/engine/device.h"

struct nccl_p2p {
	struct fb_p2p_device base;
	struct fb_nccl nccl; /* if has_nccl */
	bool has_nccl;
	struct fb_nccl_group *groups;
};

struct nccl_p2p_request {
	struct fb_p2p_device_request base;
	struct fb_nccl_group *group;
};

static struct nccl_p2p *engine_of(const struct nccl_p2p_request *r)
{
	return (struct nccl_p2p *)r->base.engine;
}

static int nccl_open(struct fb_p2p_engine *engine)
{
	struct nccl_p2p *e = (struct nccl_p2p *)engine;
	int err = fb_p2p_device_open(&e->base);

	if (err)
		return err;
	if (e->base.has_gpu)
		e->has_nccl = !fb_nccl_find(&e->nccl, engine->session, engine->group,
					    e->base.gpu.shared, e->base.why) &&
			      fb_nccl_has(&e->nccl, FB_NCCL_POINT_TO_POINT, e->base.why,
					  sizeof(e->base.why));
	return FB_OK;
}

static void nccl_close(struct fb_p2p_engine *engine)
{
	struct nccl_p2p *e = (struct nccl_p2p *)engine;

	fb_nccl_group_close(&e->groups, &e->nccl);
	fb_p2p_device_close(&e->base);
}

static bool nccl_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		     const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	const struct nccl_p2p *e = (const struct nccl_p2p *)engine;
	enum fb_nccl_registration how = fb_nccl_registration_of(c->registration);

	(void)job;
	/* NCCL's copy engines send no messages, so the row would only repeat that of windows. */
	if (how == FB_NCCL_WINDOW_COPY)
		snprintf(reason, FB_REASON_CHARS, "NCCL's copy engines cannot do send");
	else if (!e->has_nccl)
		snprintf(reason, FB_REASON_CHARS, "%s", e->base.why);
	else
		return fb_nccl_can_type(&e->nccl, c->datatype, reason, FB_REASON_CHARS) &&
		       fb_nccl_can_register(&e->nccl, how, c->memory, reason);
	return false;
}

/* One message of a flow, by the end that this rank has of it. Returns NCCL's code. */
static int message(const struct nccl_p2p_request *r, const struct fb_flow *flow, int k,
		   void *stream)
{
	const struct fb_nccl *nccl = &engine_of(r)->nccl;
	const struct fb_job *job = r->base.job;
	int type = fb_nccl_type(FB_U8);

	if (flow->src == r->base.engine->world->rank)
		return nccl->Send(fb_job_source(job, flow, (uint64_t)k), job->bytes, type,
				  flow->dst, r->group->comm, stream);
	return nccl->Recv(fb_job_target(job, flow, (uint64_t)k), job->bytes, type, flow->src,
			  r->group->comm, stream);
}

static int enqueue_window(const struct nccl_p2p_request *r, void *stream)
{
	const struct fb_nccl *nccl = &engine_of(r)->nccl;
	const struct fb_job *job = r->base.job;
	int code = nccl->GroupStart(), end;

	for (int k = 0; k < job->window; k++)
		for (int f = 0; f < job->nflows && !code; f++)
			if (fb_p2p_device_acts(&r->base, &job->flows[f]))
				code = message(r, &job->flows[f], k, stream);
	end = nccl->GroupEnd();
	return code ? code : end;
}

static int enqueue_rounds(const struct nccl_p2p_request *r, void *stream)
{
	const struct fb_job *job = r->base.job;
	int code = FB_NCCL_SUCCESS;

	for (int half = 0; half < 2 * job->rounds && !code; half++)
		code = message(r, &job->flows[half % 2], 0, stream);
	return code;
}

static int enqueue(void *request, void *stream)
{
	const struct nccl_p2p_request *r = request;
	int code = r->base.job->pattern == FB_PING_PONG ? enqueue_rounds(r, stream)
							: enqueue_window(r, stream);

	return fb_nccl_error(&engine_of(r)->nccl, r->group->comm, code, "Send and ncclRecv");
}

static int poll(void *request)
{
	const struct nccl_p2p_request *r = request;

	return fb_nccl_group_poll(&engine_of(r)->nccl, r->group);
}

static void nccl_release(struct fb_p2p_request *request)
{
	struct nccl_p2p_request *r = (struct nccl_p2p_request *)request;

	fb_p2p_device_end(&r->base);
	free(r);
}

/* One call that is not timed: NCCL connects ranks at their first message, outside of a capture. */
static int try_call(struct nccl_p2p_request *r)
{
	int err = r->base.stream ? fb_gpu_stream_start(r->base.stream) : FB_OK;

	if (!err && r->base.stream)
		err = fb_gpu_stream_wait(r->base.stream);
	return fb_group_agree(r->base.engine->world, err);
}

static int set_up(struct fb_p2p_device_request *base, const struct fb_case *c)
{
	struct nccl_p2p_request *r = (struct nccl_p2p_request *)base;
	const struct fb_nccl_need need = {
		.choice = {"library", "library"},
		.registration = fb_nccl_registration_of(c->registration),
		.segment = r->base.job->segment,
		.channels = (int)r->base.engine->settings->channels,
	};
	struct nccl_p2p *e = engine_of(r);
	int err = fb_nccl_group_get(&e->groups, &e->nccl, e->base.world, &need, &r->group);

	if (!err)
		err = fb_p2p_device_prepare(&r->base, c, enqueue);
	if (err)
		return err;
	if (r->base.stream)
		fb_gpu_stream_watch(r->base.stream, poll, r);
	err = try_call(r);
	/* After an error a communicator cannot be used again; the next case makes a new one. */
	if (err) {
		fb_nccl_group_drop(&e->groups, &e->nccl, r->group);
		return err;
	}
	return fb_p2p_device_capture(&r->base);
}

static int nccl_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
			const struct fb_job *job, struct fb_p2p_request **request)
{
	return fb_p2p_device_make(engine, c, job, sizeof(struct nccl_p2p_request), set_up, request);
}

static void nccl_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	const struct nccl_p2p_request *r = (const struct nccl_p2p_request *)request;
	char version[FB_NCCL_NAME_CHARS];

	snprintf(traits->path, sizeof(traits->path), "NCCL %s ncclSend and ncclRecv",
		 fb_nccl_version_text(&engine_of(r)->nccl, version));
}

const struct fb_p2p_engine_ops fb_p2p_nccl = {
	.name = "nccl",
	.device = true,
	.registers = true,
	.gpu_memory = FB_P2P_MAPPED_MEMORY | 1 << FB_GPU_MANAGED,
	.rounds = 20,
	.bytes = sizeof(struct nccl_p2p),
	.open = nccl_open,
	.close = nccl_close,
	.can = nccl_can,
	.prepare = nccl_prepare,
	.ready = fb_p2p_device_ready,
	.run = fb_p2p_device_run,
	.describe = nccl_describe,
	.columns = fb_p2p_device_columns,
	.release = nccl_release,
};
