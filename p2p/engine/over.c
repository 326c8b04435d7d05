/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines over movers: every mover of common/mover is an engine of the point-to-point programs,
 * "mover-" and its name, without a line of its own here. A message is a transfer of one piece.
 *
 * Verbs are those of the mover. Each PUT gives its receiver a notice, for which the receiver waits;
 * so a ping-pong of puts is answered by puts. GET gives a notice to the passive end. If a mover
 * orders its notices behind all transfers of a move, one notice stands for all messages of a flow.
 * A SEND is matched by a RECV. All messages of a call, in both directions, are one move; ping_pong
 * has one move for each direction.
 *
 * With launch `blocking` the host posts moves and tests them. With `stream` moves and waits are
 * enqueued on a CUDA stream. There are no graphs, because the number of notices that an enqueued
 * wait waits for is fixed when it is enqueued, and a replay would wait for the same number again.
 *
 * The other engines of this folder have loops of their own; the first comment of each says why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/keys.h"
#include "p2p/engine/over.h"

/* --- opening ---------------------------------------------------------------------------------- */

static void over_close(struct fb_p2p_engine *engine)
{
	struct fb_over *e = (struct fb_over *)engine;

	for (int i = 0; i < e->regions; i++)
		fb_mover_remove(e->region[i]);
	if (e->mover)
		fb_mover_close(e->mover);
	if (e->has_gpu)
		fb_gpu_view_close(&e->gpu);
	free(e->region);
}

static int over_open(struct fb_p2p_engine *engine)
{
	struct fb_over *e = (struct fb_over *)engine;
	const struct fb_mover_ops *mover = engine->ops->mover;
	int err = FB_OK;

	if (mover->streams)
		err = fb_gpu_view_open(&e->gpu, engine->session, engine->group, e->why);
	e->has_gpu = mover->streams && !err;
	if (!err)
		err = fb_mover_open(&e->mover, mover, engine->session, engine->group, e->why);
	if (err)
		e->mover = NULL;
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

static const char *over_missing(const struct fb_p2p_engine *engine)
{
	const struct fb_over *e = (const struct fb_over *)engine;

	return e->mover ? NULL : e->why;
}

static bool over_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		     const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	const struct fb_mover *mover = ((const struct fb_over *)engine)->mover;

	(void)job;
	if (mover)
		return !mover->ops->can || mover->ops->can(mover, c->protocol, reason);
	snprintf(reason, FB_REASON_CHARS, "%s", over_missing(engine));
	return false;
}

/* --- calls ------------------------------------------------------------------------------------ */

static int await_all(const struct fb_over_request *r, const struct fb_over_step *s)
{
	int err = FB_OK;

	for (int i = 0; i < s->arrivals && !err; i++) {
		const struct fb_over_arrival *a = &s->arrival[i];

		err = fb_mover_await(r->engine->mover, a->wait.from, a->wait.notice,
				     a->base + r->calls * a->each);
	}
	return err;
}

/*
 * A message of a ping-pong may still be under way when this rank begins to wait for the answer:
 * testing for the answer progresses the message too.
 */
static int call(struct fb_over_request *r)
{
	int err = FB_OK;

	r->calls++;
	for (int i = 0; i < r->steps && !err; i++) {
		const struct fb_over_step *s = &r->step[i];

		if (s->move)
			err = s->move->mover->ops->post(s->move);
		if (s->move && s->needed && !err)
			err = fb_move_wait(s->move);
		if (!err)
			err = await_all(r, s);
	}
	for (int i = 0; i < r->steps && !err; i++)
		if (r->step[i].move && !r->step[i].needed)
			err = fb_move_wait(r->step[i].move);
	return err;
}

/* fb_gpu_enqueue_fn: waits of a step go before the next step's move, or to the end of the call. */
static int enqueue(void *request, void *stream)
{
	struct fb_over_request *r = request;
	struct fb_mover *mover = r->engine->mover;
	const struct fb_wait *wait = NULL;
	int n = 0, err = FB_OK;

	r->calls++;
	for (int i = 0; i < r->steps && !err; i++) {
		const struct fb_over_step *s = &r->step[i];

		if (s->move) {
			err = mover->ops->enqueue_behind(mover, wait, n, s->move, stream);
			n = 0;
		}
		for (int k = 0; k < s->arrivals; k++) {
			s->wait[k] = s->arrival[k].wait;
			s->wait[k].count = s->arrival[k].base + r->calls * s->arrival[k].each;
		}
		wait = s->arrivals ? s->wait : wait;
		n = s->arrivals ? s->arrivals : n;
	}
	return n && !err ? mover->ops->enqueue_behind(mover, wait, n, NULL, stream) : err;
}

static int over_ready(struct fb_p2p_request *request, int calls)
{
	struct fb_over_request *r = (struct fb_over_request *)request;

	return r->stream ? fb_gpu_stream_ready(r->stream, calls) : FB_OK;
}

static int over_run(struct fb_p2p_request *request, int calls)
{
	struct fb_over_request *r = (struct fb_over_request *)request;
	int err = FB_OK;

	if (r->stream)
		return fb_gpu_stream_run(r->stream, calls);
	r->engine->mover->wait = r->job->wait;
	for (int i = 0; i < calls && !err; i++)
		err = call(r);
	return err;
}

/* --- requests --------------------------------------------------------------------------------- */

static void free_request(struct fb_over_request *r)
{
	for (int i = 0; i < FB_OVER_STEPS; i++) {
		if (r->step[i].move)
			r->engine->mover->ops->release(r->step[i].move);
		free(r->step[i].arrival);
		free(r->step[i].wait);
	}
	free(r->piece);
	free(r);
}

static void over_release(struct fb_p2p_request *request)
{
	struct fb_over_request *r = (struct fb_over_request *)request;

	if (r->stream)
		fb_gpu_stream_close(r->stream);
	MPI_Barrier(request->engine->group->comm);
	free_request(r);
}

/* Ranks that have no part in the job have no stream. */
static int open_stream(struct fb_over_request *r, const struct fb_case *c)
{
	bool part = false;

	for (int i = 0; i < r->steps; i++)
		part |= r->step[i].move || r->step[i].arrivals;
	if (strcmp(c->launch, "stream") || !part)
		return FB_OK;
	return fb_gpu_stream_open(&r->stream, &r->engine->gpu, false, enqueue, r,
				  r->engine->engine.session);
}

static int make_steps(struct fb_over_request *r, const struct fb_case *c, struct fb_region *region)
{
	const struct fb_mover_ops *ops = r->engine->mover->ops;
	const char *form = ops->forms ? c->protocol : NULL;
	int err = FB_OK;

	r->steps = r->job->pattern == FB_PING_PONG ? FB_OVER_STEPS : 1;
	for (int i = 0; i < r->steps && !err; i++)
		err = fb_over_step_make(r, i, region, form, i,
					r->steps == 1 ? r->job->nflows : i + 1);
	return err ? err : open_stream(r, c);
}

static int over_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
			const struct fb_job *job, struct fb_p2p_request **request)
{
	struct fb_over_request *r = calloc(1, sizeof(*r));
	struct fb_region *region = NULL;
	int err;

	if (r)
		r->piece = calloc((size_t)job->nflows * (size_t)job->regions, sizeof(*r->piece));
	err = fb_group_agree(engine->group, r && r->piece ? FB_OK : FB_ENOMEM);
	if (err || !r || !r->piece) {
		if (r)
			free(r->piece);
		free(r);
		return err;
	}
	r->request.engine = engine;
	r->engine = (struct fb_over *)engine;
	r->job = job;
	err = fb_over_connect(r, &region);
	if (!err)
		err = fb_group_agree(engine->group, make_steps(r, c, region));
	if (err) {
		over_release(&r->request);
		return err;
	}
	*request = &r->request;
	return FB_OK;
}

static void over_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	const struct fb_over_request *r = (const struct fb_over_request *)request;

	for (int i = 0; i < r->steps; i++)
		if (r->step[i].move) {
			r->engine->mover->ops->describe(r->step[i].move, traits);
			return;
		}
	snprintf(traits->path, sizeof(traits->path), "passive end");
}

/* --- the list --------------------------------------------------------------------------------- */

static const char *const plain[] = {"direct", NULL};

/* Pure: verbs are the mover's, and so is what the row says of its transport. */
static bool over_adjust(const struct fb_settings *settings, struct fb_case *c)
{
	const struct fb_mover_ops *mover = NULL;
	const char *name = c->engine + strlen(FB_P2P_OVER);
	unsigned verb = !strcmp(c->algorithm, "put")   ? FB_MOVE_PUT
			: !strcmp(c->algorithm, "get") ? FB_MOVE_GET
						       : FB_MOVE_SEND;

	for (int i = 0; fb_movers[i] && !mover; i++)
		mover = strcmp(fb_movers[i]->name, name) ? NULL : fb_movers[i];
	if (!mover || !(mover->verbs >> verb & 1) ||
	    (strcmp(settings->transport, "auto") && strcmp(c->transport, mover->transport)))
		return false;
	c->transport = mover->transport;
	fb_transport_keys(c, settings, mover->device);
	return true;
}

static unsigned gpu_memory_of(const struct fb_mover_ops *mover)
{
	if (mover->segment)
		return 1u << (FB_MEMORY_SYMMETRIC - FB_MEMORY_DEVICE);
	if (!mover->device)
		return 1u << FB_GPU_PINNED;
	return mover->streams ? FB_P2P_MAPPED_MEMORY : 1u << FB_GPU_DEVICE | 1u << FB_GPU_VMM;
}

struct fb_p2p_engine_ops fb_p2p_over(const struct fb_mover_ops *mover, const char *name)
{
	return (struct fb_p2p_engine_ops){
		.name = name, .own = true, .mover = mover,
		.device = mover->device, .gpu_memory = gpu_memory_of(mover),
		.protocols = mover->forms ? mover->forms : plain, .one_sided = true, .rounds = 1,
		.sleeps = mover->rest != NULL,
		.adjust = over_adjust, .missing = over_missing,
		.bytes = sizeof(struct fb_over), .open = over_open,
		.close = over_close, .can = over_can, .prepare = over_prepare,
		.ready = over_ready, .run = over_run, .describe = over_describe,
		.release = over_release,
	};
}
