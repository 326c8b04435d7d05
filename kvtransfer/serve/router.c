/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The router of serve: when a request is due it gives it to a worker, as soon as that has blocks
 * for it, and notes when tokens come; see serve.h. The clock is its own alone, so hosts may have
 * different ones.
 *
 * The knee is the highest rate at which the wanted share of requests meets the objective: rates are
 * doubled or halved until one meets it and one does not, and then the interval is halved on a
 * logarithmic scale. Every replay has new arrivals and starts with empty caches. Where so few
 * requests are replayed that all of them may come at once, no rate fails, and there is no knee.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "kvtransfer/serve/serve.h"

enum { DOUBLINGS = 12, HALVINGS = 4 };

/* Where a request is. */
struct place {
	uint32_t *block[2]; /* [blocks], of P and of D; equal if colocated */
	int worker[2];
	bool pinned[2];
};

struct router {
	struct fb_serve_instance *i;
	struct place *place; /* [requests] */
	double *load;	     /* [workers]: tokens to go */
	uint32_t *list;	     /* for a message */
	uint32_t due, given, ended; /* requests that have arrived, were given out, are done */
	int turn[2];
	double with_s, without_s; /* of the workers that have said them */
	int told;
};

static double now(const struct router *r)
{
	return fb_clock_now(r->i->state->machine.session->clock);
}

/* --- to which worker -------------------------------------------------------------------------- */

/* Workers are numbered from 0, ranks from 1. */
static int choose(struct router *r, const struct fb_request *request, bool decode)
{
	const struct fb_serve_plan *p = &r->i->plan;
	bool apart = p->mode == FB_SERVE_DISAGGREGATED;
	int first = apart && decode ? p->prefill : 0;
	int last = apart && !decode ? p->prefill : p->workers, best = first;
	uint32_t most = 0;

	if (p->policy == FB_SERVE_ROUND_ROBIN)
		return first + r->turn[decode] % (last - first);
	for (int w = first; w < last; w++) {
		uint32_t found = p->policy == FB_SERVE_PREFIX
					 ? fb_pool_find(&r->i->pool[w], request->hash,
							request->blocks)
					 : 0;

		if (found > most || (found == most && r->load[w] < r->load[best])) {
			most = found;
			best = w;
		}
	}
	return best;
}

/* Takes blocks at both ends. False: some worker has too few. */
static bool take_blocks(struct router *r, uint32_t index, struct fb_mail *mail)
{
	const struct fb_request *request = &r->i->trace.request[index];
	struct place *at = &r->place[index];
	bool apart = r->i->plan.mode == FB_SERVE_DISAGGREGATED;

	at->worker[0] = choose(r, request, false);
	if (!fb_pool_take(&r->i->pool[at->worker[0]], request->hash, request->blocks, at->block[0],
			  &mail->held[0]))
		return false;
	at->pinned[0] = true;
	at->worker[1] = apart ? choose(r, request, true) : at->worker[0];
	if (!apart)
		return true;
	at->pinned[1] = fb_pool_take(&r->i->pool[at->worker[1]], request->hash, request->blocks,
				     at->block[1], &mail->held[1]);
	if (!at->pinned[1]) {
		fb_pool_give(&r->i->pool[at->worker[0]], at->block[0], request->blocks);
		at->pinned[0] = false;
	}
	return at->pinned[1];
}

static void release(struct router *r, uint32_t index, int end)
{
	struct place *at = &r->place[index];

	if (at->pinned[end])
		fb_pool_give(&r->i->pool[at->worker[end]], at->block[end],
			     r->i->trace.request[index].blocks);
	at->pinned[end] = false;
}

/* Gives the oldest request that waits to a worker, if there is room for it. */
static int give_one(struct router *r, bool *given)
{
	uint32_t index = r->given;
	const struct fb_request *request = &r->i->trace.request[index];
	const struct place *at = &r->place[index];
	struct fb_mail mail = {.kind = FB_MAIL_PREFILL, .request = index, .input = request->input,
			       .output = request->output, .blocks = request->blocks,
			       .words = 4 * request->blocks,
			       .colocated = r->i->plan.mode == FB_SERVE_COLOCATED};
	uint32_t cached;

	*given = take_blocks(r, index, &mail);
	if (!*given)
		return FB_OK;
	mail.decode = at->worker[1] + 1;
	for (uint32_t b = 0; b < request->blocks; b++) {
		r->list[b] = at->block[0][b];
		r->list[request->blocks + b] = at->block[mail.colocated ? 0 : 1][b];
		r->list[2 * request->blocks + 2 * b] = (uint32_t)request->hash[b];
		r->list[2 * request->blocks + 2 * b + 1] = (uint32_t)(request->hash[b] >> 32);
	}
	cached = mail.held[0] * r->i->plan.shape.block_tokens;
	r->i->hit_tokens += cached < request->input ? cached : request->input - 1;
	r->i->all_tokens += request->input;
	r->load[at->worker[0]] += request->input;
	r->load[at->worker[1]] += request->output;
	r->turn[0]++;
	r->turn[1]++;
	r->given++;
	return fb_mail_send(&r->i->box, at->worker[0] + 1, &mail, r->list);
}

/* --- what workers say ------------------------------------------------------------------------- */

static void note_token(struct router *r, uint32_t index, double when)
{
	struct fb_served *s = &r->i->served[index];

	fb_account_token(&r->i->account, s, when);
	r->load[r->place[index].worker[1]] -= 1;
	if (s->tokens < r->i->trace.request[index].output)
		return;
	release(r, index, r->i->plan.mode == FB_SERVE_DISAGGREGATED);
	r->ended++;
}

static void note(struct router *r, const struct fb_letter *letter)
{
	double when = now(r);
	uint32_t index = letter->mail.request;
	const struct fb_request *request = &r->i->trace.request[index];
	struct fb_served *s = &r->i->served[index];
	struct place *at = &r->place[index];

	switch (letter->mail.kind) {
	case FB_MAIL_PREFILLED:
		s->prefilled = s->arrived = when;
		s->compute = letter->mail.compute_s;
		r->load[at->worker[0]] -= request->input;
		fb_pool_ready(&r->i->pool[at->worker[0]], at->block[0], request->blocks);
		break;
	case FB_MAIL_SENT:
		r->i->moved_bytes += letter->mail.moved;
		r->i->moved++;
		release(r, index, 0);
		break;
	case FB_MAIL_ARRIVED:
		s->arrived = when;
		fb_pool_ready(&r->i->pool[at->worker[1]], at->block[1], request->blocks);
		break;
	case FB_MAIL_TIMES:
		r->with_s += letter->mail.with_s;
		r->without_s += letter->mail.without_s;
		r->told++;
		break;
	case FB_MAIL_TOKENS:
		for (uint32_t k = 0; k < letter->mail.words; k++)
			note_token(r, letter->list[k], when);
		break;
	default:
		break;
	}
}

/* --- a replay --------------------------------------------------------------------------------- */

static int turn(struct router *r, bool *moved)
{
	const struct fb_trace *t = &r->i->trace;
	const struct fb_letter *letter;
	int from, err = fb_mail_receive(&r->i->box, &letter, &from);
	bool given = true;

	*moved = letter != NULL;
	if (letter)
		note(r, letter);
	while (r->due < t->count && now(r) >= r->i->served[r->due].planned)
		r->due++;
	while (r->given < r->due && given && !err) {
		err = give_one(r, &given);
		*moved |= given;
	}
	return err;
}

static int turn_or_wait(struct router *r, struct fb_spin *spin, const char *doing)
{
	bool moved = false;
	int err = turn(r, &moved);

	if (err || moved || !fb_spin_again(spin))
		return err;
	return fb_alive(r->i->state->machine.session, doing);
}

/* Blocks of a disaggregated request's sender may still be in use when its last token has come. */
static bool all_free(const struct router *r)
{
	for (uint32_t k = 0; k < r->i->trace.count; k++)
		if (r->place[k].pinned[0] || r->place[k].pinned[1])
			return false;
	return true;
}

static int replay(struct router *r, double rate, double *share)
{
	struct fb_serve_instance *i = r->i;
	const struct fb_serve_settings *own = i->state->own;
	const struct fb_objective objective = {own->ttft_s, own->itl_s};
	struct fb_spin spin = {.yields = i->state->machine.world->oversubscribed};
	const struct fb_mail end = {.kind = FB_MAIL_END, .output = 1};
	double begin;
	int err = FB_OK;

	fb_trace_arrive(&i->trace, i->plan.arrivals, rate, own->cv, ++i->data.seed);
	r->due = r->given = r->ended = 0;
	begin = now(r);
	for (int w = 0; w < i->plan.workers; w++) {
		fb_pool_reset(&i->pool[w]);
		r->load[w] = 0;
	}
	for (uint32_t k = 0; k < i->trace.count; k++)
		i->served[k] = (struct fb_served){.planned = begin + i->trace.request[k].at};
	while (!err && (r->ended < i->trace.count || !all_free(r)))
		err = turn_or_wait(r, &spin, "waiting for tokens");
	for (int w = 0; w < i->plan.workers && !err; w++)
		err = fb_mail_send(&i->box, w + 1, &end, NULL);
	*share = fb_account_replay(&i->account, i->served, i->trace.count, &objective);
	return err ? err : i->account.err;
}

static int find_knee(struct router *r, double *knee)
{
	double wanted = r->i->state->own->attainment, low = 0, high = 0, rate = r->i->plan.rate;
	double share = 0;
	int err = FB_OK;

	for (int k = 0; k < DOUBLINGS && !err && (!low || !high); k++) {
		err = replay(r, rate, &share);
		if (share >= wanted)
			low = rate;
		else
			high = rate;
		rate = share >= wanted ? 2 * rate : rate / 2;
	}
	for (int k = 0; k < HALVINGS && !err && low && high; k++) {
		rate = sqrt(low * high);
		err = replay(r, rate, &share);
		if (share >= wanted)
			low = rate;
		else
			high = rate;
	}
	*knee = high ? low : (double)NAN;
	return err;
}

static int keep(struct fb_series *s, double value)
{
	double *more = realloc(s->value, (s->n + 1) * sizeof(*more));

	if (!more)
		return fb_error(FB_ENOMEM, "out of memory");
	s->value = more;
	s->value[s->n++] = value;
	return FB_OK;
}

/* A repetition without a knee (NAN) adds no number to the row, and the row says so. */
static int keep_knee(struct fb_serve_instance *i, double knee)
{
	i->kneeless |= isnan(knee);
	return isnan(knee) ? FB_OK : keep(&i->knee, knee);
}

/* Finds the knees of both modes, in turns which of them is first. */
static int judge(struct router *r)
{
	double knee[FB_SERVE_MODES] = {0};
	int err = FB_OK;

	for (int k = 0; k < FB_SERVE_MODES && !err; k++) {
		int mode = (k + r->i->runs) % FB_SERVE_MODES;

		r->i->plan.mode = (enum fb_serve_mode)mode;
		err = find_knee(r, &knee[mode]);
	}
	if (!err && knee[FB_SERVE_COLOCATED] > 0 && !isnan(knee[FB_SERVE_DISAGGREGATED]))
		err = keep(&r->i->ratio, knee[FB_SERVE_DISAGGREGATED] / knee[FB_SERVE_COLOCATED]);
	r->i->kneeless |= isnan(knee[FB_SERVE_COLOCATED]);
	return err ? err : keep_knee(r->i, knee[FB_SERVE_DISAGGREGATED]);
}

/* The run is over: how long the workers' steps took with transfers under way and without. */
static int take_times(struct router *r)
{
	struct fb_spin spin = {.yields = r->i->state->machine.world->oversubscribed};
	int err = FB_OK;

	while (r->told < r->i->plan.workers && !err)
		err = turn_or_wait(r, &spin, "waiting for the times of workers");
	if (err || r->without_s <= 0)
		return err;
	return keep(&r->i->interference, r->with_s / r->without_s);
}

static int route(struct router *r)
{
	struct fb_serve_instance *i = r->i;
	const struct fb_mail stop = {.kind = FB_MAIL_END};
	double share = 0, knee = 0;
	int err;

	if (i->runs == 1) { /* the first run's caches and connections were cold */
		fb_account_close(&i->account);
		i->knee.n = i->ratio.n = i->interference.n = 0;
		i->hit_tokens = i->all_tokens = i->moved_bytes = i->moved = 0;
		i->kneeless = false;
	}
	if (i->plan.operation == FB_SERVE_REPLAY) {
		err = replay(r, i->plan.rate, &share);
	} else if (i->plan.operation == FB_SERVE_KNEE) {
		err = find_knee(r, &knee);
		err = err ? err : keep_knee(i, knee);
	} else {
		err = judge(r);
	}
	for (int w = 0; w < i->plan.workers && !err; w++)
		err = fb_mail_send(&i->box, w + 1, &stop, NULL);
	return err ? err : take_times(r);
}

int fb_serve_route(struct fb_serve_instance *i)
{
	struct router r = {.i = i};
	uint32_t most = 1;
	bool there;
	int err = FB_ENOMEM;

	for (uint32_t k = 0; k < i->trace.count; k++)
		most = i->trace.request[k].blocks > most ? i->trace.request[k].blocks : most;
	r.place = calloc(i->trace.count + (size_t)1, sizeof(*r.place));
	r.load = calloc((size_t)i->plan.workers, sizeof(*r.load));
	r.list = calloc(4 * (size_t)most, sizeof(*r.list));
	there = r.place && r.load && r.list;
	for (uint32_t k = 0; k < i->trace.count && there; k++)
		for (int end = 0; end < 2; end++) {
			r.place[k].block[end] = calloc(most, sizeof(uint32_t));
			there &= r.place[k].block[end] != NULL;
		}
	if (there)
		err = route(&r);
	for (uint32_t k = 0; k < i->trace.count && r.place; k++)
		for (int end = 0; end < 2; end++)
			free(r.place[k].block[end]);
	free(r.place);
	free(r.load);
	free(r.list);
	return err;
}
