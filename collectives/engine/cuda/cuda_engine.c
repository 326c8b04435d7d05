/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA engine: runs any plan between GPUs, a thread block per lane, without the host. What it
 * executes is made by build.c and described in table.h; memory order in docs/gpu-engine.md.
 */
#include "collectives/engine/cuda/cuda_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static int cuda_open(struct fb_engine *engine)
{
	struct cuda_engine *e = (struct cuda_engine *)engine;
	int err;

	e->group = engine->group;
	e->settings = engine->session->settings;
	e->topology = (struct fb_topology){
		.nranks = e->group->nranks, .nnodes = e->group->nnodes,
		.node_of = e->group->node_of, .local_rank_of = e->group->local_rank_of,
	};
	err = fb_gpu_view_open(&e->gpu, engine->session, e->group, e->why);
	e->has_gpu = !err;
	if (err)
		return err == FB_EUNSUPPORTED ? FB_OK : err;
	err = fb_cuda_network_open(e);
	if (!err)
		e->nodes_reach = fb_cuda_nodes_reach(e->group, &e->gpu);
	return err;
}

static void cuda_close(struct fb_engine *engine)
{
	struct cuda_engine *e = (struct cuda_engine *)engine;

	fb_cuda_network_close(e);
	if (e->has_gpu)
		fb_gpu_view_close(&e->gpu);
}

struct fb_shape fb_cuda_shape(const struct cuda_engine *e, const struct fb_operation *op,
			      const char *stages, int channel, int nchannels)
{
	return (struct fb_shape){
		.collective = op->collective, .nranks = e->group->nranks, .root = op->root,
		.in_place = op->in_place, .channel = channel, .nchannels = nchannels,
		.topology = &e->topology, .stages = stages,
	};
}

static bool cuda_can(const struct fb_engine *engine, const struct fb_case *c,
		     const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct cuda_engine *e = (const struct cuda_engine *)engine;
	const struct fb_collective_info *info = fb_collective_info(op->collective);
	bool direct = fb_cuda_is_direct(c);
	const char *stages;
	const struct fb_algorithm *a = fb_algorithm_of_text(op->collective, c->algorithm, &stages);
	unsigned wanted = direct ? FB_DIRECT_PROTOCOL : FB_FIFO_PROTOCOLS;
	struct fb_shape shape;

	if (!e->has_gpu) {
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
		return false;
	}
	if (!a) {
		snprintf(reason, FB_REASON_CHARS, "%s has no algorithm %s", info->name,
			 c->algorithm);
		return false;
	}
	shape = fb_cuda_shape(e, op, stages, 0, a->channels ? a->channels : 1);
	if (!fb_algorithm_can(a, &shape, reason, FB_REASON_CHARS))
		return false;
	if (a->protocols && !(a->protocols & wanted)) {
		snprintf(reason, FB_REASON_CHARS, "%s does not work over %s links", a->name,
			 direct ? "direct" : "slotted");
		return false;
	}
	return fb_cuda_can_transport(e, c, reason);
}

static int cuda_prepare(struct fb_request *request, const struct fb_case *c,
			const struct fb_operation *op)
{
	struct cuda_engine *e = (struct cuda_engine *)request->engine;
	struct cuda_request *r = (struct cuda_request *)request;
	int err;

	r->engine = e;
	r->op = op;
	err = fb_cuda_setup(r, c);
	if (!err)
		err = fb_gpu_stream_open(&r->on.stream, &e->gpu, !strcmp(c->launch, "graph"),
					 fb_cuda_enqueue, r, e->engine.session);
	err = fb_group_agree(e->group, err);
	if (!err)
		fb_gpu_stream_commands(r->on.stream, 1);
	if (!err)
		fb_cuda_watch(r);
	return err;
}

static int cuda_run(struct fb_request *request, int calls)
{
	struct cuda_request *r = (struct cuda_request *)request;

	r->calls += (uint64_t)calls;
	r->last_batch = calls;
	return fb_gpu_stream_run(r->on.stream, calls);
}

static int cuda_start(struct fb_request *request)
{
	struct cuda_request *r = (struct cuda_request *)request;

	r->calls++;
	r->last_batch = 1;
	return fb_gpu_stream_start(r->on.stream);
}

/* Behind an event of another stream, which an early start would not wait for. */
static int cuda_enqueue(struct fb_request *request, void *stream)
{
	struct cuda_request *r = (struct cuda_request *)request;

	r->calls++;
	r->last_batch = 1;
	return fb_cuda_enqueue_after(r, stream);
}

static void cuda_describe(struct fb_request *request, struct fb_traits *traits)
{
	const struct cuda_request *r = (const struct cuda_request *)request;
	const struct fb_gpu *gpu = &r->engine->gpu;

	traits->channels = (int)r->blocks;
	fb_cuda_describe_links(r, traits->path, sizeof(traits->path));
	snprintf(traits->flags, sizeof(traits->flags), "%s", gpu->shared ? "gpu-shared" : "");
	fb_on_stream_describe(&r->on, gpu, traits);
	fb_cuda_iterations(r, &traits->extra[FB_ITERATION_US],
			   &traits->extra[FB_ITERATION_P99_US]);
	traits->extra[FB_THREADS] = r->threads;
	traits->extra[FB_SLOTS] = r->shape.slots;
	traits->extra[FB_SLOT_BYTES] = r->table.longest;
}

const struct fb_engine_ops fb_engine_cuda = {
	.name = "cuda",
	.planned = true,
	.device = true,
	.bytes = sizeof(struct cuda_engine),
	.request_bytes = sizeof(struct cuda_request),
	.open = cuda_open,
	.close = cuda_close,
	.can = cuda_can,
	.prepare = cuda_prepare,
	.ready = fb_on_stream_ready,
	.run = cuda_run,
	.start = cuda_start,
	.test = fb_on_stream_test,
	.wait = fb_on_stream_wait,
	.enqueue = cuda_enqueue,
	.describe = cuda_describe,
	.release = fb_cuda_teardown,
	.check_plan = fb_cuda_check_plan,
};
