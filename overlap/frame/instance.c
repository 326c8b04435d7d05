/* SPDX-License-Identifier: BSD-3-Clause */
/* A case from its options to a step that can run: graph, proof, memory, calls, threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"

static int compute(void *arg, int task, unsigned part, unsigned parts)
{
	struct fb_step_instance *i = arg;
	const struct fb_task *t = &i->dag.tasks[task];

	fb_host_compute_run(&i->compute[t->lane], &t->work, part, parts);
	return FB_OK;
}

static int start(void *arg, int task)
{
	return fb_call_start(((struct fb_step_instance *)arg)->calls[task]);
}

static int test(void *arg, int task, bool *done)
{
	return fb_call_test(((struct fb_step_instance *)arg)->calls[task], done);
}

static int enqueue(void *arg, int task, void *stream)
{
	const struct fb_step_instance *i = arg;

	if (i->calls[task])
		return fb_call_enqueue(i->calls[task], stream);
	return fb_step_enqueue_work(i, task, stream);
}

static int open_stream(void *arg, int lane, int priority, void *stream)
{
	return fb_step_lane_stream(arg, lane, priority, stream);
}

/* Collective: memory for all buffers of the step. Larger than for cases before: it is new. */
static int open_memory(struct fb_step_instance *i)
{
	struct fb_collective_state *c = i->state->collective;
	size_t store = fb_store_of(&c->stores, i->key);
	size_t bytes = fb_step_bytes(&i->dag, i->build.element_bytes);

	if (c->stores.segment[store].ops && c->stores.segment[store].part_bytes < bytes)
		fb_segment_close(&c->stores.segment[store]);
	if (c->stores.part_bytes[store] < bytes)
		c->stores.part_bytes[store] = bytes;
	return fb_collective_segment(c, i->key, bytes);
}

/* The memory by the ranks of a group: parts are found by the numbers in the group. */
static int open_views(struct fb_step_instance *i, const struct fb_segment *memory)
{
	i->views = calloc((size_t)i->dag.npartitions + 1, sizeof(*i->views));
	if (!i->views)
		return FB_ENOMEM;
	for (int p = 0; p < i->dag.npartitions; p++) {
		const struct fb_group *g = &i->groups[p]->group;
		struct fb_segment *view = &i->views[p];

		*view = *memory;
		view->part_of = malloc(((size_t)g->nranks + 1) * sizeof(*view->part_of));
		if (!view->part_of)
			return FB_ENOMEM;
		for (int r = 0; r < g->nranks; r++)
			view->part_of[r] = memory->part_of[g->world_rank_of[r]];
	}
	return FB_OK;
}

/* Collective over the group of the task. */
static int prepare_call(struct fb_step_instance *i, int t)
{
	const struct fb_task *task = &i->dag.tasks[t];
	struct fb_case key = fb_step_case(i->state, &i->dag, t, i->key);
	struct fb_operation op;

	/* Engines must know that they are captured: not all that they enqueue else can be. */
	if (i->graph)
		key.launch = "graph";
	i->counts[t] = fb_step_counts(&i->dag, t);
	op = fb_step_operation(&i->dag, t, i->key, &i->counts[t]);
	op.segment = &i->views[task->partition];
	op.together = i->communicating;
	return fb_call_prepare(&i->groups[task->partition]->collectives, &key, &op, &i->calls[t]);
}

/*
 * The number of lanes on which a rank communicates, of the rank that has most. So many collectives
 * at most are under way at once. All ranks need the same number, because it decides how many blocks
 * and threads kernels have.
 */
static int communicating_lanes(const struct fb_group *world, const struct fb_dag *d)
{
	int n = 0;

	for (int lane = 0; lane < d->nlanes; lane++)
		for (int t = 0; t < d->ntasks; t++)
			if (d->tasks[t].lane == lane && d->tasks[t].kind == FB_TASK_COLLECTIVE &&
			    fb_dag_takes_part(d, t)) {
				n++;
				break;
			}
	MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MAX, world->comm);
	return n;
}

/*
 * Collective: prepares a call for each collective of this rank, partition by partition. Ranks have
 * the collectives of one group in the same order, but not those of different groups.
 */
static int prepare(struct fb_step_instance *i)
{
	const struct fb_dag *d = &i->dag;
	int err = FB_OK;

	i->calls = calloc((size_t)d->ntasks + 1, sizeof(*i->calls));
	i->counts = calloc((size_t)d->ntasks + 1, sizeof(*i->counts));
	i->times = calloc((size_t)d->ntasks + 1, sizeof(*i->times));
	i->beside = calloc((size_t)d->ntasks + 1, sizeof(*i->beside));
	if (!i->calls || !i->counts || !i->times || !i->beside)
		err = FB_ENOMEM;
	err = fb_group_agree(i->state->session->world, err);
	i->communicating = communicating_lanes(i->state->session->world, d);
	if (i->communicating < i->state->together)
		i->communicating = i->state->together;
	for (int p = 0; p < d->npartitions && !err; p++) {
		for (int t = 0; t < d->ntasks && !err; t++)
			if (d->tasks[t].kind == FB_TASK_COLLECTIVE &&
			    d->tasks[t].partition == p && fb_dag_takes_part(d, t))
				err = prepare_call(i, t);
		err = fb_group_agree(i->state->session->world, err);
	}
	return err;
}

/* Collective, in the same order. */
static void release(struct fb_step_instance *i)
{
	for (int p = 0; i->calls && p < i->dag.npartitions; p++)
		for (int t = 0; t < i->dag.ntasks; t++)
			if (i->dag.tasks[t].partition == p)
				fb_call_release(i->calls[t]);
	free(i->calls);
}

bool fb_step_crowded(const struct fb_step_instance *i)
{
	const struct fb_group *w = i->state->session->world;

	return w->oversubscribed || 2 * w->local_ranks > w->cpus;
}

/* The program's modes of the schedule that runs. */
static unsigned mode_of(const struct fb_step_instance *i)
{
	const unsigned *modes = i->state->program->modes;

	return modes ? modes[i->build.schedule] : 0;
}

/* Local: where the other ranks' memory and GPUs are for the rank that runs all. */
static int open_places(struct fb_step_instance *i, const struct fb_segment *memory)
{
	int n = i->dag.nranks;

	i->places = calloc((size_t)n, sizeof(*i->places));
	i->devices = calloc((size_t)n, sizeof(*i->devices));
	if (!i->places || !i->devices)
		return fb_error(FB_ENOMEM, "out of memory for a step");
	for (int r = 0; r < n; r++) {
		i->places[r] = fb_segment_part(memory, r);
		if (!i->places[r])
			return fb_error(FB_EUNSUPPORTED, "memory %s of rank %d is not mapped",
					i->key->memory, r);
		i->devices[r] = i->device ? fb_gpu_device_of(&i->state->collective->gpu, r) : 0;
	}
	return FB_OK;
}

static int open_run(struct fb_step_instance *i)
{
	const struct fb_step_state *s = i->state;
	unsigned mode = mode_of(i);
	const struct fb_segment *memory =
		&s->collective->stores.segment[fb_store_of(&s->collective->stores, i->key)];
	int err = i->dag.alone && !i->dag.rank ? open_places(i, memory) : FB_OK;
	const struct fb_step_config config = {
		.dag = &i->dag, .hooks = &i->hooks,
		.memory = fb_segment_part(memory, s->session->world->rank),
		.places = i->places, .devices = i->devices, .datatype = i->key->datatype,
		.element_bytes = i->build.element_bytes, .clock = s->session->clock,
		.session = s->session, .yields = fb_step_crowded(i),
		.polls = (unsigned)s->own->polls, .storage_folder = s->own->storage_folder,
		.gpu = &s->collective->gpu, .graph = i->graph, .high = !s->own->priority,
		.recaptures = mode & FB_MODE_RECAPTURE,
		.blocking_streams = mode & FB_MODE_BLOCKING_STREAMS,
	};

	if (err)
		return err;
	i->hooks = (struct fb_step_hooks){compute, start, test, enqueue, open_stream, i};
	return i->device ? fb_gpu_run_open(&i->gpu, &config) : fb_host_run_open(&i->host, &config);
}

void fb_step_tear_down(void *instance)
{
	struct fb_step_instance *i = instance;

	if (i->base)
		fb_step_tear_down(i->base);
	fb_gpu_run_close(i->gpu);
	fb_host_run_close(i->host);
	release(i);
	for (int p = 0; i->views && p < i->dag.npartitions; p++)
		free(i->views[p].part_of);
	free(i->counts);
	free(i->views);
	free(i->groups);
	free(i->places);
	free(i->devices);
	free(i->times);
	free(i->beside);
	free(i->samples);
	fb_step_close_work(i);
	free(i);
}

/* Collective: if some group cannot run it, all ranks skip the row, with one rank's reason. */
static int agree_on_engines(struct fb_step_instance *i)
{
	const struct fb_group *w = i->state->session->world;
	char reason[FB_REASON_CHARS] = "";
	bool can = fb_step_can_communicate(i->state, &i->dag, i->key, reason);
	int first = can ? w->nranks : w->rank;

	MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, w->comm);
	if (first == w->rank)
		fb_warn("%s %s: skipped: %s", i->key->operation, i->key->engine, reason);
	return first < w->nranks ? FB_EUNSUPPORTED : FB_OK;
}

/* Collective: everything between the options and a step that can run. */
static int open_case(struct fb_step_instance *i)
{
	struct fb_step_state *s = i->state;
	const struct fb_group *w = s->session->world;
	const struct fb_segment *memory =
		&s->collective->stores.segment[fb_store_of(&s->collective->stores, i->key)];
	int err = fb_step_open_work(i);

	if (!err)
		err = fb_group_agree(w, w->rank ? FB_OK : fb_step_prove(s, &i->build));
	if (!err)
		err = open_memory(i);
	if (err)
		return err;
	i->groups = calloc((size_t)i->dag.npartitions + 1, sizeof(struct fb_step_groups *));
	err = fb_group_agree(w, i->groups ? FB_OK : FB_ENOMEM);
	if (!err)
		err = fb_step_groups_open(s, &i->dag, i->key->engine, i->groups);
	if (!err)
		err = agree_on_engines(i);
	if (!err)
		err = fb_group_agree(w, open_views(i, memory));
	if (!err)
		err = prepare(i);
	return err ? err : fb_group_agree(w, open_run(i));
}

/*
 * Collective: a step of the program's, with what is open of the state. `schedule`: FB_NONE is the
 * case's. `alone`: without --background.
 */
static int open_step(struct fb_step_state *s, const struct fb_case *c, int schedule,
		     uint64_t found, bool alone, struct fb_step_instance **result)
{
	struct fb_step_instance *i = calloc(1, sizeof(*i));
	int err = fb_group_agree(s->session->world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->state = s;
	i->key = c;
	i->pass = fb_step_pass_of(s, c);
	i->build = fb_step_build_of(s, c, i->pass, 0);
	i->found = found;
	for (int a = 0; a < FB_SCHEDULE_AXES && found; a++)
		if (s->program->axes[a].trials)
			i->build.value[a] = found;
	i->build.schedule = schedule < 0 ? i->pass->schedule : schedule;
	if (alone && fb_step_background_axis(s->program) != FB_NONE)
		i->build.value[fb_step_background_axis(s->program)] = 0;
	i->parts = s->program->parts ? s->program->parts[i->build.schedule]
				     : (unsigned)FB_PART_ALL;
	i->device = fb_engines[fb_engine_index(c->engine)]->device;
	i->graph = !strcmp(c->launch, "graph") || mode_of(i) & FB_MODE_GRAPH;
	i->redop = c->redop >= 0 ? (enum fb_redop)c->redop : FB_SUM;
	i->data.seed = s->session->settings->seed;
	err = open_case(i);
	if (err)
		fb_step_tear_down(i);
	else
		*result = i;
	return err;
}

enum { TRIAL_STEPS = 5 };

/* Collective: the least of some steps, each of the slowest rank, in seconds. */
static int time_steps(struct fb_step_instance *i, double *least)
{
	const struct fb_session *session = i->state->session;
	int err = fb_step_prime(i);

	*least = HUGE_VAL;
	for (int step = 0; step < TRIAL_STEPS && !err; step++) {
		double took, start;

		err = fb_group_agree(session->world, fb_step_ready(i, i->parts, 1));
		if (err)
			break;
		start = fb_clock_now(session->clock);
		err = fb_step_run_parts(i, i->parts, 1);
		took = fb_clock_now(session->clock) - start;
		MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, session->world->comm);
		*least = fmin(*least, took);
	}
	return fb_group_agree(session->world, err);
}

/* Collective: the quickest of an axis's trials; 0: its value is given. The same on all ranks. */
static int find_value(struct fb_step_state *s, const struct fb_case *c, uint64_t *found)
{
	const struct fb_step_pass *pass = fb_step_pass_of(s, c);
	struct fb_build b = fb_step_build_of(s, c, pass, 0);
	char ignored[FB_SCHEDULE_REASON];
	double least = HUGE_VAL, took = 0;
	int err = FB_OK, axis = 0;

	*found = 0;
	while (axis < FB_SCHEDULE_AXES &&
	       (!s->program->axes[axis].trials || pass->value[axis]))
		axis++;
	for (int t = 0; axis < FB_SCHEDULE_AXES && s->program->axes[axis].trials[t] && !err; t++) {
		struct fb_step_instance *i = NULL;

		b.value[axis] = s->program->axes[axis].trials[t];
		if (s->program->can && !s->program->can(&b, ignored))
			continue;
		err = open_step(s, c, FB_NONE, b.value[axis], false, &i);
		if (!err)
			err = time_steps(i, &took);
		if (!err && took < least) {
			least = took;
			*found = b.value[axis];
		}
		if (i)
			fb_step_tear_down(i);
	}
	return err;
}

int fb_step_set_up(void *state, const struct fb_case *c, void **result)
{
	struct fb_step_state *s = state;
	struct fb_step_instance *i = NULL;
	uint64_t found;
	int err;

	s->together = 0;
	err = find_value(s, c, &found);
	if (!err)
		err = open_step(s, c, FB_NONE, found, false, &i);
	/* Kernels have the same shape in the step and its base, so only the steps differ. */
	s->together = err ? 0 : i->communicating;
	/* Both steps have the same buffers, so they can share one segment. */
	if (!err && s->program->has_base && i->build.schedule)
		err = open_step(s, c, 0, 0, false, &i->base);
	else if (!err && fb_step_background(i))
		err = open_step(s, c, FB_NONE, found, true, &i->base);
	if (!err && i->base && fb_step_background(i) == fb_step_background(i->base) &&
	    i->base->dag.elements != i->dag.elements)
		err = fb_error(FB_EPLAN, "%s has other buffers than %s",
			       s->program->schedules[i->build.schedule], s->program->schedules[0]);
	if (err && i)
		fb_step_tear_down(i);
	else
		*result = i;
	return err;
}
