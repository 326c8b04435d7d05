/* SPDX-License-Identifier: BSD-3-Clause */
/* The moves of a hand-over between GPUs: which pieces of which regions; see over_gpu.h. */
#include "kvtransfer/over_gpu.h"

#include <stdlib.h>

#include "common/base/error.h"

/* --- pieces and transfers --------------------------------------------------------------------- */

/* A kind of place of a pair's bytes in a part. */
enum spot { PAGES_FROM, PAGES_TO, OUT, IN };

static const struct {
	enum spot from, to;
} legs[] = {
	[FB_KV_PAGES] = {PAGES_FROM, PAGES_TO}, [FB_KV_GATHERS] = {PAGES_FROM, OUT},
	[FB_KV_FUSED] = {PAGES_FROM, IN},	[FB_KV_PUSH] = {OUT, IN},
	[FB_KV_SCATTERS] = {IN, PAGES_TO},
};

/* Where a spot begins, how far a region is behind that, and a run in a list. */
static uint64_t base_of(const struct fb_kv_job *job, const struct fb_kv_pair *pair, enum spot spot)
{
	if (spot == OUT || spot == IN)
		return spot == OUT ? job->out_at + pair->out_at : job->in_at + pair->in_at;
	return job->pages_at[spot == PAGES_FROM ? FB_KV_PREFILL : FB_KV_DECODE];
}

static uint64_t region_at(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
			  enum spot spot, uint32_t region)
{
	if (spot == OUT || spot == IN)
		return region * pair->region_bytes;
	return fb_kv_region_at(&job->plan.shape,
			       spot == PAGES_FROM ? FB_KV_PREFILL : FB_KV_DECODE, region);
}

static uint64_t run_at(const struct fb_kv_run *run, enum spot spot)
{
	return spot == PAGES_FROM ? run->src : spot == PAGES_TO ? run->dst : run->at;
}

/* The pieces of a pair's leg, of a list; those of PUSH are one, of all regions of a step. */
static const struct fb_piece *list_of(const struct fb_kv_gpu_request *r, uint32_t p,
				      enum fb_kv_leg leg)
{
	const struct fb_kv_pair *pair = &r->request.job->plan.pair[p];
	struct fb_piece **list = &r->list[p * FB_KV_LEGS + leg];

	if (*list)
		return *list;
	*list = calloc(pair->runs + 1, sizeof(**list));
	if (!*list)
		return NULL;
	(*list)->bytes = pair->region_bytes * r->request.job->step_regions;
	for (uint32_t i = 0; i < pair->runs && leg != FB_KV_PUSH; i++)
		(*list)[i] = (struct fb_piece){run_at(&pair->run[i], legs[leg].from),
					       run_at(&pair->run[i], legs[leg].to),
					       pair->run[i].bytes};
	return *list;
}

static struct fb_transfer transfer_of(const struct fb_kv_gpu_request *r, uint32_t p,
				      enum fb_kv_leg leg, uint32_t step)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_kv_pair *pair = &job->plan.pair[p];
	bool one = leg == FB_KV_PUSH;
	uint32_t span = fb_kv_span(&job->plan), first = step * job->step_regions;
	enum spot here = legs[leg].from, there = legs[leg].to;

	return (struct fb_transfer){
		.verb = FB_MOVE_PUT, .peer = fb_kv_receiver(job, pair),
		.piece = list_of(r, p, leg), .pieces = one ? 1 : pair->runs,
		.repeats = one ? 1 : job->step_regions / span,
		.local_step = region_at(job, pair, here, span),
		.remote_step = region_at(job, pair, there, span),
		.local_at = base_of(job, pair, here) + region_at(job, pair, here, first),
		.remote_at = base_of(job, pair, there) + region_at(job, pair, there, first),
	};
}

/* --- moves ------------------------------------------------------------------------------------ */

/* Transfers that become one move. */
struct draft {
	struct fb_transfer *transfer; /* room for two of each pair */
	uint32_t count;
};

static void add_frees(const struct fb_kv_gpu_request *r, struct draft *d)
{
	const struct fb_kv_job *job = r->request.job;

	for (uint32_t p = 0; p < job->plan.pairs; p++)
		if (fb_kv_receiver(job, &job->plan.pair[p]) == job->rank)
			d->transfer[d->count++] = (struct fb_transfer){
				.verb = FB_MOVE_PUT, .notice = FB_KV_FREE,
				.peer = fb_kv_sender(job, &job->plan.pair[p])};
}

/* A leg's transfers of a step: with others by the mover, or with this rank alone by the packer. */
static int add_leg(const struct fb_kv_gpu_request *r, enum fb_kv_leg leg, uint32_t step,
		   struct draft *d)
{
	const struct fb_kv_job *job = r->request.job;
	bool packs = leg == FB_KV_GATHERS || leg == FB_KV_SCATTERS;

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];
		int from = fb_kv_sender(job, pair), to = fb_kv_receiver(job, pair);
		struct fb_transfer *t = &d->transfer[d->count];

		if ((leg == FB_KV_SCATTERS ? to : from) != job->rank)
			continue;
		*t = transfer_of(r, p, leg, step);
		if (!t->piece)
			return FB_ENOMEM;
		t->local = t->remote = packs ? r->request.engine->packs : r->request.engine->region;
		if (packs)
			t->peer = job->rank;
		else
			t->notice = FB_KV_DONE;
		d->count++;
	}
	return FB_OK;
}

/* PUSH without PUT: what is sent and what is received, in one move. */
static int add_messages(const struct fb_kv_gpu_request *r, uint32_t step, bool own,
			struct draft *d)
{
	const struct fb_kv_job *job = r->request.job;

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];
		int from = fb_kv_sender(job, pair), to = fb_kv_receiver(job, pair);
		struct fb_transfer t = transfer_of(r, p, FB_KV_PUSH, step);

		if (!t.piece)
			return FB_ENOMEM;
		if ((from != job->rank && to != job->rank) || own != (from == to))
			continue;
		t.local = own ? r->request.engine->packs : r->request.engine->region;
		t.remote = own ? r->request.engine->packs : NULL;
		if (!own)
			t.verb = from == job->rank ? FB_MOVE_SEND : FB_MOVE_RECV;
		if (t.verb == FB_MOVE_RECV) {
			t.peer = from;
			t.local_at = t.remote_at;
		}
		d->transfer[d->count++] = t;
	}
	return FB_OK;
}

static int make(struct fb_mover *mover, struct draft *d, const char *form, struct fb_move **move)
{
	int err = FB_OK;

	if (d->count)
		err = fb_move_prepare_checked(mover, d->transfer, d->count, form, move);
	d->count = 0;
	return err;
}

static int make_leg(const struct fb_kv_gpu_request *r, enum fb_kv_leg leg, uint32_t step,
		    const char *form, struct draft *d)
{
	const struct fb_kv_backend *e = r->request.engine;
	bool packs = leg == FB_KV_GATHERS || leg == FB_KV_SCATTERS;
	int err = leg == FB_KV_PUSH && !fb_kv_has_put(e)
			  ? add_messages(r, step, false, d)
			  : add_leg(r, leg, step, d);

	return err ? err : make(packs ? e->packer : e->mover, d, form,
				&r->move[leg * r->request.job->steps + step]);
}

/* The forms of mover copy that modes stand for. */
static const char *form_of(const struct fb_kv_job *job)
{
	return job->mode == FB_KV_BATCH || job->mode == FB_KV_STRIDED ? fb_kv_modes[job->mode]
								       : NULL;
}

/*
 * Outside of timing, and without telling anybody: what a driver does not do between these two
 * memories costs the rows of this mode, not the job. Collective.
 */
static int try_form(const struct fb_kv_gpu_request *r, struct draft *d)
{
	const struct fb_mover_ops *ops = r->request.engine->mover->ops;
	struct fb_move *move = NULL;
	int err = add_leg(r, FB_KV_PAGES, 0, d);

	for (uint32_t i = 0; i < d->count; i++)
		d->transfer[i].notice = 0;
	if (!err)
		err = make(r->request.engine->mover, d, form_of(r->request.job), &move);
	if (!err && move)
		err = ops->post(move);
	if (!err && move)
		err = fb_move_wait(move);
	if (move)
		ops->release(move);
	return fb_group_agree(r->request.engine->mover->group, err ? FB_EUNSUPPORTED : FB_OK);
}

static int make_moves(struct fb_kv_gpu_request *r, struct draft *d)
{
	const struct fb_kv_backend *e = r->request.engine;
	const struct fb_kv_job *job = r->request.job;
	bool put = fb_kv_has_put(e), direct = fb_kv_is_direct(job);
	int err = FB_OK;

	for (uint32_t step = 0; step < job->steps && !err; step++) {
		if (direct)
			err = make_leg(r, FB_KV_PAGES, step, form_of(job), d);
		else
			err = make_leg(r, FB_KV_GATHERS, step, NULL, d);
		if (!err && !direct && fb_kv_packs(r->request.engine))
			err = make_leg(r, FB_KV_FUSED, step, NULL, d);
		if (!err)
			err = make_leg(r, FB_KV_PUSH, step, NULL, d);
		if (!err && !direct)
			err = make_leg(r, FB_KV_SCATTERS, step, NULL, d);
		if (!err && !put)
			err = add_messages(r, step, true, d);
		if (!err && !put)
			err = make(r->request.engine->packer, d, NULL, &r->keep[step]);
	}
	if (err || !put)
		return err;
	add_frees(r, d);
	err = make(r->request.engine->mover, d, NULL, &r->freeing);
	if (err || direct || !fb_kv_packs(e) || !e->ops->ordered)
		return err;
	err = add_leg(r, FB_KV_SCATTERS, job->steps - 1, d);
	add_frees(r, d);
	return err ? err : make(r->request.engine->mover, d, NULL, &r->last);
}

int fb_kv_moves_make(struct fb_kv_gpu_request *r)
{
	const struct fb_kv_job *job = r->request.job;
	struct draft d = {calloc(2 * (size_t)job->plan.pairs + 1, sizeof(*d.transfer)), 0};
	int err = fb_group_agree(r->request.engine->mover->group, d.transfer ? FB_OK : FB_ENOMEM);

	if (!err && form_of(job))
		err = try_form(r, &d);
	if (!err)
		err = make_moves(r, &d);
	free(d.transfer);
	return err;
}
