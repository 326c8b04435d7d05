/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-overs by movers: the plan's runs become transfers of a mover, so that every mover is an
 * engine of the KV programs without a line of its own here. Movers between GPUs are opened here,
 * too; their calls are in over_gpu.c. In host memory:
 *
 * direct      a transfer for each pair, with all runs of a region, repeated for all regions
 * datatype    the same by SEND and RECV: both ends have the runs, and no staging memory is used
 * pack        gathered by the sender's processor, one piece for each pair, scattered
 * layerwise   the same for each layer: while a layer is under way the next one is gathered
 *
 * A mover with PUT counts two notices for each pair: DONE at the receiver, how many messages have
 * come, and FREE at the sender, how many calls the receiver has unpacked, without which its staging
 * memory must not be written again. A mover without PUT has messages that meet.
 *
 * No rank waits for FREE of a call before it has sent all of the call before, and receivers need
 * nothing but what was sent, so a rank that is in both groups cannot wait in a circle.
 */
#include "kvtransfer/over_gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/stage.h"

static void over_close(struct fb_kv_engine *engine)
{
	struct fb_kv_over *e = (struct fb_kv_over *)engine;

	if (e->packer && e->packer != e->mover) {
		if (e->packs)
			e->packer->ops->remove(e->packs);
		e->packer->ops->close(e->packer);
	}
	if (e->mover && e->region)
		e->mover->ops->remove(e->region);
	if (e->mover)
		e->mover->ops->close(e->mover);
	free(e);
}

/* Kernels pack and unpack, whoever moves. */
static int open_packer(struct fb_kv_over *e)
{
	const struct fb_kv_context *context = e->engine.context;
	int err;

	if (e->mover->ops == &fb_mover_cuda) {
		e->packer = e->mover;
		return FB_OK;
	}
	err = fb_mover_open(&e->packer, &fb_mover_cuda, context->session, context->world, e->why);
	if (!err)
		return FB_OK;
	e->packer = NULL;
	e->mover->ops->close(e->mover);
	e->mover = NULL;
	return err;
}

static int over_open(struct fb_kv_engine **engine, const struct fb_kv_engine_ops *ops,
		     const struct fb_kv_context *context)
{
	struct fb_kv_over *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(context->world, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine %s", ops->name);
	}
	e->engine = (struct fb_kv_engine){ops, context};
	err = fb_mover_open(&e->mover, ops->mover, context->session, context->world, e->why);
	if (err)
		e->mover = NULL;
	if (!err && ops->device)
		err = open_packer(e);
	if (err && err != FB_EUNSUPPORTED) {
		over_close(&e->engine);
		return err;
	}
	*engine = &e->engine;
	return FB_OK;
}

static const char *over_missing(const struct fb_kv_engine *engine)
{
	const struct fb_kv_over *e = (const struct fb_kv_over *)engine;

	return e->mover ? NULL : e->why;
}

static bool over_can(const struct fb_kv_engine *engine, const struct fb_kv_job *job,
		     char reason[FB_REASON_CHARS])
{
	(void)engine;
	(void)job;
	(void)reason;
	return true;
}

/* --- preparing -------------------------------------------------------------------------------- */

/* Adds a move of one transfer with the pair's other rank. */
static int add_move(const struct fb_kv_over_request *r, const struct fb_kv_pair *pair,
		    const struct fb_kv_over_pair *o, struct fb_transfer t, struct fb_move **move)
{
	const struct fb_kv_job *job = r->request.job;
	bool put = fb_kv_has_put(r->engine);

	t.verb = put ? FB_MOVE_PUT : o->sends ? FB_MOVE_SEND : FB_MOVE_RECV;
	t.peer = o->sends ? fb_kv_receiver(job, pair) : fb_kv_sender(job, pair);
	t.local = r->engine->region;
	t.remote = put ? r->engine->region : NULL;
	return fb_move_prepare(r->engine->mover, &t, 1, NULL, move);
}

/* A receiver without PUT names its own places; all others name the sender's and the receiver's. */
static struct fb_piece piece_of(const struct fb_kv_over_pair *o, bool put, uint64_t from,
				uint64_t to, uint64_t bytes)
{
	return (struct fb_piece){o->sends || put ? from : to, to, bytes};
}

static int add_pages(const struct fb_kv_over_request *r, const struct fb_kv_pair *pair,
		     struct fb_kv_over_pair *o)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_kv_shape *s = &job->plan.shape;
	uint64_t step[FB_KV_SIDES] = {fb_kv_region_bytes(s, FB_KV_PREFILL),
				      fb_kv_region_bytes(s, FB_KV_DECODE)};
	struct fb_transfer t = {.piece = o->piece, .pieces = pair->runs,
				.repeats = fb_kv_regions(s), .remote_step = step[FB_KV_DECODE],
				.local_step = step[o->sends ? FB_KV_PREFILL : FB_KV_DECODE],
				.notice = fb_kv_has_put(r->engine) ? FB_KV_DONE : 0};

	for (uint32_t i = 0; i < pair->runs; i++)
		o->piece[i] = piece_of(o, fb_kv_has_put(r->engine),
				       job->pages_at[FB_KV_PREFILL] + pair->run[i].src,
				       job->pages_at[FB_KV_DECODE] + pair->run[i].dst,
				       pair->run[i].bytes);
	return add_move(r, pair, o, t, &o->pages);
}

static int add_staged(const struct fb_kv_over_request *r, const struct fb_kv_pair *pair,
		      struct fb_kv_over_pair *o)
{
	const struct fb_kv_job *job = r->request.job;
	bool put = fb_kv_has_put(r->engine);
	int err = FB_OK;

	for (uint32_t step = 0; step < job->steps && !err; step++) {
		uint64_t at = step * job->step_regions * pair->region_bytes;
		struct fb_transfer t = {.piece = &o->packed[step], .pieces = 1,
					.notice = put ? FB_KV_DONE : 0};

		o->packed[step] = piece_of(o, put, job->out_at + pair->out_at + at,
					   job->in_at + pair->in_at + at, fb_kv_message(job, pair));
		err = add_move(r, pair, o, t, &o->staged[step]);
	}
	return err;
}

/* A rank that keeps a part of the request for itself is both ends of that pair. */
static int open_pair(const struct fb_kv_over_request *r, uint32_t p)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_kv_pair *pair = &job->plan.pair[p];
	const struct fb_mover_ops *ops = r->engine->mover->ops;
	int from = fb_kv_sender(job, pair), to = fb_kv_receiver(job, pair), err = FB_OK;
	const struct fb_transfer unpacked = {.verb = FB_MOVE_PUT, .peer = from,
					     .notice = FB_KV_FREE};
	struct fb_kv_over_pair *o = &r->pair[p];

	o->sends = from == job->rank;
	o->receives = to == job->rank;
	if (!o->sends && !o->receives)
		return FB_OK;
	o->piece = calloc(pair->runs + 1, sizeof(*o->piece));
	o->packed = calloc(job->steps, sizeof(*o->packed));
	o->staged = calloc(job->steps, sizeof(struct fb_move *));
	if (!o->piece || !o->packed || !o->staged)
		return fb_error(FB_ENOMEM, "out of memory for %u runs", pair->runs);
	if (o->receives && fb_kv_has_put(r->engine))
		err = ops->arrived(r->engine->mover, from, FB_KV_DONE, &o->done_base);
	if (o->sends && fb_kv_has_put(r->engine) && !err)
		err = ops->arrived(r->engine->mover, to, FB_KV_FREE, &o->free_base);
	if (!err && o->receives && fb_kv_has_put(r->engine))
		err = fb_move_prepare(r->engine->mover, &unpacked, 1, NULL, &o->free);
	/* With PUT the receiver has nothing to post; alone with itself, neither end of a SEND. */
	if (err || (fb_kv_has_put(r->engine) ? !o->sends : from == to))
		return err;
	err = add_pages(r, pair, o);
	return err ? err : add_staged(r, pair, o);
}

static void close_request(struct fb_kv_over_request *r)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_mover_ops *ops = r->engine->mover->ops;

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		struct fb_kv_over_pair *o = &r->pair[p];

		if (o->pages)
			ops->release(o->pages);
		if (o->free)
			ops->release(o->free);
		for (uint32_t step = 0; step < job->steps && o->staged; step++)
			if (o->staged[step])
				ops->release(o->staged[step]);
		free(o->piece);
		free(o->packed);
		free(o->staged);
	}
	free(r->pair);
	free(r);
}

int fb_kv_over_meet(struct fb_kv_over *e, const struct fb_kv_job *job)
{
	const struct fb_mover_ops *ops = e->mover->ops;
	int *peers, n = 0, err = FB_OK;

	if (!e->region) {
		err = fb_mover_add(e->mover, job->segment, &e->region);
		if (err)
			return err;
	}
	if (e->packer && !e->packs) {
		e->packs = e->region;
		if (e->packer != e->mover)
			err = fb_mover_add(e->packer, job->segment, &e->packs);
		if (err)
			return err;
	}
	if (!ops->connect)
		return FB_OK;
	peers = calloc(job->plan.pairs + 1, sizeof(*peers));
	err = fb_group_agree(e->mover->group, peers ? FB_OK : FB_ENOMEM);
	for (uint32_t p = 0; p < job->plan.pairs && peers; p++) {
		int from = fb_kv_sender(job, &job->plan.pair[p]);
		int to = fb_kv_receiver(job, &job->plan.pair[p]);

		if (from == job->rank || to == job->rank)
			peers[n++] = from == job->rank ? to : from;
	}
	if (!err)
		err = ops->connect(e->mover, peers, n);
	free(peers);
	return err;
}

static int over_prepare(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			struct fb_kv_request **request)
{
	const struct fb_group *w = engine->context->world;
	struct fb_kv_over_request *r = calloc(1, sizeof(*r));
	int err;

	if (r)
		r->pair = calloc(job->plan.pairs + 1, sizeof(*r->pair));
	err = fb_group_agree(w, r && r->pair ? FB_OK : FB_ENOMEM);
	if (err || !r || !r->pair) {
		if (r)
			free(r->pair);
		free(r);
		return err;
	}
	r->request = (struct fb_kv_request){engine, job};
	r->engine = (struct fb_kv_over *)engine;
	err = fb_kv_over_meet(r->engine, job);
	for (uint32_t p = 0; p < job->plan.pairs && !err; p++)
		err = open_pair(r, p);
	err = fb_group_agree(w, err);
	if (err) {
		close_request(r);
		return err;
	}
	*request = &r->request;
	return FB_OK;
}

static void over_describe(struct fb_kv_request *request, struct fb_traits *traits)
{
	const struct fb_kv_over_request *r = (const struct fb_kv_over_request *)request;

	for (uint32_t p = 0; p < request->job->plan.pairs && !*traits->path; p++)
		if (r->pair[p].pages)
			r->engine->mover->ops->describe(r->pair[p].pages, traits);
	if (!*traits->path)
		snprintf(traits->path, sizeof(traits->path), "processors, own memory");
}

static void over_release(struct fb_kv_request *request)
{
	struct fb_kv_over_request *r = (struct fb_kv_over_request *)request;
	const struct fb_kv_plan *plan = &request->job->plan;
	int err = FB_OK;

	/* The last call's notices, so that none comes when others are counted. */
	for (uint32_t p = 0; p < plan->pairs && fb_kv_has_put(r->engine) && !err; p++)
		if (r->pair[p].sends)
			err = fb_mover_await(r->engine->mover,
					     fb_kv_receiver(request->job, &plan->pair[p]),
					     FB_KV_FREE, r->pair[p].free_base + r->calls);
	MPI_Barrier(request->engine->context->world->comm);
	close_request(r);
}

/* Modes of movers between GPUs: two are other forms of direct. */
static unsigned gpu_modes(const struct fb_mover_ops *mover)
{
	unsigned modes = 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE;

	if (mover->verbs >> FB_MOVE_PUT & 1)
		modes |= 1u << FB_KV_DIRECT;
	for (enum fb_kv_mode m = FB_KV_BATCH; m <= FB_KV_STRIDED; m++)
		if (mover->forms && fb_mover_form(mover, fb_kv_modes[m]) >= 0)
			modes |= 1u << m;
	return modes;
}

struct fb_kv_engine_ops fb_kv_over(const struct fb_mover_ops *mover)
{
	bool put = mover->verbs >> FB_MOVE_PUT & 1;

	if (mover->device)
		return (struct fb_kv_engine_ops){
			.name = mover->name, .summary = mover->summary,
			.transport = mover->transport, .device = true, .mover = mover,
			.open = over_open, .close = over_close, .missing = over_missing,
			.can = fb_kv_gpu_can, .prepare = fb_kv_gpu_prepare, .run = fb_kv_gpu_run,
			.describe = fb_kv_gpu_describe, .release = fb_kv_gpu_release,
			.modes = gpu_modes(mover),
		};
	return (struct fb_kv_engine_ops){
		.name = mover->name, .summary = mover->summary, .transport = mover->transport,
		.mover = mover, .open = over_open, .close = over_close, .missing = over_missing,
		.can = over_can, .prepare = over_prepare, .run = fb_kv_over_run,
		.describe = over_describe, .release = over_release,
		.modes = 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE |
			 1u << (put ? FB_KV_DIRECT : FB_KV_DATATYPE),
	};
}
