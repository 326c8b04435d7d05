/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make a description a program of the harness; see program.h. */
#include "p2p/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/mover.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */

/* One case, from setup to teardown. */
struct instance {
	struct fb_p2p_state *state;
	const struct fb_p2p_engine_ops *ops;
	const struct fb_place *place;
	struct fb_p2p_request *request;
	struct fb_p2p_request *load_request; /* NULL: nothing but the job */
	struct fb_job job, load;
	struct fb_data data;
	struct fb_p2p_path path;
	double moved;	  /* bytes between ranks since then, where all is known */
	double *probe_us; /* under load, first rank: [PROBES_KEPT] */
	size_t probes;
};

enum { TAG_STOP = 1, TAG_MORE = 2, PROBES_KEPT = 1 << 20 };

static void close_program(void *arg)
{
	struct fb_p2p_state *state = arg;

	for (size_t i = 0; state->engines && fb_p2p_engines[i]; i++)
		if (state->engines[i])
			fb_p2p_engine_close(state->engines[i]);
	free(state->engines);
	free(state->reader_of);
	fb_stores_close(&state->stores);
	fb_gpu_view_close(&state->gpu);
	fb_pairs_free(&state->pairs);
	if (state->control != MPI_COMM_NULL)
		MPI_Comm_free(&state->control);
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
	err = fb_group_agree(state->world, state->engines ? FB_OK : FB_ENOMEM);
	for (size_t i = 0; i < n && !err; i++) {
		if (!fb_option_names(state->engine_list, fb_p2p_engines[i]->name))
			continue;
		err = fb_p2p_engine_open(&state->engines[i], fb_p2p_engines[i], state->session,
					 state->world);
		err = fb_group_agree(state->world, err == FB_EUNSUPPORTED ? FB_OK : err);
	}
	return err;
}

static int open_program(struct fb_run *run, void **result)
{
	const struct fb_p2p_description *description = run->program->option_values;
	struct fb_p2p_state *state = calloc(1, sizeof(*state));
	int err = fb_group_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM), nranks;

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->session = fb_run_session(run);
	state->program = description->program;
	state->world = fb_run_world(run);
	state->settings = fb_run_settings(run);
	state->own = &description->settings;
	state->stores.no_gpu = state->no_gpu;
	MPI_Comm_dup(state->world->comm, &state->control);
	/* A single rank has no pair; its rows say so, and a wrong list is wrong there too. */
	nranks = state->world->nranks < 2 ? 2 : state->world->nranks;
	err = fb_group_agree(state->world, fb_p2p_add_movers());
	fb_p2p_engine_list(state->settings->engine, state->engine_list,
			   sizeof(state->engine_list));
	state->any = !strcmp(state->settings->engine, "all") ||
		     !strcmp(state->settings->engine, "movers");
	if (!err)
		err = fb_group_agree(state->world,
				     fb_pairs_read(&state->pairs, state->own->pairs, nranks,
						   state->world->rank ? NULL : stderr));
	if (!err)
		err = fb_stores_open(&state->stores, state->world, state->own->numa);
	if (!err)
		err = fb_p2p_hosts(state);
	if (!err)
		err = fb_p2p_gpu_open(state);
	if (!err)
		err = open_engines(state);
	if (err) {
		close_program(state);
		return err;
	}
	*result = state;
	return FB_OK;
}

static void free_instance(struct instance *i)
{
	if (!i)
		return;
	free(i->job.flows);
	free(i->load.flows);
	free(i->probe_us);
	free(i);
}

static int make_instance(struct fb_p2p_state *s, const struct fb_case *c, struct instance **made)
{
	struct instance *i = calloc(1, sizeof(*i));
	int err = i && fb_p2p_jobs(s, c, &i->job, &i->load) ? FB_OK : FB_ENOMEM;

	if (!err && i && s->program->grouping == FB_UNDER_LOAD && s->world->rank == 0) {
		i->probe_us = malloc(PROBES_KEPT * sizeof(*i->probe_us));
		err = i->probe_us ? FB_OK : FB_ENOMEM;
	}
	err = fb_group_agree(s->world, err);
	if (err || !i) {
		free_instance(i);
		return err;
	}
	i->state = s;
	i->ops = fb_p2p_engines[fb_p2p_engine_index(c->engine)];
	i->data = (struct fb_data){.seed = s->settings->seed, .type = c->datatype, .op = FB_SUM,
				   .nranks = s->world->nranks};
	i->job.data = i->load.data = &i->data;
	*made = i;
	return FB_OK;
}

/* fb_store_library_fn: memory that regions of a mover have to lie in. */
static int open_segment_of(void *arg, struct fb_segment *segment, size_t part_bytes)
{
	const struct instance *i = arg;

	return i->ops->mover->segment(segment, i->state->session, i->state->world, part_bytes);
}

static int set_up(void *state, const struct fb_case *c, void **result)
{
	struct fb_p2p_state *s = state;
	struct fb_p2p_engine *engine = s->engines[fb_p2p_engine_index(c->engine)];
	const struct fb_place *place = fb_places_of(&s->stores.places, c);
	struct fb_traits traits = {0};
	char reason[FB_REASON_CHARS];
	struct instance *i = NULL;
	size_t need = 0;
	int err = make_instance(s, c, &i);

	if (err)
		return err;
	i->place = place;
	err = fb_place_enter(&s->stores.places, place);
	err = fb_group_agree(s->world, err);
	/* It could before (fb_p2p_judge), and the answer does not change. */
	(void)fb_p2p_judge(s, c, &need, reason);
	if (!err)
		err = fb_stores_segment(&s->stores, c, need, open_segment_of, i);
	if (!err)
		err = i->ops->prepare(engine, c, &i->job, &i->request);
	if (err)
		goto free_instance;
	if (i->load.nflows)
		err = i->ops->prepare(engine, c, &i->load, &i->load_request);
	if (err)
		goto release_request;
	i->ops->describe(i->request, &traits);
	err = fb_p2p_path_open(&i->path, s, c, &i->job, traits.path);
	if (!err) {
		*result = i;
		return FB_OK;
	}
	if (i->load_request)
		i->ops->release(i->load_request);
release_request:
	i->ops->release(i->request);
free_instance:
	(void)fb_place_leave(&s->stores.places, place);
	free_instance(i);
	return err;
}

static void tear_down(void *instance)
{
	struct instance *i = instance;

	if (i->load_request)
		i->ops->release(i->load_request);
	i->ops->release(i->request);
	(void)fb_place_leave(&i->state->stores.places, i->place);
	free_instance(i);
}

static int prime(void *instance)
{
	struct instance *i = instance;
	int err;

	fb_data_renew(&i->data);
	err = fb_job_prime(&i->job, &i->data, i->state->world->rank);

	return err ? err : fb_job_prime(&i->load, &i->data, i->state->world->rank);
}

/* The flow of a job that a rank has a part in; NULL: it has none. */
static const struct fb_flow *flow_of(const struct fb_job *job, int rank)
{
	for (int f = 0; f < job->nflows; f++)
		if (job->flows[f].src == rank || job->flows[f].dst == rank)
			return &job->flows[f];
	return NULL;
}

/* Under load the harness's calls are single ones of the engine's; see fb_p2p_engine_ops.ready. */
static int ready(void *instance, int calls)
{
	const struct instance *i = instance;
	bool load = flow_of(&i->load, i->state->world->rank) != NULL;

	if (!i->ops->ready || (load && !i->ops->device))
		return FB_OK;
	if (load)
		return i->ops->ready(i->load_request, 1);
	if (i->state->program->grouping == FB_UNDER_LOAD)
		calls = i->ops->device ? 1 : calls * (int)i->state->own->probes;
	return i->ops->ready(i->request, calls);
}

/*
 * A rank of the load moves windows of messages until the first rank, after its probes, sends a stop
 * message to the load's senders. Before each window a sender tells its receiver whether it follows.
 */
static int run_load(struct instance *i, const struct fb_flow *flow)
{
	const struct fb_p2p_state *s = i->state;
	bool sends = flow->src == s->world->rank;

	/* At least one window, because the data that it brings are checked. */
	for (bool first = true;; first = false) {
		int stop = 0, err;

		if (sends && !first)
			MPI_Iprobe(i->job.flows[0].src, TAG_STOP, s->control, &stop,
				   MPI_STATUS_IGNORE);
		if (stop)
			MPI_Recv(NULL, 0, MPI_BYTE, i->job.flows[0].src, TAG_STOP, s->control,
				 MPI_STATUS_IGNORE);
		if (sends)
			MPI_Send(&stop, 1, MPI_INT, flow->dst, TAG_MORE, s->control);
		else
			MPI_Recv(&stop, 1, MPI_INT, flow->src, TAG_MORE, s->control,
				 MPI_STATUS_IGNORE);
		if (stop)
			return FB_OK;
		err = i->ops->run(i->load_request, 1);
		if (err)
			return err;
	}
}

/* The probes, each timed by the first rank; then it ends the load. */
static int run_probes(struct instance *i, int calls)
{
	const struct fb_p2p_state *s = i->state;
	const struct fb_clock *clock = s->session->clock;
	int err = FB_OK;

	for (uint64_t k = 0; k < (uint64_t)calls * s->own->probes && !err; k++) {
		uint64_t start = fb_clock_ticks(clock);

		err = i->ops->run(i->request, 1);
		if (i->probe_us)
			i->probe_us[i->probes++ % PROBES_KEPT] =
				fb_clock_seconds(clock, fb_clock_ticks(clock) - start) * 1e6 /
				(2 * i->job.rounds);
	}
	for (int f = 0; f < i->load.nflows && s->world->rank == i->job.flows[0].src; f++)
		MPI_Send(NULL, 0, MPI_BYTE, i->load.flows[f].src, TAG_STOP, s->control);
	return err;
}

static int run(void *instance, int calls)
{
	struct instance *i = instance;
	const struct fb_flow *load = flow_of(&i->load, i->state->world->rank);

	i->moved += (double)i->job.bytes * i->job.window * i->job.nflows * i->job.rounds * calls;
	if (load)
		return run_load(i, load);
	if (i->state->program->grouping == FB_UNDER_LOAD)
		return run_probes(i, calls);
	return i->ops->run(i->request, calls);
}

static int settle(void *instance)
{
	const struct instance *i = instance;

	return i->ops->settle ? i->ops->settle(i->request) : FB_OK;
}

/* Ranks of the load have no times that count. */
static bool counts(void *instance)
{
	const struct instance *i = instance;

	/* A PUT by a mover is over when its receiver has the notice, so receivers' times count. */
	return fb_job_counts(&i->job, i->state->world->rank, i->ops->device || i->ops->mover);
}

static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	const struct instance *i = instance;
	int err = fb_job_check(&i->job, &i->data, i->state->world->rank, bad);

	(void)calls;
	return err ? err : fb_job_check(&i->load, &i->data, i->state->world->rank, bad);
}

static void describe(void *instance, struct fb_traits *traits)
{
	const struct instance *i = instance;
	const struct fb_job *job = &i->job;
	bool ping_pong = job->pattern == FB_PING_PONG;
	bool central = job->pattern == FB_FAN_IN || job->pattern == FB_FAN_OUT;
	int pairs = job->nflows / (ping_pong || job->pattern == FB_TWO_WAY ? 2 : 1);

	i->ops->describe(i->request, traits);
	if (i->ops->columns)
		i->ops->columns(i->request, traits->extra + i->state->program->ncolumns);
	fb_p2p_path_describe(&i->path, i->state, job, i->moved, i->load.nflows == 0, traits);
	traits->operations = ping_pong ? 2 * job->rounds : job->window;
	if (i->state->program->grouping == FB_UNDER_LOAD)
		traits->operations *= (int)i->state->own->probes;
	traits->algorithm_bytes = (double)job->bytes * (ping_pong ? pairs : job->nflows);
	traits->bus_factor = central ? 1 : 1.0 / (ping_pong ? pairs : job->nflows);
	traits->bound_us = nan("");
}

static void summarise(void *instance, const double *us, size_t n, struct fb_traits *traits)
{
	const struct instance *i = instance;
	const struct fb_p2p_program *program = i->state->program;

	if (program->summarise && i->probe_us)
		program->summarise(&i->job, i->probe_us,
				   i->probes < PROBES_KEPT ? i->probes : PROBES_KEPT, traits);
	else if (program->summarise)
		program->summarise(&i->job, us, n, traits);
}

int fb_p2p_main(const struct fb_p2p_program *program, int argc, char **argv)
{
	struct fb_p2p_description description = {.program = program};
	const struct fb_option *options = fb_p2p_options(&description);
	const struct fb_program harness = {
		.name = program->name,
		.summary = program->summary,
		.description = program->description,
		.options = options,
		.option_values = &description,
		.defaults = program->defaults,
		.open = open_program,
		.close = close_program,
		.expand = fb_p2p_expand,
		.can = fb_p2p_can,
		.setup = set_up,
		.columns = description.columns, .ncolumns = program->ncolumns + FB_P2P_GPU_COLUMNS,
		.prime = prime, .ready = ready, .run = run,
		.settle = settle,
		.counts = counts,
		.summarise = summarise,
		.check = check,
		.describe = describe,
		.teardown = tear_down,
	};
	int code = options ? fb_program_main(&harness, argc, argv) : FB_EXIT_FAULT;

	free(description.columns);
	return code;
}
