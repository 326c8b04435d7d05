/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker of serve: computes chunks of prompts and tokens of running requests, step by step, and
 * passes caches on; see serve.h.
 *
 * Whoever gives a request's last token compares all its blocks with what they have to hold: those
 * that came over a mover, those that an earlier request left, and those that were computed here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "kvtransfer/serve/interference.h"
#include "kvtransfer/serve/serve.h"

/* A request that this worker has to do with. */
struct job {
	struct job *next;
	struct fb_control *message;
	struct fb_piece *piece;
	struct fb_move *move; /* its cache on the way to the decode rank */
	int from;	      /* the rank that its cache comes from */
	uint32_t done, given; /* prompt tokens computed; tokens given */
	double compute_s, moved;
};

struct queue {
	struct job *head, *tail;
};

struct worker {
	struct fb_serve_instance *i;
	struct queue prompts, sending, waiting; /* waiting: for a place among the running */
	struct queue *arriving;			/* [nranks]: of each prefill rank */
	struct job **running;			/* [most_batch] */
	uint32_t nrunning;
	uint32_t *list; /* [most_batch + 1]: requests that got a token in a step */
	uint32_t nlist;
	bool over;
	bool dropping; /* requests are cancelled until the replay's end */
	struct fb_step_watch watch;
	uint32_t coming; /* caches on their way to this worker, if they have bytes to move */
};

static void add(struct queue *q, struct job *job)
{
	job->next = NULL;
	if (q->head)
		q->tail->next = job;
	else
		q->head = job;
	q->tail = job;
}

static struct job *take(struct queue *q)
{
	struct job *job = q->head;

	q->head = job->next;
	return job;
}

static void free_job(struct job *job)
{
	free(job->message);
	free(job->piece);
	free(job);
}

static int report(struct worker *w, const struct job *job, enum fb_control_kind kind)
{
	const struct fb_control_header header = {.kind = (uint32_t)kind,
						 .request = job->message->header.request,
						 .compute_s = job->compute_s, .moved = job->moved};

	return fb_control_send(&w->i->channel, 0, &header, NULL);
}

/* --- from prefill to decode ------------------------------------------------------------------- */

static void join(struct worker *w, struct job *job)
{
	if (w->nrunning < w->i->state->own->most_batch)
		w->running[w->nrunning++] = job;
	else
		add(&w->waiting, job);
}

/* Begins to send the blocks that the decode rank does not have. */
static int send_cache(struct worker *w, struct job *job)
{
	const struct fb_serve_plan *p = &w->i->plan;
	const struct fb_control *l = job->message;
	size_t most = (size_t)l->header.blocks * (size_t)p->lists + 1;
	struct fb_transfer t[FB_SERVE_LISTS];
	struct fb_control_header header = l->header;
	int err;

	job->piece = calloc(most, sizeof(*job->piece));
	if (!job->piece)
		return fb_error(FB_ENOMEM, "out of memory for %zu pieces", most);
	job->moved = (double)fb_serve_pieces(p, l, job->piece, t);
	for (int k = 0; k < p->lists; k++)
		t[k].local = t[k].remote = w->i->engine->region;
	err = fb_move_prepare(w->i->engine->mover, t, (uint32_t)p->lists, NULL, &job->move);
	header.kind = FB_CONTROL_ARRIVING;
	header.moved = job->moved;
	if (!err)
		err = fb_control_send(&w->i->channel, l->header.decode, &header, l->list);
	if (!err)
		err = job->move->mover->ops->post(job->move);
	add(&w->sending, job);
	return err;
}

/* The router wants no more of this request. */
static int drop(struct worker *w, struct job *job)
{
	int err = report(w, job, FB_CONTROL_DROPPED);

	free_job(job);
	return err;
}

/*
 * Drops all requests but those whose cache is on its way: it cannot be stopped, and its notice will
 * be counted. The decode worker drops such a request when the cache has come.
 */
static int drop_all(struct worker *w)
{
	int err = FB_OK;

	w->dropping = true;
	while (w->prompts.head && !err)
		err = drop(w, take(&w->prompts));
	while (w->waiting.head && !err)
		err = drop(w, take(&w->waiting));
	while (w->nrunning && !err)
		err = drop(w, w->running[--w->nrunning]);
	return err;
}

/* Caches that have left, and caches that have come. */
static int look_at_mover(struct worker *w)
{
	struct fb_kv_backend *e = w->i->engine;
	uint64_t notices = (uint64_t)w->i->plan.lists; /* of a cache */
	int err = FB_OK;
	bool done = true;

	while (w->sending.head && done && !err) {
		struct job *job = w->sending.head;

		err = e->ops->test(job->move, &done);
		if (err || !done)
			return err;
		if (!*w->i->carried.path)
			e->ops->describe(job->move, &w->i->carried);
		e->ops->release(job->move);
		err = report(w, job, FB_CONTROL_SENT);
		free_job(take(&w->sending));
	}
	for (int r = 0; r < w->i->state->machine.world->nranks && !err; r++) {
		uint64_t count = 0;

		if (!w->arriving[r].head)
			continue;
		err = e->ops->arrived(e->mover, r, FB_SERVE_NOTICE, &count);
		while (!err && w->arriving[r].head && e->seen[r] + notices <= count) {
			struct job *job = take(&w->arriving[r]);

			e->seen[r] += notices;
			w->coming -= job->message->header.moved > 0;
			if (w->dropping) {
				err = drop(w, job);
				continue;
			}
			err = report(w, job, FB_CONTROL_ARRIVED);
			join(w, job);
		}
	}
	return err;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The request has a token more; its last one ends it. */
static int give(struct worker *w, struct job *job, bool *ended)
{
	int err = FB_OK;

	w->list[w->nlist++] = job->message->header.request;
	*ended = ++job->given >= job->message->header.output;
	if (*ended) {
		err = fb_serve_content(w->i, job->message, true, 0, &w->i->bad);
		free_job(job);
	}
	return err;
}

static int end_prompt(struct worker *w)
{
	struct job *job = take(&w->prompts);
	const struct fb_control_header *header = &job->message->header;
	int err = fb_serve_content(w->i, job->message, false, header->held[0], NULL);
	bool ended = false;

	if (!err)
		err = report(w, job, FB_CONTROL_PREFILLED);
	if (err)
		return err;
	if (!header->colocated)
		return send_cache(w, job);
	err = give(w, job, &ended);
	if (!ended)
		join(w, job);
	return err;
}

/* Prompt tokens that have to be computed; the last one always. */
static uint32_t cached_tokens(const struct worker *w, const struct fb_control_header *header)
{
	uint32_t cached = header->held[0] * w->i->plan.shape.block_tokens;

	return cached < header->input ? cached : header->input - 1;
}

/* One token of all that are running. */
static int give_tokens(struct worker *w, uint32_t running)
{
	uint32_t kept = 0;
	int err = FB_OK;

	for (uint32_t k = 0; k < running && !err; k++) {
		struct job *job = w->running[k];
		bool ended;

		err = give(w, job, &ended);
		if (!ended)
			w->running[kept++] = job;
	}
	w->nrunning = kept;
	while (w->waiting.head && w->nrunning < w->i->state->own->most_batch)
		w->running[w->nrunning++] = take(&w->waiting);
	return err;
}

/* Computes a step; *idle: there was nothing to compute. */
static int step(struct worker *w, bool *idle)
{
	const struct fb_clock *clock = w->i->state->machine.session->clock;
	struct job *prompt = w->prompts.head;
	struct fb_kv_batch batch = {.requests = w->nrunning};
	double began = fb_clock_now(clock);
	struct fb_control_header tokens = {.kind = FB_CONTROL_TOKENS};
	uint32_t cached = 0, left = 0;
	int err;

	*idle = !prompt && !w->nrunning;
	if (*idle)
		return FB_OK;
	if (prompt) {
		cached = cached_tokens(w, &prompt->message->header);
		left = prompt->message->header.input - cached - prompt->done;
		batch.prompt = left < w->i->state->own->chunk ? left
							       : (uint32_t)w->i->state->own->chunk;
		batch.context = cached + prompt->done;
	}
	for (uint32_t k = 0; k < w->nrunning; k++)
		batch.cached += w->running[k]->message->header.input + w->running[k]->given;
	err = fb_kv_step(w->i->compute, &batch);
	if (!prompt && !w->running[0]->message->header.colocated)
		fb_step_watch_end(&w->watch, w->nrunning, fb_clock_now(clock));
	w->nlist = 0;
	if (!err)
		err = give_tokens(w, w->nrunning);
	if (!err && prompt) {
		prompt->done += batch.prompt;
		prompt->compute_s += fb_clock_now(clock) - began;
		if (batch.prompt == left)
			err = end_prompt(w);
	}
	tokens.words = w->nlist;
	return err || !w->nlist ? err : fb_control_send(&w->i->channel, 0, &tokens, w->list);
}

/* --- control messages ------------------------------------------------------------------------- */

static int look_at_messages(struct worker *w)
{
	for (;;) {
		const struct fb_control *message;
		struct job *job;
		size_t bytes;
		int from, err = fb_control_receive(&w->i->channel, &message, &from);

		if (err || !message)
			return err;
		if (message->header.kind == FB_CONTROL_END) {
			w->i->data.seed++;
			w->over = !message->header.output;
			w->dropping = false;
			if (!w->over)
				fb_serve_replayed(w->i);
			return FB_OK;
		}
		if (message->header.kind == FB_CONTROL_CANCEL) {
			err = drop_all(w);
			if (err)
				return err;
			continue;
		}
		bytes = sizeof(*message) + message->header.words * sizeof(message->list[0]);
		job = calloc(1, sizeof(*job));
		if (job)
			job->message = malloc(bytes);
		if (!job || !job->message) {
			free(job);
			return fb_error(FB_ENOMEM, "out of memory for a request");
		}
		memcpy(job->message, message, bytes);
		job->from = from;
		w->coming +=
			message->header.kind == FB_CONTROL_ARRIVING && message->header.moved > 0;
		add(message->header.kind == FB_CONTROL_PREFILL ? &w->prompts : &w->arriving[from],
		    job);
	}
}

/* Nothing to compute: the watchdog says which cache is missing, if one is. */
static int idle_look(struct worker *w)
{
	char doing[64] = "waiting for requests";

	for (int r = w->i->state->machine.world->nranks - 1; r > 0; r--)
		if (w->arriving[r].head)
			snprintf(doing, sizeof(doing),
				 "waiting for the cache of request %u from rank %d",
				 w->arriving[r].head->message->header.request, r);
	return fb_alive(w->i->state->machine.session, doing);
}

static int tell_times(struct worker *w)
{
	struct fb_control_header header = {.kind = FB_CONTROL_TIMES};

	fb_step_times_sum(w->watch.times, w->i->state->own->most_batch + 1, &header.with_s,
			  &header.without_s);
	return fb_control_send(&w->i->channel, 0, &header, NULL);
}

static int work(struct worker *w)
{
	struct fb_spin spin = {.yields = w->i->state->machine.world->oversubscribed};
	int err = FB_OK;
	bool idle;

	while (!w->over && !err) {
		double began = fb_clock_now(w->i->state->machine.session->clock);
		uint32_t seen;

		err = look_at_messages(w);
		seen = w->coming;
		if (!err && w->i->engine->mover)
			err = look_at_mover(w);
		fb_step_watch_begin(&w->watch, seen, w->coming, began);
		if (!err)
			err = step(w, &idle);
		if (!err && idle && fb_spin_again(&spin))
			err = idle_look(w);
	}
	return err ? err : tell_times(w);
}

int fb_serve_work(struct fb_serve_instance *i)
{
	uint64_t most = i->state->own->most_batch;
	struct worker w = {.i = i};
	int err = FB_ENOMEM;

	w.arriving = calloc((size_t)i->state->machine.world->nranks, sizeof(*w.arriving));
	w.running = calloc(most, sizeof(*w.running));
	w.list = calloc(most + 1, sizeof(*w.list));
	w.watch.times = calloc(most + 1, sizeof(*w.watch.times));
	if (w.arriving && w.running && w.list && w.watch.times)
		err = work(&w);
	free(w.arriving);
	free(w.running);
	free(w.list);
	free(w.watch.times);
	return err;
}
