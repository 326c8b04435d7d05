/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The router of serve: when a request is due it gives it to a worker, as soon as that has blocks
 * for it, and notes when tokens come; see serve.h. The clock is its own alone, so hosts may have
 * different ones.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "kvtransfer/serve/router.h"

static const double look_s = 5e-3; /* between looks at which requests have missed the objective */

double fb_router_now(const struct fb_router *r)
{
	return fb_clock_now(r->i->state->machine.session->clock);
}

/* --- to which worker -------------------------------------------------------------------------- */

/* Workers are numbered from 0, ranks from 1. */
static int choose(struct fb_router *r, const struct fb_request *request, bool decode)
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
static bool take_blocks(struct fb_router *r, uint32_t index, struct fb_control_header *header)
{
	const struct fb_request *request = &r->i->trace.request[index];
	struct fb_place *at = &r->place[index];
	bool apart = r->i->plan.mode == FB_SERVE_DISAGGREGATED;

	at->worker[0] = choose(r, request, false);
	if (!fb_pool_take(&r->i->pool[at->worker[0]], request->hash, request->blocks, at->block[0],
			  &header->held[0]))
		return false;
	at->pinned[0] = true;
	at->worker[1] = apart ? choose(r, request, true) : at->worker[0];
	if (!apart)
		return true;
	at->pinned[1] = fb_pool_take(&r->i->pool[at->worker[1]], request->hash, request->blocks,
				     at->block[1], &header->held[1]);
	if (!at->pinned[1]) {
		fb_pool_give(&r->i->pool[at->worker[0]], at->block[0], request->blocks);
		at->pinned[0] = false;
	}
	return at->pinned[1];
}

static void release(struct fb_router *r, uint32_t index, int end)
{
	struct fb_place *at = &r->place[index];

	if (at->pinned[end])
		fb_pool_give(&r->i->pool[at->worker[end]], at->block[end],
			     r->i->trace.request[index].blocks);
	at->pinned[end] = false;
}

/* Gives the oldest request that waits to a worker, if there is room for it. */
static int give_one(struct fb_router *r, bool *given)
{
	uint32_t index = r->given;
	const struct fb_request *request = &r->i->trace.request[index];
	const struct fb_place *at = &r->place[index];
	struct fb_control_header header = {.kind = FB_CONTROL_PREFILL,
					   .request = index,
					   .input = request->input,
					   .output = request->output,
					   .blocks = request->blocks,
					   .words = 4 * request->blocks,
					   .colocated = r->i->plan.mode == FB_SERVE_COLOCATED};
	uint32_t cached;

	*given = take_blocks(r, index, &header);
	if (!*given)
		return FB_OK;
	header.decode = at->worker[1] + 1;
	for (uint32_t b = 0; b < request->blocks; b++) {
		r->list[b] = at->block[0][b];
		r->list[request->blocks + b] = at->block[header.colocated ? 0 : 1][b];
		r->list[2 * request->blocks + 2 * b] = (uint32_t)request->hash[b];
		r->list[2 * request->blocks + 2 * b + 1] = (uint32_t)(request->hash[b] >> 32);
	}
	cached = header.held[0] * r->i->plan.shape.block_tokens;
	r->i->hit_tokens += cached < request->input ? cached : request->input - 1;
	r->i->all_tokens += request->input;
	r->load[at->worker[0]] += request->input;
	r->load[at->worker[1]] += request->output;
	r->turn[0]++;
	r->turn[1]++;
	r->given++;
	return fb_control_send(&r->i->channel, at->worker[0] + 1, &header, r->list);
}

/* --- what workers say ------------------------------------------------------------------------- */

static void note_token(struct fb_router *r, uint32_t index, double when)
{
	struct fb_served *s = &r->i->served[index];

	fb_account_token(&r->i->account, s, when);
	r->load[r->place[index].worker[1]] -= 1;
	if (s->tokens < r->i->trace.request[index].output)
		return;
	release(r, index, r->i->plan.mode == FB_SERVE_DISAGGREGATED);
	r->ended++;
}

/*
 * A worker has dropped a cancelled request. Only the one that computes its prompt knows that no
 * cache is on its way, and that its blocks are free.
 */
static void note_dropped(struct fb_router *r, uint32_t index, int from)
{
	if (from == r->place[index].worker[0] + 1)
		release(r, index, 0);
	release(r, index, 1);
	r->ended++;
}

static void note(struct fb_router *r, const struct fb_control *message, int from)
{
	double when = fb_router_now(r);
	uint32_t index = message->header.request;
	const struct fb_request *request = &r->i->trace.request[index];
	struct fb_served *s = &r->i->served[index];
	struct fb_place *at = &r->place[index];

	switch (message->header.kind) {
	case FB_CONTROL_PREFILLED:
		/* What the receiver of the cache says may overtake what the sender says. */
		s->prefilled = s->arrived > 0 ? fmin(s->arrived, when) : when;
		s->arrived = fmax(s->arrived, s->prefilled);
		s->compute = message->header.compute_s;
		r->load[at->worker[0]] -= request->input;
		fb_pool_ready(&r->i->pool[at->worker[0]], at->block[0], request->blocks);
		break;
	case FB_CONTROL_SENT:
		r->i->moved_bytes += message->header.moved;
		r->i->moved++;
		release(r, index, 0);
		break;
	case FB_CONTROL_ARRIVED:
		s->arrived = when;
		fb_pool_ready(&r->i->pool[at->worker[1]], at->block[1], request->blocks);
		break;
	case FB_CONTROL_DROPPED:
		note_dropped(r, index, from);
		break;
	case FB_CONTROL_TIMES:
		r->with_s += message->header.with_s;
		r->without_s += message->header.without_s;
		r->told++;
		break;
	case FB_CONTROL_TOKENS:
		for (uint32_t k = 0; k < message->header.words; k++)
			note_token(r, message->list[k], when);
		break;
	default:
		break;
	}
}

/* --- a replay --------------------------------------------------------------------------------- */

static int turn(struct fb_router *r, bool *moved)
{
	const struct fb_control *message;
	int from, err = fb_control_receive(&r->i->channel, &message, &from);
	bool given = true;

	*moved = message != NULL;
	if (message)
		note(r, message, from);
	while (r->due < r->wanted && fb_router_now(r) >= r->i->served[r->due].planned)
		r->due++;
	while (r->given < r->due && given && !err) {
		err = give_one(r, &given);
		*moved |= given;
	}
	return err;
}

int fb_router_turn(struct fb_router *r, struct fb_spin *spin, const char *doing)
{
	bool moved = false;
	int err = turn(r, &moved);

	if (err || moved || !fb_spin_again(spin))
		return err;
	return fb_alive(r->i->state->machine.session, doing);
}

int fb_router_send_all(struct fb_router *r, const struct fb_control_header *header)
{
	int err = FB_OK;

	for (int w = 0; w < r->i->plan.workers && !err; w++)
		err = fb_control_send(&r->i->channel, w + 1, header, NULL);
	return err;
}

/* Counts the requests that have met the objective or cannot any more. */
static void judge(struct fb_router *r, const struct fb_objective *objective, double when)
{
	bool all_before = true;

	for (uint32_t k = r->judged; k < r->due; k++) {
		struct fb_served *s = &r->i->served[k];
		enum fb_fate fate = s->judged ? FB_FATE_OPEN
					      : fb_served_fate(s, objective, when);

		s->judged |= fate != FB_FATE_OPEN;
		r->met += fate == FB_FATE_MET;
		r->missed += fate == FB_FATE_MISSED;
		all_before &= s->judged;
		r->judged += all_before;
	}
}

/*
 * Whatever else happens, enough requests meet the objective, or too few: no more arrive, and those
 * under way are cancelled.
 */
static int stop_if_decided(struct fb_router *r, const struct fb_objective *objective)
{
	static const struct fb_control_header cancel = {.kind = FB_CONTROL_CANCEL};
	double when = fb_router_now(r);

	if (r->decided || when < r->look)
		return FB_OK;
	r->look = when + look_s;
	judge(r, objective, when);
	if (fb_share_fate(r->met, r->missed, r->i->count, r->i->state->own->attainment) ==
	    FB_FATE_OPEN)
		return FB_OK;
	r->decided = true;
	r->wanted = r->due = r->given;
	return fb_router_send_all(r, &cancel);
}

/* Blocks of a disaggregated request's sender may still be in use when its last token has come. */
static bool all_free(const struct fb_router *r)
{
	for (uint32_t k = 0; k < r->i->count; k++)
		if (r->place[k].pinned[0] || r->place[k].pinned[1])
			return false;
	return true;
}

uint32_t fb_router_requests(const struct fb_router *r, double rate)
{
	const struct fb_serve_settings *own = r->i->state->own;
	uint32_t n = (uint32_t)own->requests;

	if (r->i->plan.operation != FB_SERVE_REPLAY)
		n = fb_knee_requests(rate, own->ttft_s, n);
	return n < r->i->trace.count ? n : r->i->trace.count;
}

int fb_router_replay(struct fb_router *r, double rate, bool whole, double *share)
{
	struct fb_serve_instance *i = r->i;
	const struct fb_serve_settings *own = i->state->own;
	const struct fb_objective objective = {own->ttft_s, own->itl_s};
	struct fb_spin spin = {.yields = i->state->machine.world->oversubscribed};
	const struct fb_control_header end = {.kind = FB_CONTROL_END, .output = 1};
	double begin;
	int err = FB_OK;

	/* Of a run's replays, at whatever rate and in both modes, intervals are the same ones. */
	i->count = fb_router_requests(r, rate);
	fb_trace_arrive(&i->trace, i->count, i->plan.arrivals, rate, own->cv,
			fb_serve_seed(i) + (uint64_t)i->runs + 1);
	i->data.seed++;
	r->due = r->given = r->ended = r->judged = r->met = r->missed = 0;
	r->wanted = i->count;
	r->decided = false;
	r->look = 0;
	for (int w = 0; w < i->plan.workers; w++) {
		fb_pool_reset(&i->pool[w]);
		r->load[w] = 0;
	}
	begin = fb_router_now(r); /* what comes before is no wait of the first request */
	for (uint32_t k = 0; k < i->count; k++)
		i->served[k] = (struct fb_served){.planned = begin + i->trace.request[k].at,
						  .output = i->trace.request[k].output};
	while (!err && (r->ended < r->wanted || !all_free(r))) {
		err = fb_router_turn(r, &spin, "waiting for tokens");
		if (!err && !whole)
			err = stop_if_decided(r, &objective);
	}
	if (!err)
		err = fb_router_send_all(r, &end);
	fb_serve_replayed(i);
	*share = fb_account_replay(&i->account, i->served, i->count, &objective);
	return err ? err : i->account.err;
}

int fb_serve_route(struct fb_serve_instance *i)
{
	struct fb_router r = {.i = i};
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
			r.place[k].block[end] = calloc(i->trace.request[k].blocks,
						   sizeof(uint32_t));
			there &= r.place[k].block[end] != NULL;
		}
	if (there)
		err = fb_router_run(&r);
	for (uint32_t k = 0; k < i->trace.count && r.place; k++)
		for (int end = 0; end < 2; end++)
			free(r.place[k].block[end]);
	free(r.place);
	free(r.load);
	free(r.list);
	return err;
}
