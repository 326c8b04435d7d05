/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make a collective a program of the harness; see program.h. */
#include "collectives/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/barrier_check.h"
#include "collectives/buffers.h"
#include "collectives/fresh.h"
#include "collectives/state.h"
#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/measure/clock.h"
#include "common/run/axes.h"
#include "common/run/path.h"
#include "common/run/run.h" /* fb_run.program, which says which collective this is */

static void close_engines(struct fb_collective_state *state)
{
	for (size_t i = 0; state->engines && fb_engines[i]; i++)
		if (state->engines[i])
			fb_engine_close(state->engines[i]);
	free(state->engines);
}

void fb_collective_close(struct fb_collective_state *state)
{
	close_engines(state);
	fb_selector_close(&state->selector);
	fb_cold_close(state);
	fb_segment_close(&state->members);
	fb_stores_close(&state->stores);
	fb_gpu_view_close(&state->gpu);
	fb_traffic_close(&state->traffic);
	fb_bound_close(&state->bound);
	free(state);
}

/* If this machine has no such engine, that is no error: its rows are skipped with the reason. */
static int open_engines(struct fb_collective_state *state)
{
	size_t n = 0;
	int err;

	while (fb_engines[n])
		n++;
	state->engines = calloc(n + 1, sizeof(*state->engines));
	err = fb_group_agree(state->world, state->engines ? FB_OK : FB_ENOMEM);
	for (size_t i = 0; i < n && !err; i++) {
		if (!fb_option_names(state->engine_list, fb_engines[i]->name))
			continue;
		err = fb_engine_open(&state->engines[i], fb_engines[i], state->session,
				     state->world);
		err = fb_group_agree(state->world, err == FB_EUNSUPPORTED ? FB_OK : err);
	}
	return err;
}

/* Opens the GPU if --memory or an engine needs it. Without one, such rows are skipped. */
static int open_gpu(struct fb_collective_state *state)
{
	bool wanted = strcmp(state->settings->memory, "host") != 0;
	int err;

	for (size_t i = 0; fb_engines[i]; i++)
		wanted |= fb_engines[i]->device &&
			  fb_option_names(state->engine_list, fb_engines[i]->name);
	if (!wanted)
		return FB_OK;
	err = fb_gpu_view_open(&state->gpu, state->session, state->world, state->no_gpu);
	state->has_gpu = !err;
	state->stores.gpu = err ? NULL : &state->gpu;
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

int fb_collective_open(const struct fb_session *session, enum fb_collective collective,
		       const struct fb_collective_settings *own, struct fb_collective_state **made)
{
	const struct fb_settings *settings = session->settings;
	struct fb_collective_state *state = calloc(1, sizeof(*state));
	bool measures = !settings->list && !settings->dry_run && !settings->check_plan;
	int err = fb_group_agree(session->world, state ? FB_OK : FB_ENOMEM);

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->session = session;
	state->world = session->world;
	state->settings = settings;
	state->engine_list = fb_engine_list(settings, session->world, false);
	state->collective = collective;
	state->info = fb_collective_info(collective);
	state->operation = state->info->name;
	state->variant = state->traffic.variant;
	state->producer = own ? (enum fb_producer)own->producer : FB_PRODUCER_NONE;
	state->ctas = own ? &own->ctas : NULL;
	state->stores.no_gpu = state->no_gpu;
	err = fb_stores_open(&state->stores, state->world, own ? own->numa : "any");
	if (!err && state->info->unequal && own)
		err = fb_traffic_open(&state->traffic, &own->traffic, collective, state->world);
	if (!err && measures && own)
		err = fb_bound_open(&state->bound, state->world);
	if (!err)
		err = open_gpu(state);
	if (!err)
		state->engine_list = fb_engine_list(settings, session->world, state->has_gpu);
	if (!err)
		err = fb_selector_open(&state->selector, session, state->world,
				       state->has_gpu ? &state->gpu : NULL);
	if (!err)
		err = open_engines(state);
	if (err) {
		fb_collective_close(state);
		return err;
	}
	*made = state;
	return FB_OK;
}

static int open_program(struct fb_run *run, void **result)
{
	enum fb_collective collective =
		(enum fb_collective)fb_collective_parse(run->program->name);
	struct fb_collective_state *state = NULL;
	int err = fb_collective_open(&run->session, collective, run->program->option_values,
				     &state);

	*result = state;
	return err;
}

static void close_program(void *state)
{
	fb_collective_close(state);
}

/* The NUMA nodes of this rank's buffers (fb_numa_pages); 0 if --numa asks for none. */
static uint64_t pages_of(const struct fb_collective_instance *i)
{
	if (i->place->memory < 0)
		return 0;
	return fb_numa_pages(fb_segment_part(i->op.segment, i->state->world->rank), i->part_bytes);
}

/* Whether memory, links and threads are as in the measurement of the bounds. */
static bool has_bound(const struct fb_collective_instance *i)
{
	return i->state->bound.known && !i->ops->device && !fb_memory_on_gpu(i->key) &&
	       i->place->thread < 0 &&
	       (!strcmp(i->key->transport, "shm") || !strcmp(i->key->transport, "library"));
}

static int set_up(void *state, const struct fb_case *c, void **result)
{
	struct fb_collective_state *s = state;
	struct fb_collective_instance *i = calloc(1, sizeof(*i));
	int err = i ? fb_instance_fill(i, s, c) : FB_ENOMEM;
	char reason[FB_REASON_CHARS];

	err = fb_group_agree(s->world, err);
	if (err || !i)
		goto free_instance;
	i->part_bytes = fb_buffers_layout(&i->op, i->nranks);
	/* This cannot fail, because fb_collective_can has made the same selection before. */
	(void)fb_instance_choose(i, reason);
	err = fb_group_agree(s->world, fb_place_enter(&s->stores.places, i->place));
	i->kept_us = -1e6 * fb_clock_now(s->session->clock);
	if (!err)
		err = fb_instance_segment(i);
	i->kept_us += 1e6 * fb_clock_now(s->session->clock);
	if (!err)
		err = fb_cold_open(i);
	if (err)
		goto free_instance;
	err = fb_engine_prepare(s->engines[fb_engine_index(c->engine)], &i->selection.c, &i->op,
				&i->request);
	if (err)
		goto free_instance;
	if (s->producer != FB_PRODUCER_NONE)
		err = fb_fresh_open(i);
	if (err) {
		fb_fresh_close(i);
		fb_request_release(i->request);
		goto free_instance;
	}
	fb_placed_where(&s->stores.places, i->place, true, pages_of(i), i->where);
	*result = i;
	return FB_OK;
free_instance:
	if (i && i->place)
		(void)fb_place_leave(&s->stores.places, i->place);
	if (i)
		fb_instance_free(i);
	free(i);
	return err;
}

static void tear_down(void *instance)
{
	struct fb_collective_instance *i = instance;

	fb_fresh_close(i);
	fb_request_release(i->request);
	(void)fb_place_leave(&i->state->stores.places, i->place);
	fb_instance_free(i);
	free(i);
}

static int prime(void *instance)
{
	struct fb_collective_instance *i = instance;
	int err = i->fresh ? fb_fresh_prime(i) : FB_OK;

	/* Measured once per case, but not in setup, because the time of setup is a column. */
	if (!i->bounded && has_bound(i)) {
		struct fb_bound_work work = fb_bound_work(&i->op, i->state->world->nranks);

		fb_bound_again(&i->state->bound, &work);
	}
	i->bounded = true;
	if (err)
		return err;
	if (!i->fresh) /* producers in a graph keep the seed that they were captured with */
		fb_data_renew(&i->data);
	return fb_ranks_prime(i);
}

/* Started, then asked until it is done, as a program would that has other work in between. */
static int run_nonblocking(struct fb_collective_instance *i)
{
	struct fb_spin spin = {.yields = i->state->world->oversubscribed};
	int err = i->ops->start(i->request);
	bool done = false;

	while (!err) {
		err = i->ops->test(i->request, &done);
		if (done || err)
			break;
		if (fb_spin_again(&spin))
			err = fb_alive(i->state->session, "testing for completion");
	}
	return err;
}

static int ready(void *instance, int calls)
{
	struct fb_collective_instance *i = instance;

	if (i->fresh)
		return fb_fresh_ready(i, calls);
	return i->ops->ready ? i->ops->ready(i->request, calls) : FB_OK;
}

static int run(void *instance, int calls)
{
	struct fb_collective_instance *i = instance;
	int err = FB_OK;

	if (i->fresh)
		return fb_fresh_run(i, calls);
	if (i->ops->run)
		return i->ops->run(i->request, calls);
	for (int call = 0; call < calls && !err; call++) {
		if (i->tests) {
			err = run_nonblocking(i);
			continue;
		}
		err = i->ops->start(i->request);
		if (!err)
			err = i->ops->wait(i->request);
	}
	return err;
}

static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	struct fb_collective_instance *i = instance;
	int err;

	if (i->fresh)
		return fb_fresh_check(i, bad);
	err = fb_ranks_check(i, calls, bad);
	if (!err && i->op.collective == FB_BARRIER)
		err = fb_barrier_check(i, bad);
	return err;
}

static double bound_us(const struct fb_collective_instance *i)
{
	const struct fb_collective_state *s = i->state;
	struct fb_bound_work work = fb_bound_work(&i->op, s->world->nranks);

	return has_bound(i) ? fb_bound_us(&s->bound, &i->op, &work, i->key->cadence == FB_ISOLATED)
			    : (double)NAN;
}

static void describe(void *instance, struct fb_traits *traits)
{
	struct fb_collective_instance *i = instance;
	char carrier[FB_PATH_CHARS];

	i->ops->describe(i->request, traits);
	if (i->fresh)
		fb_fresh_describe(i, traits);
	fb_selection_path(&i->selection, traits->path);
	snprintf(carrier, sizeof(carrier), "%s", traits->path);
	fb_path_text(carrier, i->where, traits->path);
	traits->kept_us += i->kept_us;
	traits->algorithm_bytes = (double)i->bytes;
	traits->bus_factor = fb_collective_bus_factor(i->op.collective, i->nranks);
	traits->bound_us = bound_us(i);
	if (i->bytes != i->key->bytes)
		fb_traits_flag(traits, "rounded");
}

static int check_plan(void *state, const struct fb_case *c, FILE *report)
{
	struct fb_collective_state *s = state;
	struct fb_collective_instance i = {0};
	char reason[FB_REASON_CHARS];
	int err = fb_instance_fill(&i, s, c);

	if (!err && i.ops->check_plan && fb_instance_choose(&i, reason))
		err = i.ops->check_plan(s->engines[fb_engine_index(c->engine)],
					&i.selection.c, &i.op, report);
	fb_instance_free(&i);
	return err;
}

static const struct fb_default defaults[] = {{"engine", FB_USUAL_ENGINES}, {NULL, NULL}};

struct fb_program fb_collective_describe(const struct fb_collective_program *program,
					 struct fb_collective_settings *own)
{
	return (struct fb_program){
		.name = fb_collective_info(program->collective)->name,
		.summary = program->summary,
		.description = program->description,
		.options = program->options ? program->options : fb_collective_options,
		.option_values = own,
		.defaults = program->defaults ? program->defaults : defaults,
		.presets = fb_collective_presets,
		.open = open_program,
		.close = close_program,
		.expand = fb_collective_expand,
		.can = fb_collective_can,
		.setup = set_up,
		.columns = fb_collective_columns,
		.ncolumns = FB_COLLECTIVE_COLUMNS,
		.prime = prime,
		.clear = fb_cold_clear,
		.ready = ready,
		.run = run, .check = check,
		.describe = describe, .summarise = fb_collective_summarise,
		.teardown = tear_down,
		.check_plan = check_plan,
	};
}

int fb_collective_main(const struct fb_collective_program *program, int argc, char **argv)
{
	struct fb_collective_settings own = {0};
	const struct fb_program description = fb_collective_describe(program, &own);

	return fb_program_main(&description, argc, argv);
}
