/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine host: the senders' processors write into the receivers' part of a shared segment.
 *
 * Completion. For each pair of ranks there are two counters in memory of the one that waits for
 * them: `done` at the receiver, how many messages (steps) have come; `free` at the sender, how many
 * calls the receiver has unpacked, without which its staging memory must not be written again. A
 * counter is stored with release order behind the bytes it speaks for, and read with acquire.
 *
 * No rank waits for `free` of a call before it has sent all of the call before, and receivers need
 * nothing but what was sent, so a rank that is in both groups cannot wait in a circle.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "kvtransfer/engine/engine.h"
#include "kvtransfer/engine/stage.h"

enum { LINE = 64 };

struct host_kv {
	struct fb_kv_engine engine;
	struct fb_segment flags; /* part: [2 * nranks] lines, done then free */
};

struct host_request {
	struct fb_kv_request request;
	struct host_kv *engine;
	uint64_t calls;
};

static int host_open(struct fb_kv_engine **engine, const struct fb_kv_context *context)
{
	struct host_kv *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(context->world, e ? FB_OK : FB_ENOMEM);

	if (!err && e) {
		e->engine = (struct fb_kv_engine){&fb_kv_host, context};
		err = fb_segment_open(&e->flags, context->world,
				      (size_t)context->world->nranks * 2 * LINE, FB_PAGES_NORMAL);
	}
	if (err || !e) {
		free(e);
		return fb_error(err, "engine host cannot be opened");
	}
	*engine = &e->engine;
	return FB_OK;
}

static void host_close(struct fb_kv_engine *engine)
{
	struct host_kv *e = (struct host_kv *)engine;

	fb_segment_close(&e->flags);
	free(e);
}

static const char *host_missing(const struct fb_kv_engine *engine)
{
	return fb_group_one_host(engine->context->world) ? NULL : "ranks on several hosts";
}

static bool host_can(const struct fb_kv_engine *engine, const struct fb_kv_job *job,
		     char reason[FB_REASON_CHARS])
{
	(void)engine;
	(void)job;
	(void)reason;
	return true;
}

/* What `peer` counts for `rank`: messages that came from it, or calls that it has unpacked. */
static _Atomic uint64_t *counter(const struct host_kv *e, int rank, int peer, bool unpacked)
{
	char *part = fb_segment_part(&e->flags, rank);
	int at = unpacked ? e->engine.context->world->nranks + peer : peer;

	return (_Atomic uint64_t *)(void *)(part + (size_t)at * LINE);
}

static int await(const struct host_request *r, _Atomic uint64_t *at, uint64_t value)
{
	const struct fb_kv_context *context = r->request.engine->context;
	struct fb_spin spin = {.yields = context->world->oversubscribed};
	int err = FB_OK;

	while (!err && atomic_load_explicit(at, memory_order_acquire) < value)
		if (fb_spin_again(&spin))
			err = fb_alive(context->session, "waiting for a peer's pages");
	return err;
}

static bool is_staged(const struct fb_kv_job *job, unsigned phases)
{
	return job->mode != FB_KV_DIRECT || phases != FB_KV_ALL;
}

static void write_runs(const struct fb_kv_job *job, const struct fb_kv_pair *pair)
{
	int to_rank = fb_kv_receiver(job, pair);

	for (uint32_t region = 0; region < fb_kv_regions(&job->plan.shape); region++) {
		const char *from = fb_kv_region_of(job, job->rank, FB_KV_PREFILL, region);
		char *to = fb_kv_region_of(job, to_rank, FB_KV_DECODE, region);

		for (uint32_t r = 0; r < pair->runs; r++)
			memcpy(to + pair->run[r].dst, from + pair->run[r].src, pair->run[r].bytes);
	}
}

/* One step of a pair that this rank sends. */
static int send_step(const struct host_request *r, const struct fb_kv_pair *pair, unsigned phases,
		     uint32_t step)
{
	const struct fb_kv_job *job = r->request.job;
	uint32_t region = step * job->step_regions;
	int to = fb_kv_receiver(job, pair), err;

	if (!is_staged(job, phases)) {
		write_runs(job, pair);
	} else {
		if (phases & FB_KV_GATHER)
			fb_kv_gather(job, pair, step);
		if (!(phases & FB_KV_MOVE))
			return FB_OK;
		err = step ? FB_OK
			   : await(r, counter(r->engine, job->rank, to, true), r->calls - 1);
		if (err)
			return err;
		memcpy(fb_kv_in(job, pair, region), fb_kv_out(job, pair, region),
		       fb_kv_message(job, pair));
	}
	atomic_store_explicit(counter(r->engine, to, job->rank, false),
			      (r->calls - 1) * job->steps + step + 1, memory_order_release);
	return FB_OK;
}

static int receive_step(const struct host_request *r, const struct fb_kv_pair *pair,
			unsigned phases, uint32_t step)
{
	const struct fb_kv_job *job = r->request.job;
	int from = fb_kv_sender(job, pair), err = FB_OK;

	if (phases & FB_KV_MOVE)
		err = await(r, counter(r->engine, job->rank, from, false),
			    (r->calls - 1) * job->steps + step + 1);
	if (!err && (phases & FB_KV_SCATTER) && is_staged(job, phases))
		fb_kv_scatter(job, pair, step);
	if (!err && (phases & FB_KV_MOVE) && step + 1 == job->steps)
		atomic_store_explicit(counter(r->engine, from, job->rank, true), r->calls,
				      memory_order_release);
	return err;
}

static int call_once(struct host_request *r, unsigned phases)
{
	const struct fb_kv_job *job = r->request.job;
	int err = FB_OK;

	r->calls += phases & FB_KV_MOVE ? 1 : 0;
	for (uint32_t step = 0; step < job->steps; step++)
		for (uint32_t p = 0; p < job->plan.pairs && !err; p++)
			if (fb_kv_sender(job, &job->plan.pair[p]) == job->rank)
				err = send_step(r, &job->plan.pair[p], phases, step);
	for (uint32_t step = 0; step < job->steps; step++)
		for (uint32_t p = 0; p < job->plan.pairs && !err; p++)
			if (fb_kv_receiver(job, &job->plan.pair[p]) == job->rank)
				err = receive_step(r, &job->plan.pair[p], phases, step);
	return err;
}

static int host_run(struct fb_kv_request *request, unsigned phases, int calls)
{
	struct host_request *r = (struct host_request *)request;
	int err = FB_OK;

	for (int i = 0; i < calls && !err; i++)
		err = call_once(r, phases);
	return err;
}

static int host_prepare(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			struct fb_kv_request **request)
{
	const struct fb_group *w = engine->context->world;
	struct host_request *r = calloc(1, sizeof(*r));
	int err = fb_group_agree(w, r ? FB_OK : FB_ENOMEM);

	if (err || !r) {
		free(r);
		return err;
	}
	*r = (struct host_request){{engine, job}, (struct host_kv *)engine, 0};
	for (int peer = 0; peer < w->nranks; peer++) {
		atomic_store(counter(r->engine, w->rank, peer, false), 0);
		atomic_store(counter(r->engine, w->rank, peer, true), 0);
	}
	MPI_Barrier(w->comm);
	*request = &r->request;
	return FB_OK;
}

static void host_describe(struct fb_kv_request *request, struct fb_traits *traits)
{
	(void)request;
	snprintf(traits->path, sizeof(traits->path), "processors, shared memory");
	traits->channels = 1;
}

static void host_release(struct fb_kv_request *request)
{
	MPI_Barrier(request->engine->context->world->comm);
	free(request);
}

const struct fb_kv_engine_ops fb_kv_host = {
	.name = "host",
	.summary = "processors that write through shared memory",
	.transport = "shm",
	.modes = 1u << FB_KV_DIRECT | 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE,
	.open = host_open,
	.close = host_close,
	.missing = host_missing,
	.can = host_can,
	.prepare = host_prepare,
	.run = host_run,
	.describe = host_describe,
	.release = host_release,
};
