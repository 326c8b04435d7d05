/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make a list of costs a program of the harness; see cost.h. */
#include "p2p/cost/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/axes.h"
#include "common/error.h"
#include "common/memory.h"
#include "common/run.h" /* fb_run.program, for the list */
#include "common/sizes.h"

struct state {
	const struct fb_cost_program *program;
	struct fb_cost_context context; /* without bytes and own */
	uint64_t memory_limit;
	char no_rdma[FB_REASON_CHARS];
	const struct fb_cost *adding; /* whose cases expand() adds */
};

struct instance {
	const struct fb_cost *cost;
	struct fb_cost_context context;
};

static int open_program(struct fb_run *run, void **result)
{
	struct state *state = calloc(1, sizeof(*state));
	int err = fb_world_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM);
	bool ignored;

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->program = *(const struct fb_cost_program **)run->program->option_values;
	state->context = (struct fb_cost_context){
		.run = run, .world = fb_run_world(run), .settings = fb_run_settings(run)};
	state->context.no_rdma = state->no_rdma;
	fb_memory_survey(state->context.world, &state->memory_limit, &ignored);
	err = fb_cost_survey(state->context.world, state->context.settings, state->no_rdma,
			     sizeof(state->no_rdma));
	if (err) {
		free(state);
		return err;
	}
	*result = state;
	return FB_OK;
}

static const struct fb_cost *find_cost(const struct state *state, const struct fb_case *c)
{
	const struct fb_cost *cost = state->program->costs;

	while (strcmp(cost->engine, c->engine) || strcmp(cost->operation, c->operation))
		cost++;
	return cost;
}

static bool can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	const struct state *state = arg;
	const struct fb_cost *cost = find_cost(state, c);
	struct fb_cost_context context = state->context;
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	context.bytes = c->bytes;
	if (cost->sized && !c->bytes) {
		snprintf(reason, FB_REASON_CHARS, "no memory without bytes");
		return false;
	}
	if (c->bytes > state->memory_limit) {
		snprintf(reason, FB_REASON_CHARS, "%s a rank is more than the memory, %s",
			 fb_size_text(c->bytes, asked), fb_size_text(state->memory_limit, limit));
		return false;
	}
	return !cost->can || cost->can(&context, reason);
}

/* fb_axes_adjust_fn: a cost belongs to one engine and one transport. */
static bool adjust(void *arg, struct fb_case *c)
{
	const struct state *state = arg;

	if (strcmp(c->engine, state->adding->engine))
		return false;
	c->transport = state->adding->transport;
	c->datatype = FB_U8;
	if (!state->adding->sized)
		c->bytes = 0;
	return true;
}

/* The engines of the list, each once, ending in NULL. */
static void list_engines(const struct fb_cost *cost, const char **engines, size_t n)
{
	size_t count = 0;

	for (; cost->operation; cost++) {
		bool known = false;

		for (size_t i = 0; i < count; i++)
			known |= !strcmp(engines[i], cost->engine);
		if (!known && count + 1 < n)
			engines[count++] = cost->engine;
	}
	engines[count] = NULL;
}

/* The cases of the cost that is being added. */
static int expand_cost(struct fb_run *run, struct state *state,
		       const struct fb_axes_choices *choices)
{
	struct fb_case base = {.operation = state->adding->operation, .registration = "none"};

	return fb_axes_expand(run, &base, choices, adjust, state);
}

static int expand(struct fb_run *run, void *arg)
{
	struct state *state = arg;
	const char *engines[16];
	const struct fb_axes_choices choices = {.engines = engines};
	bool any = false;
	int err = FB_OK;

	list_engines(state->program->costs, engines, sizeof(engines) / sizeof(engines[0]));
	for (state->adding = state->program->costs; state->adding->operation && !err;
	     state->adding++) {
		/* A cost of an engine that is not asked for has no case, which is no mistake. */
		if (!fb_option_names(state->context.settings->engine, state->adding->engine))
			continue;
		err = expand_cost(run, state, &choices);
		any = true;
	}
	state->adding = state->program->costs;
	/* No engine that there is: what is wrong with them, the axes say. */
	return any ? err : expand_cost(run, state, &choices);
}

static int set_up(void *arg, const struct fb_case *c, void **result)
{
	const struct state *state = arg;
	struct instance *i = calloc(1, sizeof(*i));
	int err = fb_world_agree(state->context.world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->cost = find_cost(state, c);
	i->context = state->context;
	i->context.bytes = c->bytes;
	if (i->cost->begin)
		err = i->cost->begin(&i->context);
	if (err) {
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

	traits->algorithm_bytes = (double)i->context.bytes;
	traits->bus_factor = 1;
	traits->bound_us = nan("");
	snprintf(traits->path, sizeof(traits->path), "%s", i->cost->transport);
}

int fb_cost_main(const struct fb_cost_program *program, int argc, char **argv)
{
	static const struct fb_option no_options[] = {FB_OPTION_END};
	const struct fb_program harness = {
		.name = program->name,
		.summary = program->summary,
		.description = program->description,
		.options = no_options,
		.option_values = &program,
		.defaults = program->defaults,
		.open = open_program,
		.close = free,
		.expand = expand,
		.can = can,
		.setup = set_up,
		.run = run,
		.describe = describe,
		.teardown = tear_down,
	};

	return fb_program_main(&harness, argc, argv);
}
