/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-overs by movers: the plan's runs become transfers of a mover, so that every mover is an
 * engine without a line of its own here. Those between GPUs are in over_gpu.c. In host memory:
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

/* --- preparing -------------------------------------------------------------------------------- */

/* Adds a move of one transfer with the pair's other rank. */
static int add_move(const struct fb_kv_over_request *r, const struct fb_kv_pair *pair,
		    const struct fb_kv_over_pair *o, struct fb_transfer t, struct fb_move **move)
{
	const struct fb_kv_job *job = r->request.job;
	bool put = fb_kv_has_put(r->request.engine);

	t.verb = put ? FB_MOVE_PUT : o->sends ? FB_MOVE_SEND : FB_MOVE_RECV;
	t.peer = o->sends ? fb_kv_receiver(job, pair) : fb_kv_sender(job, pair);
	t.local = r->request.engine->region;
	t.remote = put ? r->request.engine->region : NULL;
	return fb_move_prepare_checked(r->request.engine->mover, &t, 1, NULL, move);
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
	uint32_t span = fb_kv_span(&job->plan);
	uint64_t step[FB_KV_SIDES] = {fb_kv_region_at(s, FB_KV_PREFILL, span),
				      fb_kv_region_at(s, FB_KV_DECODE, span)};
	struct fb_transfer t = {.piece = o->piece, .pieces = pair->runs,
				.repeats = fb_kv_regions(s) / span,
				.remote_step = step[FB_KV_DECODE],
				.local_step = step[o->sends ? FB_KV_PREFILL : FB_KV_DECODE],
				.notice = fb_kv_has_put(r->request.engine) ? FB_KV_DONE : 0};

	for (uint32_t i = 0; i < pair->runs; i++)
		o->piece[i] = piece_of(o, fb_kv_has_put(r->request.engine),
				       job->pages_at[FB_KV_PREFILL] + pair->run[i].src,
				       job->pages_at[FB_KV_DECODE] + pair->run[i].dst,
				       pair->run[i].bytes);
	return add_move(r, pair, o, t, &o->pages);
}

static int add_staged(const struct fb_kv_over_request *r, const struct fb_kv_pair *pair,
		      struct fb_kv_over_pair *o)
{
	const struct fb_kv_job *job = r->request.job;
	bool put = fb_kv_has_put(r->request.engine);
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
	const struct fb_mover_ops *ops = r->request.engine->mover->ops;
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
	if (o->receives && fb_kv_has_put(r->request.engine))
		err = ops->arrived(r->request.engine->mover, from, FB_KV_DONE, &o->done_base);
	if (o->sends && fb_kv_has_put(r->request.engine) && !err)
		err = ops->arrived(r->request.engine->mover, to, FB_KV_FREE, &o->free_base);
	if (!err && o->receives && fb_kv_has_put(r->request.engine))
		err = fb_move_prepare(r->request.engine->mover, &unpacked, 1, NULL, &o->free);
	/* With PUT the receiver has nothing to post; alone with itself, neither end of a SEND. */
	if (err || (fb_kv_has_put(r->request.engine) ? !o->sends : from == to))
		return err;
	err = add_pages(r, pair, o);
	return err ? err : add_staged(r, pair, o);
}

static void close_request(struct fb_kv_over_request *r)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_mover_ops *ops = r->request.engine->mover->ops;

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

static int over_prepare(const struct fb_kv_machine *machine, struct fb_kv_backend *engine,
			const struct fb_kv_job *job, struct fb_kv_request **request)
{
	const struct fb_group *w = machine->world;
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
	r->request = (struct fb_kv_request){machine, engine, job};
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
			r->request.engine->mover->ops->describe(r->pair[p].pages, traits);
	if (!*traits->path)
		snprintf(traits->path, sizeof(traits->path), "processors, own memory");
}

static void over_release(struct fb_kv_request *request)
{
	struct fb_kv_over_request *r = (struct fb_kv_over_request *)request;
	const struct fb_kv_plan *plan = &request->job->plan;
	int err = FB_OK;

	/* The last call's notices, so that none comes when others are counted. */
	for (uint32_t p = 0; p < plan->pairs && fb_kv_has_put(r->request.engine) && !err; p++)
		if (r->pair[p].sends)
			err = fb_mover_await(r->request.engine->mover,
					     fb_kv_receiver(request->job, &plan->pair[p]),
					     FB_KV_FREE, r->pair[p].free_base + r->calls);
	MPI_Barrier(request->machine->world->comm);
	close_request(r);
}

const struct fb_kv_carrier fb_kv_carrier_host = {
	.prepare = over_prepare, .run = fb_kv_over_run, .describe = over_describe,
	.release = over_release,
};

/* Between GPUs two modes are other forms of direct. */
unsigned fb_kv_carrier_modes(const struct fb_mover_ops *mover)
{
	bool put = mover->verbs >> FB_MOVE_PUT & 1;
	unsigned modes = 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE;

	if (!put && !(mover->verbs >> FB_MOVE_SEND & 1))
		return 0;
	if (!mover->device)
		return modes | 1u << (put ? FB_KV_DIRECT : FB_KV_DATATYPE);
	if (!mover->streams)
		return 0;
	if (put)
		modes |= 1u << FB_KV_DIRECT;
	for (enum fb_kv_mode m = FB_KV_BATCH; m <= FB_KV_STRIDED; m++)
		if (mover->forms && fb_mover_form(mover, fb_kv_modes[m]) >= 0)
			modes |= 1u << m;
	return modes;
}
