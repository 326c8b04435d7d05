/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes lists and moves from plans; see handoff.h. The runs of a pair cover one region, so a whole
 * request is one transfer that is repeated for all regions. Smaller moves carry one unit of the
 * pair's runs, for all layers or for one layer.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "kvtransfer/handoff/fit.h"

/* --- jobs: who has which pages ---------------------------------------------------------------- */

/* A sender's pages of a fan are the same for all receivers; a receiver has some for each sender. */
static void place_fan(struct fb_kv_job *job, int sender, int receiver, int rank, uint64_t area)
{
	job->rank_of[FB_KV_PREFILL][0] = sender;
	job->rank_of[FB_KV_DECODE][0] = receiver;
	job->index[FB_KV_PREFILL] = rank == sender ? 0 : -1;
	job->index[FB_KV_DECODE] = rank == receiver ? 0 : -1;
	job->pages_at[FB_KV_PREFILL] = 0;
	job->pages_at[FB_KV_DECODE] = area * (uint64_t)(sender + 1);
}

static uint64_t area_of(const struct fb_kv_shape *s, enum fb_kv_side side)
{
	return (fb_kv_area_bytes(s, side) + 4095) / 4096 * 4096;
}

/* Returns the bytes of the pages of a list of one request. Messages lie behind them. */
static uint64_t list_pages_bytes(const struct fb_handoff_plan *p, const struct fb_kv_shape *list)
{
	struct fb_kv_shape one = *list;

	if (p->operation == FB_HANDOFF_RESHARD)
		return area_of(&one, FB_KV_PREFILL) + area_of(&one, FB_KV_DECODE);
	one.tp[0] = one.tp[1] = 1;
	return area_of(&one, FB_KV_PREFILL) * (p->shape.tp[FB_KV_PREFILL] + UINT64_C(1));
}

/*
 * A rank either sends or receives, so one area serves for both. Messages are never larger than the
 * pages, but a sender has one message for each rank that gets a copy of its heads.
 */
static uint64_t list_part_bytes(const struct fb_handoff_plan *p, const struct fb_kv_shape *list)
{
	uint64_t pages = list_pages_bytes(p, list), out, in;
	uint32_t senders = p->shape.tp[FB_KV_PREFILL], receivers = p->shape.tp[FB_KV_DECODE];
	struct fb_kv_shape one = *list;

	if (!p->wire)
		return pages;
	if (p->operation == FB_HANDOFF_FAN) {
		one.tp[0] = one.tp[1] = 1;
		return pages + area_of(&one, FB_KV_PREFILL) *
				       (senders > receivers ? senders : receivers);
	}
	in = area_of(list, FB_KV_DECODE);
	out = area_of(list, FB_KV_PREFILL) *
	      (1 + (uint64_t)(list->tp[FB_KV_DECODE] - 1) / list->kv_heads);
	return pages + (out > in ? out : in);
}

uint64_t fb_handoff_part_bytes(const struct fb_handoff_plan *p)
{
	struct fb_kv_job job;
	uint64_t bytes = 0;

	if (p->operation == FB_HANDOFF_FIT)
		return fb_fit_bytes();
	if (p->operation == FB_HANDOFF_HANDOVER) {
		bytes = fb_handover_job(p, 0, 1, &job) ? UINT64_MAX : job.part_bytes;
		fb_kv_job_close(&job);
		return bytes;
	}
	for (int l = 0; l < p->lists; l++)
		bytes += list_part_bytes(p, &p->list[l]) * (uint64_t)p->flight;
	return bytes;
}

uint64_t fb_handoff_stage_bytes(const struct fb_handoff_plan *p)
{
	uint64_t bytes = 0;

	for (int l = 0; l < p->lists && p->staging; l++)
		bytes += list_part_bytes(p, &p->list[l]) - list_pages_bytes(p, &p->list[l]);
	return bytes * (uint64_t)p->flight;
}

/* Where a case's pages are: GPU memory, too, where they are staged. */
static const struct fb_segment *pages_of(const struct fb_handoff_instance *i)
{
	return i->plan.staging ? i->engine->tier : i->engine->memory;
}

uint64_t fb_handoff_bytes(const struct fb_handoff_plan *p)
{
	uint64_t bytes = 0;

	for (int l = 0; l < p->lists; l++)
		bytes += fb_kv_bytes(&p->list[l]) * (uint64_t)p->flight;
	return bytes;
}

/*
 * The jobs of a list of a request, whose memory begins at `at`, behind so many bytes of all lists'
 * pages; seeds begin at `seed`.
 */
static int open_list(struct fb_handoff_instance *i, struct fb_kv_shape one, uint64_t at,
		     uint64_t pages, uint64_t seed)
{
	const struct fb_group *w = i->state->machine.world;
	int senders = (int)one.tp[FB_KV_PREFILL], receivers = (int)one.tp[FB_KV_DECODE];
	uint64_t messages = at + list_pages_bytes(&i->plan, &one);
	const struct fb_kv_shape all = one;
	bool fan = i->plan.operation == FB_HANDOFF_FAN;
	int err = FB_OK;

	if (fan)
		one.tp[0] = one.tp[1] = 1;
	for (int p = 0; p < (fan ? senders : 1) && !err; p++)
		for (int d = 0; d < (fan ? receivers : 1) && !err; d++) {
			struct fb_kv_job *job = &i->job[i->jobs++];

			err = fb_kv_job_open(job, &one, FB_KV_DIRECT, w->rank, w->nranks,
					     fan ? 0 : senders);
			if (!err && fan)
				place_fan(job, p, senders + d, w->rank,
					  area_of(&one, FB_KV_PREFILL));
			job->out_at = messages + area_of(&one, FB_KV_PREFILL) * (uint64_t)d;
			job->in_at = messages + area_of(&one, FB_KV_PREFILL) * (uint64_t)p;
			job->pages_at[FB_KV_PREFILL] += at;
			job->pages_at[FB_KV_DECODE] += at;
			job->type = i->data.type;
			job->seed = seed + (uint64_t)p;
			job->segment = pages_of(i);
			job->stage_shift = pages + list_pages_bytes(&i->plan, &all);
			job->worst = i->plan.wire == FB_KV_WIRE_FP8 ? &i->worst : NULL;
			job->plan.cut = i->plan.cut;
			job->plan.apart = i->plan.apart;
			job->plan.chunk_tokens = i->plan.chunk_tokens;
			job->plan.by_layer = i->plan.by_layer;
			if (!err)
				err = fb_kv_job_plan(job);
			if (!err && i->state->own->spoil)
				i->state->own->spoil(job);
		}
	return err ? fb_error(err, "out of memory for a plan") : FB_OK;
}

int fb_handoff_jobs_open(struct fb_handoff_instance *i)
{
	const struct fb_handoff_plan *p = &i->plan;
	uint64_t at = 0, pages = 0, seed;
	int err = FB_OK, lists = p->lists * p->flight;

	/*
	 * Cases share memory for messages, and bytes that an earlier case has left there must not
	 * pass for this one's. So seeds of cases lie further apart than fb_handoff_prime() adds.
	 */
	seed = i->state->machine.settings->seed + (i->state->cases << 32);
	i->job = calloc((size_t)lists * p->shape.tp[0] * p->shape.tp[1], sizeof(*i->job));
	if (!i->job)
		return fb_error(FB_ENOMEM, "out of memory");
	if (p->operation == FB_HANDOFF_HANDOVER) {
		const struct fb_group *w = i->state->machine.world;

		i->jobs = 1;
		err = fb_handover_job(p, w->rank, w->nranks, i->job);
		i->job->type = i->data.type;
		i->job->seed = seed;
		i->job->segment = pages_of(i);
		return err ? fb_error(err, "out of memory for a plan") : FB_OK;
	}
	for (int k = 0; k < lists && !err; k++) {
		const struct fb_kv_shape *list = &p->list[k % p->lists];

		err = open_list(i, *list, at, pages, seed);
		at += list_part_bytes(p, list);
		pages += list_pages_bytes(p, list);
		seed += p->shape.tp[FB_KV_PREFILL];
	}
	return err;
}

void fb_handoff_jobs_close(struct fb_handoff_instance *i)
{
	for (int j = 0; j < i->jobs; j++)
		fb_kv_job_close(&i->job[j]);
	free(i->job);
}

/* --- moves ------------------------------------------------------------------------------------ */

int fb_handoff_build(const struct fb_handoff_instance *i, struct fb_handoff_link *link)
{
	int err = FB_OK;

	for (uint32_t m = 0; m < link->moves && !err; m++)
		err = fb_move_prepare(i->engine->mover, &link->transfer[m], 1, i->plan.form,
				      &link->move[m]);
	return err;
}

void fb_handoff_unbuild(const struct fb_handoff_instance *i, struct fb_handoff_link *link)
{
	for (uint32_t m = 0; m < link->moves && link->move; m++) {
		if (link->move[m])
			i->engine->ops->release(link->move[m]);
		link->move[m] = NULL;
	}
}

/* The pieces of move m, shifted so that its first region is the layer's. */
static uint64_t cut(const struct fb_kv_job *job, const struct fb_kv_pair *pair, bool flip,
		    uint32_t m, struct fb_piece *piece)
{
	const struct fb_kv_shape *s = &job->plan.shape;
	uint32_t unit = m % pair->units;
	uint32_t region = m / pair->units * fb_kv_parts(s);
	uint64_t n = 0;

	for (uint32_t r = pair->unit[unit]; r < pair->unit[unit + 1]; r++) {
		uint64_t src = job->pages_at[FB_KV_PREFILL] + pair->run[r].src +
			       fb_kv_region_at(s, FB_KV_PREFILL, region);
		uint64_t dst = job->pages_at[FB_KV_DECODE] + pair->run[r].dst +
			       fb_kv_region_at(s, FB_KV_DECODE, region);

		piece[n++] = (struct fb_piece){flip ? dst : src, flip ? src : dst,
					       pair->run[r].bytes};
	}
	return n;
}

/* Lists and transfers between pages. */
static int make_lists(struct fb_handoff_instance *i, const struct fb_kv_job *job,
		      const struct fb_kv_pair *pair, struct fb_handoff_link *link)
{
	const struct fb_kv_shape *s = &job->plan.shape;
	const struct fb_handoff_plan *plan = &i->plan;
	uint32_t span = fb_kv_span(&job->plan);
	uint32_t repeats = (plan->by_layer ? fb_kv_parts(s) : fb_kv_regions(s)) / span;
	uint64_t step[] = {fb_kv_region_at(s, FB_KV_PREFILL, span),
			   fb_kv_region_at(s, FB_KV_DECODE, span)};
	bool receives = job->rank == link->to, flip = plan->get || (plan->send && receives);
	enum fb_move_verb verb = plan->get     ? FB_MOVE_GET
				 : !plan->send ? FB_MOVE_PUT
				 : receives    ? FB_MOVE_RECV
					       : FB_MOVE_SEND;
	struct fb_piece *at;
	int err = FB_OK;

	link->piece = calloc((uint64_t)pair->runs * s->layers + 1, sizeof(*link->piece));
	link->transfer = calloc(link->moves, sizeof(*link->transfer));
	link->move = calloc(link->moves, sizeof(struct fb_move *));
	if (!link->piece || !link->transfer || !link->move)
		return fb_error(FB_ENOMEM, "out of memory for %u runs", pair->runs);
	at = link->piece;
	for (uint32_t m = 0; m < link->moves && !err; m++) {
		uint64_t n = cut(job, pair, flip, m, at);

		link->transfer[m] = (struct fb_transfer){
			.verb = verb, .peer = flip ? link->from : link->to,
			.local = i->engine->region,
			.remote = plan->send ? NULL : i->engine->region,
			.piece = at, .pieces = n, .repeats = repeats, .apart = plan->apart,
			.local_step = step[flip], .remote_step = step[!flip],
			.notice = fb_handoff_notice(plan)};
		at += n;
		link->pieces += n * repeats;
		link->bytes += fb_transfer_bytes(&link->transfer[m]);
		err = fb_transfer_check_targets(&link->transfer[m]);
	}
	link->wire_bytes = link->bytes;
	return err;
}

static int open_link(struct fb_handoff_instance *i, const struct fb_kv_job *job,
		     const struct fb_kv_pair *pair)
{
	const struct fb_mover_ops *ops = i->engine->ops;
	struct fb_handoff_link *link = &i->link[i->links++];
	bool get = i->plan.get, posts, waits;
	struct fb_transfer note = {.verb = FB_MOVE_PUT};
	int err = FB_OK;

	*link = (struct fb_handoff_link){.job = job, .pair = pair, .from = fb_kv_sender(job, pair),
					 .to = fb_kv_receiver(job, pair),
					 .from_at = job->pages_at[FB_KV_PREFILL],
					 .to_at = job->pages_at[FB_KV_DECODE]};
	link->moves = pair->units * (i->plan.by_layer ? job->plan.shape.layers : 1);
	for (int k = 0; k + 1 < i->links; k++)
		if (i->link[k].from == link->from && i->link[k].to == link->to) {
			link->follows = true;
			link->moves_before += i->link[k].moves;
		}
	posts = fb_handoff_posts(i, link);
	waits = fb_handoff_waits(i, link);
	if (posts || i->plan.wire)
		err = make_lists(i, job, pair, link);
	if (i->plan.wire && !err)
		err = fb_handoff_messages(i, job, pair, link);
	if (posts && !err) {
		if (!i->plan.send)
			err = ops->arrived(i->engine->mover, get ? link->from : link->to,
					   get ? FB_NOTE_READY : FB_NOTE_FREE, &link->note_base);
		/* Whether the form can do it is settled here. */
		if (!err && (!i->plan.cold || i->plan.form))
			err = fb_handoff_build(i, link);
		if (i->plan.cold)
			fb_handoff_unbuild(i, link);
		note.peer = link->to;
		note.notice = FB_NOTE_PUT;
		if (!err && i->plan.notify == FB_NOTIFY_LAST && !link->follows)
			err = fb_move_prepare(i->engine->mover, &note, 1, NULL, &link->last);
	}
	if (waits && !err) {
		note.peer = get ? link->to : link->from;
		note.notice = get ? FB_NOTE_READY : FB_NOTE_FREE;
		err = ops->arrived(i->engine->mover, note.peer, get ? FB_NOTE_GOT : FB_NOTE_PUT,
				   &link->count_base);
		if (!err && !link->follows)
			err = fb_move_prepare(i->engine->mover, &note, 1, NULL, &link->note);
	}
	return err;
}

int fb_handoff_links_open(struct fb_handoff_instance *i)
{
	int rank = i->state->machine.world->rank, most = 0, err = FB_OK;

	for (int j = 0; j < i->jobs; j++)
		most += (int)i->job[j].plan.pairs;
	i->link = calloc((size_t)most + 1, sizeof(*i->link));
	if (!i->link)
		return fb_error(FB_ENOMEM, "out of memory");
	for (int j = 0; j < i->jobs; j++)
		for (uint32_t p = 0; p < i->job[j].plan.pairs && !err; p++) {
			const struct fb_kv_pair *pair = &i->job[j].plan.pair[p];

			if (fb_kv_sender(&i->job[j], pair) == rank ||
			    fb_kv_receiver(&i->job[j], pair) == rank)
				err = open_link(i, &i->job[j], pair);
		}
	return err;
}

void fb_handoff_links_close(struct fb_handoff_instance *i)
{
	for (int k = 0; k < i->links; k++) {
		struct fb_handoff_link *link = &i->link[k];

		fb_handoff_unbuild(i, link);
		if (link->note)
			i->engine->ops->release(link->note);
		if (link->last)
			i->engine->ops->release(link->last);
		for (uint32_t m = 0; m < link->packings && link->packing; m++)
			fb_kv_packing_close(&link->packing[m], i->engine->device);
		free(link->packing);
		free(link->chunk);
		free(link->piece);
		free(link->transfer);
		free(link->move);
		free(link->hidden);
	}
	free(i->link);
}
