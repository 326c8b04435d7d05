/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine copy: messages moved by the GPUs' copy engines, without their multiprocessors. It has
 * loops of its own beside engine mover-copy (p2p/engine/over.c). The mover counts its notices, so a
 * graph cannot replay them; the flags of these loops can be replayed. Without a graph, half a round
 * trip of 8 bytes takes 9.3 us on two H100 (results/reference/h100x2), most of which the host and
 * the stream take. The mover has not been timed beside it.
 *
 * A put is a copy on a stream of the sender, and a get a copy on a stream of the receiver. With
 * `send` both streams synchronise by flags in GPU memory, which stream memory operations set and
 * wait for. So calls follow each other without the host, and a graph can replay them. Each flow has
 * two flags. The receiver sets READY at the sender before a window. The sender sets DONE at the
 * receiver after the window. The stream that waits for a flag resets it. A flag is set again only
 * after that, because a receiver sets READY after it has waited for DONE, and a sender sets DONE
 * after it has waited for READY. In ping_pong there is no READY, because an answer is the
 * permission for the next message.
 *
 * Flags are written without CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, so any GPU that sees a flag
 * also sees all that the stream did before.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "p2p/engine/cuda/cuda_events.h"
#include "p2p/engine/device.h"

enum flag { READY, DONE };

enum { FLAG_BYTES = 128, MOST_FLOWS = 256, FLAGS_BYTES = 2 * MOST_FLOWS * FLAG_BYTES };

struct copy_p2p {
	struct fb_p2p_device base;
	struct fb_cuda_driver driver;
	struct fb_segment flags; /* all zero between calls, so that all requests share them */
};

static struct copy_p2p *engine_of(const struct fb_p2p_timed_request *r)
{
	return (struct copy_p2p *)r->base.engine;
}

static int copy_open(struct fb_p2p_engine *engine)
{
	struct copy_p2p *e = (struct copy_p2p *)engine;
	int err = fb_p2p_device_open(&e->base);

	if (err)
		return err;
	if (e->base.has_gpu && fb_group_agree(e->base.world, fb_cuda_driver_find(&e->driver))) {
		snprintf(e->base.why, sizeof(e->base.why),
			 "the driver has no stream memory operations");
		e->base.has_gpu = false;
		fb_gpu_view_close(&e->base.gpu);
	}
	return FB_OK;
}

static void copy_close(struct fb_p2p_engine *engine)
{
	struct copy_p2p *e = (struct copy_p2p *)engine;

	fb_segment_close(&e->flags);
	fb_p2p_device_close(&e->base);
}

static bool copy_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		     const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	const struct fb_p2p_device *e = (const struct fb_p2p_device *)engine;

	if (!fb_p2p_device_can(e, c, reason))
		return false;
	if (job->nflows > MOST_FLOWS)
		snprintf(reason, FB_REASON_CHARS, "more than %d flows", MOST_FLOWS);
	else if (job->verb == FB_SEND && !e->gpu.all_reach)
		snprintf(reason, FB_REASON_CHARS, "not every GPU reaches every other's flags");
	else
		return true;
	return false;
}

/* Collective, at the first request. */
static int open_flags(struct copy_p2p *e)
{
	if (e->flags.ops)
		return FB_OK;
	return fb_gpu_segment_open(&e->flags, &e->base.gpu, fb_gpu_shared_memory(&e->base.gpu),
				   FLAGS_BYTES);
}

/* Sets a flag at a rank, or waits for an own one and resets it. */
static int flag(const struct fb_p2p_timed_request *r, int rank, int f, enum flag which,
		void *stream)
{
	const struct copy_p2p *e = engine_of(r);
	bool own = rank == e->base.world->rank;
	const char *part = fb_segment_part(&e->flags, rank);
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)(part + (2 * f + (int)which) * FLAG_BYTES);
	CUstreamBatchMemOpParams ops[2] = {
		{.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = at,
			       .value = 1, .flags = CU_STREAM_WAIT_VALUE_EQ}},
		{.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at,
				.value = !own, .flags = CU_STREAM_WRITE_VALUE_DEFAULT}},
	};
	CUresult code = own ? e->driver.StreamBatchMemOp(stream, 2, ops, 0)
			    : e->driver.StreamBatchMemOp(stream, 1, ops + 1, 0);

	return fb_cuda_driver_error(&e->driver, code, "StreamBatchMemOp");
}

static int copy(const struct fb_job *job, const struct fb_flow *flow, int k, void *stream)
{
	return FB_CUDA(cudaMemcpyAsync(fb_job_target(job, flow, (uint64_t)k),
				       fb_job_source(job, flow, (uint64_t)k), job->bytes,
				       cudaMemcpyDefault, stream));
}

/*
 * Sets or waits for one flag of each flow that this rank sends, or of each that it receives: the
 * sender of a flow waits for READY and sets DONE, the receiver sets READY and waits for DONE.
 */
static int flags(const struct fb_p2p_timed_request *r, bool sends, enum flag which, void *stream)
{
	const struct fb_job *job = r->base.job;
	int self = engine_of(r)->base.world->rank, err = FB_OK;

	for (int f = 0; f < job->nflows && !err && job->verb == FB_SEND; f++) {
		const struct fb_flow *flow = &job->flows[f];

		if ((sends ? flow->src : flow->dst) == self)
			err = flag(r, which == READY ? flow->src : flow->dst, f, which, stream);
	}
	return err;
}

/* Enqueues messages of all flows in turn, so that no flow waits for all messages of another. */
static int enqueue_window(struct fb_p2p_timed_request *r, void *stream)
{
	const struct fb_job *job = r->base.job;
	int self = engine_of(r)->base.world->rank, err = flags(r, false, READY, stream);

	if (!err)
		err = flags(r, true, READY, stream);
	for (int k = 0; k < job->window; k++)
		for (int f = 0; f < job->nflows && !err; f++) {
			const struct fb_flow *flow = &job->flows[f];
			int by = job->verb == FB_SEND ? flow->src : fb_job_origin(job, flow);

			if (by == self)
				err = copy(job, flow, k, stream);
		}
	if (!err)
		err = flags(r, true, DONE, stream);
	return err ? err : flags(r, false, DONE, stream);
}

static int enqueue_rounds(struct fb_p2p_timed_request *r, void *stream)
{
	const struct fb_job *job = r->base.job;
	int self = engine_of(r)->base.world->rank, mine = job->flows[0].src == self ? 0 : 1;
	int err = FB_OK;

	for (int half = 0; half < 2 * job->rounds && !err; half++) {
		int f = half % 2;
		const struct fb_flow *flow = &job->flows[f];

		if (f == mine)
			err = copy(job, flow, 0, stream);
		if (!err)
			err = flag(r, flow->dst, f, DONE, stream);
	}
	return err;
}

static int enqueue(void *request, void *stream)
{
	struct fb_p2p_timed_request *r = request;
	int err = fb_p2p_events_begin(&r->events, stream);

	if (!err)
		err = r->base.job->pattern == FB_PING_PONG ? enqueue_rounds(r, stream)
							   : enqueue_window(r, stream);
	return err ? err : fb_p2p_events_end(&r->events, stream);
}

static int set_up(struct fb_p2p_device_request *base, const struct fb_case *c)
{
	struct fb_p2p_timed_request *r = (struct fb_p2p_timed_request *)base;
	int err = base->job->verb == FB_SEND ? open_flags(engine_of(r)) : FB_OK;

	return fb_p2p_timed_prepare(r, c, enqueue, err);
}

static int copy_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
			const struct fb_job *job, struct fb_p2p_request **request)
{
	return fb_p2p_device_make(engine, c, job, sizeof(struct fb_p2p_timed_request), set_up,
				  request);
}

static void copy_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	fb_p2p_device_path((const struct fb_p2p_device_request *)request, "copy engine", traits);
	traits->channels = 1;
}

static const char *const protocols[] = {"direct", NULL};

const struct fb_p2p_engine_ops fb_p2p_copy = {
	.name = "copy",
	.own = true,
	.device = true,
	.gpu_memory = FB_P2P_MAPPED_MEMORY,
	.protocols = protocols,
	.one_sided = true,
	.rounds = 20,
	.bytes = sizeof(struct copy_p2p),
	.open = copy_open,
	.close = copy_close,
	.can = copy_can,
	.prepare = copy_prepare,
	.ready = fb_p2p_device_ready,
	.run = fb_p2p_timed_run,
	.describe = copy_describe,
	.columns = fb_p2p_timed_columns,
	.release = fb_p2p_timed_release,
};
