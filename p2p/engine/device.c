/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared code of the engines between GPUs; see device.h. */
#include "p2p/engine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"

enum { TAG_DONE = 11 };

int fb_p2p_device_open(struct fb_p2p_device *e)
{
	int err;

	e->world = e->engine.group;
	e->settings = e->engine.session->settings;
	err = fb_gpu_view_open(&e->gpu, e->engine.session, e->world, e->why);
	e->has_gpu = !err;
	if (err)
		return err == FB_EUNSUPPORTED ? FB_OK : err;
	return fb_segment_open(&e->counters, e->world, sizeof(uint64_t), FB_PAGES_NORMAL);
}

void fb_p2p_device_close(struct fb_p2p_device *e)
{
	fb_segment_close(&e->counters);
	if (e->has_gpu)
		fb_gpu_view_close(&e->gpu);
}

bool fb_p2p_device_can(const struct fb_p2p_device *e, const struct fb_case *c,
		       char reason[FB_REASON_CHARS])
{
	bool pinned = !strcmp(c->memory, "pinned");

	if (!e->has_gpu)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (!pinned && !e->gpu.all_reach)
		snprintf(reason, FB_REASON_CHARS, "not every GPU reaches every other");
	else if (!fb_group_one_host(e->world) && strcmp(c->memory, "fabric"))
		snprintf(reason, FB_REASON_CHARS, "memory %s does not reach other hosts",
			 c->memory);
	else
		return true;
	return false;
}

bool fb_p2p_device_acts(const struct fb_p2p_device_request *r, const struct fb_flow *flow)
{
	int self = r->engine->world->rank;

	if (r->job->verb == FB_SEND)
		return flow->src == self || flow->dst == self;
	return fb_job_origin(r->job, flow) == self;
}

int fb_p2p_device_messages(const struct fb_p2p_device_request *r)
{
	return r->job->pattern == FB_PING_PONG ? 2 * r->job->rounds : r->job->window;
}

static _Atomic uint64_t *counter_of(const struct fb_p2p_device *e, int rank)
{
	return (_Atomic uint64_t *)(void *)fb_segment_part(&e->counters, rank);
}

int fb_p2p_device_make(struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, size_t bytes,
		       int (*set_up)(struct fb_p2p_device_request *r, const struct fb_case *c),
		       struct fb_p2p_request **request)
{
	struct fb_p2p_device_request *r = calloc(1, bytes);
	int err = fb_group_agree(engine->group, r ? FB_OK : FB_ENOMEM);

	if (err || !r) {
		free(r);
		return err;
	}
	*r = (struct fb_p2p_device_request){
		{engine}, (struct fb_p2p_device *)engine, job, NULL, 0};
	err = set_up(r, c);
	if (err)
		engine->ops->release(&r->request);
	else
		*request = &r->request;
	return err;
}

int fb_p2p_device_prepare(struct fb_p2p_device_request *r, const struct fb_case *c,
			  fb_gpu_enqueue_fn enqueue)
{
	struct fb_p2p_device *e = r->engine;
	bool acts = false;
	int err = FB_OK;

	for (int f = 0; f < r->job->nflows; f++)
		acts |= fb_p2p_device_acts(r, &r->job->flows[f]);
	if (acts)
		err = fb_gpu_stream_open(&r->stream, &e->gpu, !strcmp(c->launch, "graph"),
					 enqueue, r, e->engine.session);
	/* A load and its job are not both one-sided, so all requests can share the counter. */
	if (r->job->verb != FB_SEND)
		atomic_store(counter_of(e, e->world->rank), 0);
	return fb_group_agree(e->world, err);
}

/* Ranks of a graph that cannot be captured would wait for each other. */
int fb_p2p_device_capture(struct fb_p2p_device_request *r)
{
	int err = r->stream && fb_gpu_stream_ready(r->stream, 1) ? FB_EUNSUPPORTED : FB_OK;

	return fb_group_agree(r->engine->world, err);
}

void fb_p2p_device_end(struct fb_p2p_device_request *r)
{
	fb_gpu_stream_close(r->stream);
	r->stream = NULL;
	MPI_Barrier(r->engine->world->comm);
}

int fb_p2p_device_ready(struct fb_p2p_request *request, int calls)
{
	struct fb_p2p_device_request *r = (struct fb_p2p_device_request *)request;

	return r->stream ? fb_gpu_stream_ready(r->stream, calls) : FB_OK;
}

/* Signals the passive ends of this rank's flows that all bytes have arrived. */
static void signal_passive(const struct fb_p2p_device_request *r)
{
	const struct fb_p2p_device *e = r->engine;

	for (int f = 0; f < r->job->nflows; f++) {
		const struct fb_flow *flow = &r->job->flows[f];
		int passive = fb_job_passive(r->job, flow);

		if (fb_job_origin(r->job, flow) != e->world->rank)
			continue;
		if (counter_of(e, passive))
			atomic_fetch_add_explicit(counter_of(e, passive), 1,
						  memory_order_release);
		else
			MPI_Send(NULL, 0, MPI_BYTE, passive, TAG_DONE, e->world->comm);
	}
}

/* Waits until all flows that others carry out for this rank are complete. */
static int await_origins(struct fb_p2p_device_request *r)
{
	const struct fb_p2p_device *e = r->engine;
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	int err = FB_OK;

	for (int f = 0; f < r->job->nflows; f++) {
		const struct fb_flow *flow = &r->job->flows[f];
		int origin = fb_job_origin(r->job, flow);

		if (fb_job_passive(r->job, flow) != e->world->rank)
			continue;
		if (counter_of(e, origin))
			r->completions++;
		else
			MPI_Recv(NULL, 0, MPI_BYTE, origin, TAG_DONE, e->world->comm,
				 MPI_STATUS_IGNORE);
	}
	while (!err && atomic_load_explicit(counter_of(e, e->world->rank),
					    memory_order_acquire) < r->completions)
		if (fb_spin_again(&spin))
			err = fb_alive(e->engine.session, "waiting for one-sided operations");
	return err;
}

int fb_p2p_device_run(struct fb_p2p_request *request, int calls)
{
	struct fb_p2p_device_request *r = (struct fb_p2p_device_request *)request;
	int err = r->stream ? fb_gpu_stream_run(r->stream, calls) : FB_OK;

	if (err || r->job->verb == FB_SEND)
		return err;
	signal_passive(r);
	return await_origins(r);
}

void fb_p2p_device_path(const struct fb_p2p_device_request *r, const char *by,
			struct fb_traits *traits)
{
	static const char *const ways[] = {
		[FB_SEND] = "push", [FB_PUT] = "push", [FB_GET] = "pull"};
	const struct fb_p2p_device *e = r->engine;
	const struct fb_flow *flow = &r->job->flows[0];
	int peer = flow->src == e->world->rank ? flow->dst : flow->src;
	bool pinned = !r->job->segment->ops->device;

	snprintf(traits->path, sizeof(traits->path), "%s, %s, %s", by, ways[r->job->verb],
		 pinned ? "host memory" : fb_gpu_link_to(&e->gpu, peer));
	snprintf(traits->flags, sizeof(traits->flags), "%s", e->gpu.shared ? "gpu-shared" : "");
}

void fb_p2p_device_columns(struct fb_p2p_request *request, double value[FB_P2P_GPU_COLUMNS])
{
	const struct fb_p2p_device_request *r = (const struct fb_p2p_device_request *)request;
	struct fb_gpu_clocks clocks;

	if (r->stream)
		value[FB_P2P_EVENT_US] = fb_gpu_stream_event_us(r->stream) /
					 fb_p2p_device_messages(r);
	if (!fb_gpu_clocks(&r->engine->gpu, &clocks))
		return;
	value[FB_P2P_SM_MHZ] = clocks.sm_MHz;
	value[FB_P2P_MEMORY_MHZ] = clocks.memory_MHz;
	value[FB_P2P_THROTTLE] = (double)clocks.throttle;
}
