/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make a list of costs a program of the harness; see cost.h. */
#include "p2p/cost/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/memory/mpi_window.h"
#include "common/option/option.h"
#include "common/run/path.h"
#include "common/run/run.h" /* fb_run.program, for the list */

struct instance {
	const struct fb_cost *cost;
	struct fb_cost_context context;
	char where[FB_PLACED_CHARS]; /* threads and memory are; empty: nothing was asked for */
};

/* What the options write into. */
struct cost_options {
	const struct fb_cost_program *program;
	const char *numa;
};

static void close_program(void *arg)
{
	struct fb_cost_state *state = arg;

	fb_cost_gpu_close(&state->gpu);
	fb_stores_close(&state->stores);
	free(state);
}

static int open_program(struct fb_run *run, void **result)
{
	const struct cost_options *options = run->program->option_values;
	struct fb_cost_state *state = calloc(1, sizeof(*state));
	int err = fb_group_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM);

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->program = options->program;
	state->context = (struct fb_cost_context){
		.session = fb_run_session(run), .world = fb_run_world(run),
		.settings = fb_run_settings(run)};
	state->context.no_rdma = state->no_rdma;
	state->context.no_window = state->no_window;
	state->context.places = &state->stores.places;
	state->context.gpu = &state->gpu;
	state->stores.no_gpu = state->gpu.none;
	err = fb_cost_survey(state->context.world, state->context.settings, state->no_rdma,
			     sizeof(state->no_rdma), &state->rails);
	if (!err)
		err = fb_stores_open(&state->stores, state->context.world, options->numa);
	if (!err && state->program->costs == fb_memory_costs)
		err = fb_cost_gpu_open(&state->gpu, fb_run_session(run), !state->no_rdma[0]);
	state->stores.gpu = state->gpu.has ? &state->gpu.gpu : NULL;
	if (!err && state->program->costs == fb_memory_costs &&
	    fb_option_names(state->context.settings->engine, "mpi"))
		(void)fb_mpi_has_windows(state->context.world, state->context.world->comm,
					 state->no_window, FB_REASON_CHARS);
	if (err) {
		close_program(state);
		return err;
	}
	*result = state;
	return FB_OK;
}

static const struct fb_cost *find_cost(const struct fb_cost_state *state, const struct fb_case *c)
{
	const struct fb_cost *cost = state->program->costs;

	while (strcmp(cost->engine, c->engine) || strcmp(cost->operation, c->operation))
		cost++;
	return cost;
}

/* Whether --numa can have it there: a thread, and memory where the cost has some. */
static bool has_place(const struct fb_place *place, const struct fb_cost *cost,
		      char reason[FB_REASON_CHARS])
{
	const char *colon = strchr(place->name, ':');

	if (cost->foreign && place->memory >= 0)
		snprintf(reason, FB_REASON_CHARS, "--numa does not place what MPI allocates");
	else if (!cost->sized &&
		 (place->name[0] == 'r' || (colon && place->thread != place->memory)))
		snprintf(reason, FB_REASON_CHARS, "there is no memory to place, only threads");
	else
		return true;
	return false;
}

static void set_memory(struct fb_cost_context *context, const struct fb_case *c)
{
	int kind = fb_cost_gpu_memory_of(c->memory);

	context->bytes = c->bytes;
	context->pages = fb_memory_kinds[fb_memory_kind_of(c->memory)].pages;
	context->on_gpu = kind >= 0;
	context->gpu_memory = kind >= 0 ? (enum fb_gpu_memory)kind : FB_GPU_DEVICE;
}

static bool can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	const struct fb_cost_state *state = arg;
	const struct fb_cost *cost = find_cost(state, c);
	struct fb_cost_context context = state->context;
	struct fb_stores stores = state->stores;

	set_memory(&context, c);
	/* Only for shared memory a setting of the system may refuse transparent huge pages. */
	stores.huge_pages |= strcmp(cost->transport, "shm") != 0;
	if (cost->sized && !c->bytes) {
		snprintf(reason, FB_REASON_CHARS, "memory of 0 bytes cannot be measured");
		return false;
	}
	/* A GPU's driver, and libraries, need some as well. */
	return fb_stores_can(&stores, c, context.on_gpu ? 2 * c->bytes : c->bytes, NULL, reason) &&
	       has_place(fb_places_of(&stores.places, c), cost, reason) &&
	       (!cost->can || cost->can(&context, reason));
}

/* Collective: where threads are, and the memory, which some actions have in their midst only. */
static int look(struct instance *i)
{
	struct fb_cost_context *context = &i->context;
	int err = FB_OK;

	if (context->place->thread < 0)
		return FB_OK;
	context->looks = true;
	if (context->memory)
		fb_cost_look(context, context->memory);
	else if (i->cost->sized)
		err = fb_group_agree(context->world, i->cost->act(context));
	context->looks = false;
	if (!err)
		fb_placed_where(context->places, context->place, i->cost->sized, context->nodes,
				i->where);
	return err;
}

static int set_up(void *arg, const struct fb_case *c, void **result)
{
	const struct fb_cost_state *state = arg;
	struct instance *i = calloc(1, sizeof(*i));
	int err = fb_group_agree(state->context.world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->cost = find_cost(state, c);
	i->context = state->context;
	set_memory(&i->context, c);
	i->context.place = fb_places_of(&state->stores.places, c);
	err = fb_place_enter(&state->stores.places, i->context.place);
	err = fb_group_agree(state->context.world, err);
	if (!err && i->cost->begin)
		err = i->cost->begin(&i->context);
	if (!err) {
		err = look(i);
		if (err && i->cost->end)
			i->cost->end(&i->context);
	}
	if (err) {
		(void)fb_place_leave(&state->stores.places, i->context.place);
		free(i);
		return err;
	}
	*result = i;
	return FB_OK;
}

static void tear_down(void *instance)
{
	struct instance *i = instance;

	if (i->cost->end)
		i->cost->end(&i->context);
	(void)fb_place_leave(i->context.places, i->context.place);
	free(i);
}

static int run(void *instance, int calls)
{
	struct instance *i = instance;
	int err = FB_OK;

	for (int call = 0; call < calls && !err; call++)
		err = i->cost->act(&i->context);
	return err;
}

static void describe(void *instance, struct fb_traits *traits)
{
	const struct instance *i = instance;
	char pages[FB_PAGES_CHARS] = "", known[FB_PLACED_CHARS + FB_PAGES_CHARS + 4] = "";

	traits->algorithm_bytes = (double)i->context.bytes;
	traits->bus_factor = 1;
	traits->bound_us = nan("");
	if (i->context.memory && !i->context.on_gpu && i->context.pages != FB_PAGES_NORMAL)
		fb_pages_text("/proc/self/smaps", i->context.memory, pages);
	snprintf(known, sizeof(known), "%s%s%s", i->where, *i->where && *pages ? ", " : "", pages);
	fb_path_text(*i->context.path ? i->context.path : i->cost->transport, known, traits->path);
	if (i->cost->fill)
		i->cost->fill(&i->context, traits->extra);
}

int fb_cost_main(const struct fb_cost_program *program, int argc, char **argv)
{
	static const struct fb_option options[] = {
		FB_OPTION_GROUP("Place"),
		FB_PLACES_OPTION(struct cost_options, numa),
		FB_OPTION_END,
	};
	struct cost_options values = {.program = program};
	const struct fb_program harness = {
		.name = program->name,
		.summary = program->summary,
		.description = program->description,
		.options = options,
		.option_values = &values,
		.defaults = program->defaults,
		.columns = program->columns,
		.ncolumns = program->ncolumns,
		.open = open_program,
		.close = close_program,
		.expand = fb_cost_expand,
		.can = can,
		.setup = set_up,
		.run = run,
		.describe = describe,
		.teardown = tear_down,
	};

	return fb_program_main(&harness, argc, argv);
}
