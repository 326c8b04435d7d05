/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make a description a program of the harness; see program.h. */
#include "p2p/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/memory.h"
#include "common/run.h" /* fb_run.program, for its own options' values */

/* One case, from setup to teardown. */
struct instance {
	struct fb_p2p_state *state;
	const struct fb_p2p_engine_ops *ops;
	struct fb_p2p_request *request;
	struct fb_job job;
	struct fb_data data;
	char path[FB_PATH_CHARS]; /* of the first flow, on all ranks */
};

static void close_program(void *arg)
{
	struct fb_p2p_state *state = arg;

	for (size_t i = 0; state->engines && fb_p2p_engines[i]; i++)
		if (state->engines[i])
			fb_p2p_engines[i]->close(state->engines[i]);
	free(state->engines);
	for (int i = 0; i < FB_P2P_MEMORIES; i++)
		fb_segment_close(&state->segment[i]);
	fb_pairs_free(&state->pairs);
	free(state);
}

/* An engine that does not exist on this machine is no error: its rows say so. */
static int open_engines(struct fb_p2p_state *state)
{
	size_t n = 0;
	int err;

	while (fb_p2p_engines[n])
		n++;
	state->engines = calloc(n + 1, sizeof(*state->engines));
	err = fb_world_agree(state->world, state->engines ? FB_OK : FB_ENOMEM);
	for (size_t i = 0; i < n && !err; i++) {
		err = fb_p2p_engines[i]->open(&state->engines[i], state->run);
		err = fb_world_agree(state->world, err == FB_EUNSUPPORTED ? FB_OK : err);
	}
	return err;
}

/* Which program this is: its description comes before its options' values. */
struct described {
	const struct fb_p2p_program *program;
	struct fb_p2p_settings settings;
};

static int open_program(struct fb_run *run, void **result)
{
	const struct described *described = run->program->option_values;
	struct fb_p2p_state *state = calloc(1, sizeof(*state));
	int err = fb_world_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM);

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->run = run;
	state->program = described->program;
	state->world = fb_run_world(run);
	state->settings = fb_run_settings(run);
	state->own = &described->settings;
	if (state->world->nranks < 2) {
		err = FB_EINPUT;
		if (state->world->rank == 0)
			fb_error(err, "ranks '%d': accepted are 2 or more: a message needs two ends",
				 state->world->nranks);
	}
	if (!err)
		err = fb_world_agree(state->world,
				     fb_pairs_read(&state->pairs, state->own->pairs,
						   state->world->nranks,
						   state->world->rank ? NULL : stderr));
	if (!err) {
		fb_memory_survey(state->world, &state->memory_limit, &state->huge_pages);
		err = open_engines(state);
	}
	if (err) {
		close_program(state);
		return err;
	}
	*result = state;
	return FB_OK;
}

/* Opens the case's segment when it is the first to need it; large enough for all that follow. */
static int open_segment(struct fb_p2p_state *state, enum fb_p2p_memory kind)
{
	if (state->segment[kind].base)
		return FB_OK;
	return fb_segment_open(&state->segment[kind], state->world, state->part_bytes[kind],
			       kind == FB_P2P_HUGE);
}

static int set_up(void *state, const struct fb_case *c, void **result)
{
	struct fb_p2p_state *s = state;
	struct instance *i = calloc(1, sizeof(*i));
	struct fb_traits traits = {0};
	int err = i && fb_p2p_job(s, c, &i->job) ? FB_OK : FB_ENOMEM;

	err = fb_world_agree(s->world, err);
	if (err || !i)
		goto free_instance;
	i->state = s;
	i->ops = fb_p2p_engines[fb_p2p_engine_index(c->engine)];
	i->data = (struct fb_data){.seed = s->settings->seed, .type = c->datatype, .op = FB_SUM,
				   .nranks = s->world->nranks};
	err = open_segment(s, fb_p2p_memory_of(c));
	if (!err)
		err = i->ops->prepare(s->engines[fb_p2p_engine_index(c->engine)], c, &i->job,
				      &i->request);
	if (err)
		goto free_instance;
	/* Rank 0 writes the row, and may have no part in the job. */
	i->ops->describe(i->request, &traits);
	memcpy(i->path, traits.path, sizeof(i->path));
	MPI_Bcast(i->path, sizeof(i->path), MPI_CHAR, i->job.flows[0].src, s->world->comm);
	*result = i;
	return FB_OK;
free_instance:
	if (i)
		free(i->job.flows);
	free(i);
	return err;
}

static void tear_down(void *instance)
{
	struct instance *i = instance;

	i->ops->release(i->request);
	free(i->job.flows);
	free(i);
}

static int prime(void *instance)
{
	const struct instance *i = instance;

	fb_job_prime(&i->job, &i->data, i->state->world->rank);
	return FB_OK;
}

static int run(void *instance, int calls)
{
	struct instance *i = instance;

	return i->ops->run(i->request, calls);
}

static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	const struct instance *i = instance;

	(void)calls;
	fb_job_check(&i->job, &i->data, i->state->world->rank, bad);
	return FB_OK;
}

static void describe(void *instance, struct fb_traits *traits)
{
	const struct instance *i = instance;
	const struct fb_job *job = &i->job;
	bool ping_pong = job->pattern == FB_PING_PONG;
	bool central = job->pattern == FB_FAN_IN || job->pattern == FB_FAN_OUT;
	int pairs = job->nflows / (ping_pong || job->pattern == FB_TWO_WAY ? 2 : 1);

	i->ops->describe(i->request, traits);
	memcpy(traits->path, i->path, sizeof(i->path));
	traits->operations = ping_pong ? 2 : job->window;
	traits->algorithm_bytes = (double)job->bytes * (ping_pong ? pairs : job->nflows);
	traits->bus_factor = central ? 1 : 1.0 / (ping_pong ? pairs : job->nflows);
	traits->bound_us = nan("");
}

static const struct fb_option *own_options(const char *pairs, struct fb_option *table, size_t n)
{
	static const struct fb_option options[] = {
		FB_OPTION_GROUP("Traffic"),
		FB_OPTION_STRING(struct described, settings.pairs, 0, "pairs", "LIST", "first",
				 NULL, "which ranks: all, first, halves, neighbours, root, or a "
				 "list as 0-1,2-3 from sender to receiver"),
		FB_OPTION_U64(struct described, settings.window, 0, "window", "N", "0", 0, 4096,
			      "messages of a flow in a call; 0: 64, less for large ones"),
		FB_OPTION_END,
	};

	if (n * sizeof(*table) < sizeof(options))
		return NULL;
	memcpy(table, options, sizeof(options));
	table[1].fallback = pairs;
	return table;
}

int fb_p2p_main(const struct fb_p2p_program *program, int argc, char **argv)
{
	struct described described = {.program = program};
	struct fb_option options[8];
	const struct fb_program harness = {
		.name = program->name,
		.summary = program->summary,
		.description = program->description,
		.options = own_options(program->pairs, options,
				       sizeof(options) / sizeof(options[0])),
		.option_values = &described,
		.defaults = program->defaults,
		.open = open_program,
		.close = close_program,
		.expand = fb_p2p_expand,
		.can = fb_p2p_can,
		.setup = set_up,
		.prime = prime,
		.run = run,
		.check = check,
		.describe = describe,
		.teardown = tear_down,
	};

	return fb_program_main(&harness, argc, argv);
}
