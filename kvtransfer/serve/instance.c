/* SPDX-License-Identifier: BSD-3-Clause */
/* One case of serve, from setup to teardown; see serve.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/watchdog.h"
#include "common/record/timeline.h"
#include "kvtransfer/serve/serve.h"

/* Collective; the router has no cache. */
static int open_memory(struct fb_serve_state *state, struct fb_kv_backend *e)
{
	const struct fb_group *w = state->machine.world;
	int *peers = calloc((size_t)w->nranks, sizeof(*peers)), n = 0, err;

	if (!e->seen)
		e->seen = calloc((size_t)w->nranks, sizeof(*e->seen));
	err = fb_group_agree(w, e->seen && peers ? FB_OK : FB_ENOMEM);
	for (int r = 1; r < w->nranks && w->rank && peers; r++)
		peers[n++] = r;
	if (!err)
		err = fb_kv_backend_memory(&state->machine, e, false, peers, n);
	free(peers);
	return err;
}

static void close_instance(struct fb_serve_instance *i)
{
	for (int w = 0; w < i->plan.workers && i->pool; w++)
		fb_pool_close(&i->pool[w]);
	free(i->pool);
	free(i->served);
	free(i->knee.value);
	free(i->ratio.value);
	free(i->interference.value);
	fb_account_close(&i->account);
	fb_trace_close(&i->trace);
	fb_kv_compute_close(i->compute);
	free(i);
}

/* Local: what the router, or a worker, needs. */
static int open_role(struct fb_serve_instance *i)
{
	struct fb_serve_state *state = i->state;
	int err;

	if (state->machine.world->rank)
		return fb_kv_compute_open(&i->compute, i->plan.model,
					  i->engine->device ? &state->machine.gpu : NULL,
					  i->plan.longest_input + i->plan.longest_output);
	err = fb_serve_trace(state->own, i->plan.operation != FB_SERVE_REPLAY,
			     state->machine.settings->seed, &i->trace);
	if (err)
		return err;
	i->served = calloc(i->trace.count, sizeof(*i->served));
	i->pool = calloc((size_t)i->plan.workers, sizeof(*i->pool));
	if (!i->served || !i->pool)
		return fb_error(FB_ENOMEM, "out of memory for %u requests", i->trace.count);
	for (int w = 0; w < i->plan.workers && !err; w++)
		err = fb_pool_open(&i->pool[w], i->plan.pool_blocks);
	return err;
}

int fb_serve_set_up(void *arg, const struct fb_case *c, void **result)
{
	struct fb_serve_state *state = arg;
	struct fb_serve_instance *i = calloc(1, sizeof(*i));
	int err = fb_group_agree(state->machine.world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->state = state;
	i->key = c;
	i->automatic = !strcmp(c->engine, "auto");
	i->engine = fb_serve_engine_of(state, c);
	i->plan = fb_serve_plan_of(state, c);
	i->data = (struct fb_data){.seed = state->machine.settings->seed, .type = c->datatype,
				   .op = FB_SUM, .nranks = state->machine.world->nranks};
	err = open_memory(state, i->engine);
	if (!err)
		err = fb_group_agree(state->machine.world, open_role(i));
	if (!err)
		err = fb_control_open(&i->channel, state->machine.world);
	if (err) {
		close_instance(i);
		return err;
	}
	*result = i;
	return FB_OK;
}

void fb_serve_tear_down(void *instance)
{
	struct fb_serve_instance *i = instance;

	MPI_Barrier(i->state->machine.world->comm);
	fb_control_close(&i->channel);
	close_instance(i);
}

/* What runs so far have shown does not count. */
static void forget(struct fb_serve_instance *i)
{
	fb_account_close(&i->account);
	i->knee.n = i->ratio.n = i->interference.n = 0;
	i->hit_tokens = i->all_tokens = i->moved_bytes = i->moved = 0;
	i->kneeless = false;
	i->excess = 0;
}

int fb_serve_run(void *instance, int calls)
{
	struct fb_serve_instance *i = instance;
	int err = FB_OK;

	for (int k = 0; k < calls && !err; k++) {
		err = i->state->machine.world->rank ? fb_serve_work(i) : fb_serve_route(i);
		i->runs++;
	}
	return err;
}

bool fb_serve_begin_samples(void *instance)
{
	struct fb_serve_instance *i = instance;

	/* Runs of the warm-up, however many, neither count nor change what arrives when. */
	forget(i);
	i->sampling = true;
	i->runs = 0;
	i->until = fb_clock_now(i->state->machine.session->clock) +
		   i->state->machine.settings->max_time_s;
	return i->plan.operation != FB_SERVE_REPLAY;
}

size_t fb_serve_whole(void *instance, size_t runs)
{
	struct fb_serve_instance *i = instance;
	int cut = i->cut;

	MPI_Bcast(&cut, 1, MPI_INT, 0, i->state->machine.world->comm);
	return runs > (size_t)cut ? runs - (size_t)cut : 0;
}

void fb_serve_replayed(struct fb_serve_instance *i)
{
	struct fb_watchdog *watchdog = i->state->machine.session->watchdog;

	if (watchdog)
		fb_watchdog_step(watchdog, i->sampling ? FB_PHASE_REPEAT : FB_PHASE_WARM_UP);
}

/* Requests were compared as they ended. */
int fb_serve_check(void *instance, int calls, struct fb_mismatch *bad)
{
	struct fb_serve_instance *i = instance;

	(void)calls;
	*bad = i->bad;
	i->bad = (struct fb_mismatch){.errors = 0};
	return FB_OK;
}

/* Of the requests that a replay has at least, so not of how many a search took last. */
static void put_lengths(const struct fb_serve_instance *i, double *value)
{
	const struct fb_request *request = i->trace.request;
	uint32_t fewest = (uint32_t)i->state->own->requests;
	uint32_t n = fewest < i->trace.count ? fewest : i->trace.count;
	struct fb_series s = {.n = n};

	s.value = calloc(n + (size_t)1, sizeof(*s.value));
	for (uint32_t k = 0; k < n && s.value; k++)
		s.value[k] = request[k].input;
	value[FB_SERVE_INPUT_P50] = s.value ? fb_series_quantile(&s, 0.5) : (double)NAN;
	for (uint32_t k = 0; k < n && s.value; k++)
		s.value[k] = request[k].output;
	value[FB_SERVE_OUTPUT_P50] = s.value ? fb_series_quantile(&s, 0.5) : (double)NAN;
	free(s.value);
}

/* What requests of a replay felt; where rates were searched for, they felt many. */
static void put_requests(struct fb_serve_instance *i, double *value)
{
	struct fb_account *a = &i->account;

	value[FB_SERVE_RATE] = i->plan.rate;
	value[FB_SERVE_TTFT_P50] = fb_series_quantile(&a->ttft, 0.5);
	value[FB_SERVE_TTFT_P95] = fb_series_quantile(&a->ttft, 0.95);
	value[FB_SERVE_TTFT_P99] = fb_series_quantile(&a->ttft, 0.99);
	value[FB_SERVE_TPOT_P50] = fb_series_quantile(&a->tpot, 0.5);
	value[FB_SERVE_ITL_P50] = fb_series_quantile(&a->itl, 0.5);
	value[FB_SERVE_ITL_P95] = fb_series_quantile(&a->itl, 0.95);
	value[FB_SERVE_ITL_P99] = fb_series_quantile(&a->itl, 0.99);
	value[FB_SERVE_QUEUE_P50] = fb_series_quantile(&a->queue, 0.5);
	value[FB_SERVE_QUEUE_P95] = fb_series_quantile(&a->queue, 0.95);
	value[FB_SERVE_KV_P50] = fb_series_quantile(&a->kv, 0.5);
	value[FB_SERVE_KV_SHARE] = a->kv_sum / a->ttft_sum;
	value[FB_SERVE_ATTAINMENT] = (double)a->met / (double)a->requests;
	value[FB_SERVE_GOODPUT] = (double)a->met / a->span;
	value[FB_SERVE_TOKENS_PER_S] = a->tokens / a->span;
}

/* Of the pairs of a prefill worker and a decode worker: how many are on one host, or one GPU. */
static void put_placement(const struct fb_serve_instance *i, double *value)
{
	const struct fb_group *w = i->state->machine.world;
	double host = 0, gpu = 0, pairs = 0;

	if (!strcmp(i->key->algorithm, "colocated"))
		return;
	for (int p = 1; p <= i->plan.prefill; p++)
		for (int d = i->plan.prefill + 1; d < w->nranks; d++) {
			bool together = w->node_of[p] == w->node_of[d];

			pairs++;
			host += together;
			gpu += together && i->engine->device &&
			       !strcmp(i->state->machine.gpu.peers[p],
				       i->state->machine.gpu.peers[d]);
		}
	value[FB_SERVE_SAME_HOST] = host / pairs;
	if (i->engine->device)
		value[FB_SERVE_SAME_GPU] = gpu / pairs;
}

/* What computes, and what carries caches, is a worker's to say; the row is the router's. */
static void put_path(const struct fb_serve_instance *i, struct fb_traits *traits)
{
	char text[128] = "";
	size_t used;

	traits->channels = i->carried.channels;
	memcpy(traits->path, i->carried.path, sizeof(traits->path));
	memcpy(traits->flags, i->carried.flags, sizeof(traits->flags));
	fb_kv_backend_path(&i->state->machine, i->engine, i->automatic, traits);
	if (i->state->machine.world->oversubscribed)
		fb_traits_flag(traits, "crowded");
	if (i->compute)
		fb_kv_compute_describe(i->compute, text, sizeof(text));
	MPI_Bcast(text, sizeof(text), MPI_CHAR, 1, i->state->machine.world->comm);
	used = strlen(traits->path);
	snprintf(traits->path + used, sizeof(traits->path) - used, "; %s", text);
}

/* What cannot be written is said, and is no reason to lose the row. */
static void trace(const struct fb_serve_instance *i)
{
	char row[FB_TIMELINE_ROW_CHARS];

	if (!i->state->own->trace_out || i->plan.operation != FB_SERVE_REPLAY)
		return;
	fb_timeline_row("serve", i->key, row);
	(void)fb_account_trace(i->served, i->count, i->state->own->trace_out, row);
}

/*
 * Who has the greater knee. Without an interval of the quotient it is undecided: both comparisons
 * are false. Short replays may make one knee alone too high.
 */
static const char *winner(const struct fb_serve_instance *i, const double *value)
{
	double excess = fmax(i->excess, 1);

	if (value[FB_SERVE_RATIO_LOW] > excess)
		return "disaggregated-wins";
	return value[FB_SERVE_RATIO_HIGH] < 1 / excess ? "colocated-wins" : "undecided";
}

void fb_serve_describe(void *instance, struct fb_traits *traits)
{
	struct fb_serve_instance *i = instance;
	size_t whole = (size_t)i->whole;

	put_path(i, traits);
	traits->bound_us = (double)NAN;
	if (i->state->machine.world->rank)
		return;
	trace(i);
	traits->extra[FB_SERVE_REQUESTS] = (double)i->account.requests;
	traits->extra[FB_SERVE_HIT_SHARE] = i->hit_tokens / i->all_tokens;
	traits->extra[FB_SERVE_KV_BYTES] = i->moved_bytes / i->moved;
	put_lengths(i, traits->extra);
	if (i->plan.operation == FB_SERVE_REPLAY)
		put_requests(i, traits->extra);
	else
		fb_series_interval(&i->knee, whole, &traits->extra[FB_SERVE_KNEE_RPS]);
	fb_series_interval(&i->ratio, whole, &traits->extra[FB_SERVE_RATIO]);
	fb_series_interval(&i->interference, 0, &traits->extra[FB_SERVE_INTERFERENCE]);
	put_placement(i, traits->extra);
	if (i->kneeless)
		fb_traits_flag(traits, "no-knee");
	if (i->cut)
		fb_traits_flag(traits, "cut");
	if (i->excess > 1)
		fb_traits_flag(traits, "short-replays");
	if (i->plan.operation == FB_SERVE_VERDICT)
		fb_traits_flag(traits, winner(i, traits->extra));
}
