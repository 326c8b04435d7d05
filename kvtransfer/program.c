/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make hand-overs a program of the harness; see program.h. */
#include "kvtransfer/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/cuda/gpu_segment.h"
#include "common/memory/memory.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */

enum { PLANS = 3, PHASE_RUNS = 5, ENGINES = 24 };

/* One case, from setup to teardown. */
struct instance {
	struct fb_kv_state *state;
	const struct fb_kv_engine_ops *ops;
	const struct fb_kv_pages_ops *pages;
	struct fb_kv_request *request;
	struct fb_kv_job job;
	double value[FB_KV_COLUMNS]; /* equal on all ranks */
};

/* What fb_kv_main was given, and the options' values. */
struct described {
	struct fb_kv_settings settings; /* first: option offsets are of it */
	struct fb_kv_engine_ops over[ENGINES];
	const struct fb_kv_engine_ops *engines[ENGINES + 1];
};

static void close_program(void *arg)
{
	struct fb_kv_state *state = arg;

	for (size_t i = 0; state->engines && state->ops[i]; i++)
		if (state->engines[i])
			state->ops[i]->close(state->engines[i]);
	free(state->engines);
	for (int m = 0; m < FB_KV_MEMORIES; m++)
		fb_segment_close(&state->segment[m]);
	fb_gpu_view_close(&state->gpu);
	free(state);
}

static int open_gpu(struct fb_kv_state *state)
{
	struct fb_kv_context *context = &state->context;
	bool wanted = false;
	int err;

	for (size_t i = 0; state->ops[i]; i++)
		wanted |= state->ops[i]->device &&
			  fb_option_names(context->settings->engine, state->ops[i]->name);
	if (!wanted)
		return FB_OK;
	err = fb_gpu_view_open(&state->gpu, context->session, context->world, state->no_gpu);
	state->has_gpu = !err;
	if (state->has_gpu) {
		context->gpu = &state->gpu;
		/* For whoever looks for the GPU of a slow rank. */
		fb_launch_fact(context->session, "rank.gpu", "%d at %s", state->gpu.device,
			    state->gpu.bus_id);
	}
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

static int open_engines(struct fb_kv_state *state)
{
	const struct fb_group *w = state->context.world;
	size_t n = 0;
	int err;

	while (state->ops[n])
		n++;
	state->engines = calloc(n + 1, sizeof(*state->engines));
	err = fb_group_agree(w, state->engines ? FB_OK : FB_ENOMEM);
	for (size_t i = 0; i < n && !err; i++)
		if (fb_option_names(state->context.settings->engine, state->ops[i]->name))
			err = state->ops[i]->open(&state->engines[i], state->ops[i],
						  &state->context);
	return err;
}

static int open_program(struct fb_run *run, void **result)
{
	const struct described *described = run->program->option_values;
	struct fb_kv_state *state = calloc(1, sizeof(*state));
	int err = fb_group_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM);
	bool ignored;

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->context = (struct fb_kv_context){.session = fb_run_session(run),
						.world = fb_run_world(run),
						.settings = fb_run_settings(run)};
	state->own = &described->settings;
	state->ops = described->engines;
	fb_memory_survey(state->context.world, &state->memory_limit, &ignored);
	err = fb_memory_one_each(state->context.settings->memory, state->context.world->rank == 0);
	err = err ? err : open_gpu(state);
	err = err ? err : open_engines(state);
	if (err) {
		close_program(state);
		return err;
	}
	*result = state;
	return FB_OK;
}

/* --- one case --------------------------------------------------------------------------------- */

/* Collective: the engine's memory, when a case is the first to need it. */
static int open_memory(struct fb_kv_state *state, const struct fb_kv_engine_ops *ops,
		       const struct fb_segment **result)
{
	bool own = ops->mover && ops->mover->segment;
	struct fb_segment *segment = &state->segment[own ? FB_KV_MOVER_MEMORY : (int)ops->device];

	*result = segment;
	return segment->ops ? FB_OK :
	       fb_mover_segment(segment, ops->mover, state->context.session,
				ops->device ? &state->gpu : NULL, state->context.world,
				state->part_bytes[ops->device]);
}

static double now_us(const struct instance *i)
{
	const struct fb_clock *clock = i->state->context.session->clock;

	return fb_clock_seconds(clock, fb_clock_ticks(clock)) * 1e6;
}

/* Collective: the slowest rank's time since `began`. */
static double slowest_us(const struct instance *i, double began)
{
	double us = now_us(i) - began;

	MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, i->state->context.world->comm);
	return us;
}

static int make_plan(struct instance *i)
{
	const struct fb_group *w = i->state->context.world;
	double best = INFINITY;

	for (int k = 0; k < PLANS; k++) {
		double began, us;
		int err;

		MPI_Barrier(w->comm);
		began = now_us(i);
		err = fb_kv_job_plan(&i->job);
		us = slowest_us(i, began);
		err = fb_group_agree(w, err);
		if (err)
			return err;
		best = us < best ? us : best;
	}
	i->value[FB_KV_PLAN_US] = best;
	return FB_OK;
}

/* Descriptors of all pairs, counted by their receivers. */
static void count_runs(struct instance *i)
{
	const struct fb_kv_job *job = &i->job;
	double all = 0, most = 0;
	struct fb_kv_sums sums;

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];
		double runs = (double)pair->runs * fb_kv_regions(&job->plan.shape);

		if (fb_kv_receiver(job, pair) != job->rank)
			continue;
		all += runs;
		most = runs > most ? runs : most;
	}
	MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, i->state->context.world->comm);
	MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, i->state->context.world->comm);
	fb_kv_sum(job, &sums);
	i->value[FB_KV_DESCRIPTORS] = all;
	i->value[FB_KV_PAIR_DESCRIPTORS] = most;
	i->value[FB_KV_RUN_BYTES] = sums.delivered_bytes / all;
	i->value[FB_KV_PAIRS] = job->plan.pairs;
	i->value[FB_KV_CROSSING] = sums.crossing_bytes / sums.delivered_bytes;
}

/* Each phase alone. What is moved are zeroes or an earlier case's bytes; prime() comes later. */
static int time_phases(struct instance *i)
{
	static const struct {
		enum fb_kv_phase phase;
		enum fb_kv_column column;
	} phases[] = {{FB_KV_GATHER, FB_KV_PACK_US}, {FB_KV_MOVE, FB_KV_TRANSFER_US},
		      {FB_KV_SCATTER, FB_KV_UNPACK_US}};
	const struct fb_group *w = i->state->context.world;
	bool staged = i->job.mode == FB_KV_PACK || i->job.mode == FB_KV_LAYERWISE;

	for (size_t k = 0; k < sizeof(phases) / sizeof(phases[0]); k++) {
		i->value[phases[k].column] = (double)NAN;
		for (int n = 0; n < PHASE_RUNS && (staged || phases[k].phase == FB_KV_MOVE); n++) {
			double began, us, *best = &i->value[phases[k].column];
			int err;

			MPI_Barrier(w->comm);
			began = now_us(i);
			err = i->ops->run(i->request, (unsigned)phases[k].phase, 1);
			us = slowest_us(i, began);
			if (err)
				return err;
			*best = n && *best < us ? *best : us;
		}
	}
	return FB_OK;
}

static int set_up(void *arg, const struct fb_case *c, void **result)
{
	struct fb_kv_state *state = arg;
	const struct fb_group *w = state->context.world;
	size_t e = fb_kv_engine_of(state, c);
	struct instance *i = calloc(1, sizeof(*i));
	int err = fb_group_agree(w, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->state = state;
	i->ops = state->ops[e];
	i->pages = i->ops->device ? &fb_kv_pages_gpu : &fb_kv_pages_host;
	err = fb_group_agree(w, fb_kv_case_job(state, c, &i->job));
	if (!err)
		err = make_plan(i);
	if (!err)
		err = open_memory(state, i->ops, &i->job.segment);
	if (err)
		goto close_job;
	count_runs(i);
	err = i->ops->prepare(state->engines[e], &i->job, &i->request);
	if (err)
		goto close_job;
	/* An error of a run leaves others waiting; it ends the job as in fb_program.run. */
	err = time_phases(i);
	if (!err) {
		*result = i;
		return FB_OK;
	}
	i->ops->release(i->request);
close_job:
	fb_kv_job_close(&i->job);
	free(i);
	return err;
}

static void tear_down(void *instance)
{
	struct instance *i = instance;

	i->ops->release(i->request);
	fb_kv_job_close(&i->job);
	free(i);
}

static int prime(void *instance)
{
	struct instance *i = instance;
	int err = FB_OK;

	i->job.seed++; /* as fb_data_renew() */
	for (int side = 0; side < FB_KV_SIDES && !err; side++)
		if (i->job.index[side] >= 0)
			err = i->pages->fill(&i->job, (enum fb_kv_side)side,
					     side == FB_KV_DECODE);
	return err;
}

/* What the senders have must be as it was, too. */
static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	const struct instance *i = instance;
	int err = FB_OK;

	(void)calls;
	for (int side = FB_KV_SIDES - 1; side >= 0 && !err; side--)
		if (i->job.index[side] >= 0)
			err = i->pages->check(&i->job, (enum fb_kv_side)side, bad);
	return err;
}

static int run(void *instance, int calls)
{
	const struct instance *i = instance;

	return i->ops->run(i->request, FB_KV_ALL, calls);
}

/* Ranks of neither group do nothing. */
static bool counts(void *instance)
{
	const struct instance *i = instance;

	return i->job.index[FB_KV_PREFILL] >= 0 || i->job.index[FB_KV_DECODE] >= 0;
}

static void describe(void *instance, struct fb_traits *traits)
{
	const struct instance *i = instance;
	struct fb_kv_sums sums;

	fb_kv_sum(&i->job, &sums);
	i->ops->describe(i->request, traits);
	traits->algorithm_bytes = sums.delivered_bytes;
	traits->bus_factor = sums.port_bytes / sums.delivered_bytes;
	/* transfer_us is what the same engine takes otherwise, not the least that is possible. */
	traits->bound_us = (double)NAN;
	memcpy(traits->extra, i->value, sizeof(i->value));
}

static const char description[] =
	"A request's KV cache, in pages, passes from prefill ranks to decode ranks of another "
	"number: each rank of a group holds some heads (or, where ranks are more than heads, a "
	"copy of one), so that pages are cut, or put together, on their way.\n\n"
	"--algorithm: direct, each contiguous run to its place; batch and strided, the same in "
	"one call or by copies of two and three dimensions; datatype, by MPI's derived "
	"datatypes; pack, gathered, sent, scattered; layerwise, the same layer by layer.\n\n"
	"A row's time ends when all decode ranks have seen that their pages are complete. algbw "
	"counts bytes delivered to decode ranks, busbw those that pass the links of the busiest "
	"rank. The bound is what the same engine takes for the same bytes as one contiguous "
	"message for each pair. --bytes is not used: sizes follow from --tokens.";

static const struct fb_default usual[] = {
	{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "all"}, {NULL, NULL},
};

/* All movers, and then those that were given. */
static void list_engines(struct described *d, const struct fb_kv_engine_ops *const *more)
{
	int n = 0;

	/* On GPUs packing and moving meet on streams. */
	for (int i = 0; fb_movers[i] && n < ENGINES; i++) {
		d->over[n] = fb_kv_over(fb_movers[i]);
		d->engines[n] = &d->over[n];
		n += !fb_movers[i]->device || fb_movers[i]->streams;
	}
	for (int i = 0; more[i] && n < ENGINES; i++)
		d->engines[n++] = more[i];
}

int fb_kv_main(const struct fb_kv_engine_ops *const *more, const struct fb_default *defaults,
	       int argc, char **argv)
{
	struct described *described = calloc(1, sizeof(*described));
	const struct fb_program program = {
		.name = "kv_reshard",
		.summary = "a KV cache from prefill ranks to decode ranks of another number",
		.description = description,
		.options = fb_kv_options,
		.option_values = described,
		.defaults = defaults ? defaults : usual,
		.columns = fb_kv_columns,
		.ncolumns = FB_KV_COLUMNS,
		.open = open_program,
		.close = close_program,
		.expand = fb_kv_expand,
		.can = fb_kv_can,
		.setup = set_up,
		.prime = prime,
		.run = run,
		.check = check,
		.counts = counts,
		.describe = describe,
		.teardown = tear_down,
	};
	int code;

	if (!described)
		return fb_exit_code(fb_error(FB_ENOMEM, "out of memory"));
	list_engines(described, more);
	code = fb_program_main(&program, argc, argv);
	free(described);
	return code;
}
