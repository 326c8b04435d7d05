/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine that computes a step, and the number of tokens: the user gives the number, or the time
 * that the computing takes alone. The number for a given time is found in two trials, because the
 * time per token changes with the number of tokens.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"
#include "overlap/options.h"

enum {
	FIRST_TOKENS = 1024, /* on a GPU, which needs some to be busy */
	STEP_TOKENS = 16,    /* there, for its matrix units */
	MOST_TOKENS = 1 << 20,
	TRIALS = 3,
	PART_ROWS = 16,      /* of a product that is timed: with fewer it would be slower */
	LONG_STEP_S = 5,
};

/* Processors: less is never announced, and of a task so much is timed. */
static const double long_flop = 10e9, part_flop = 0.5e9;

double fb_step_flop(const struct fb_dag *dag)
{
	double flop = 0;

	for (int i = 0; i < dag->ntasks; i++)
		flop += fb_work_flop(&dag->tasks[i].work);
	return flop;
}

/* Collective: OpenBLAS on all ranks, or the own loop on all. */
static int open_blas(struct fb_step_state *s)
{
	char reason[FB_REASON_CHARS] = "its products are wrong";
	const char *library = s->own->blas;
	int err = FB_EUNSUPPORTED;

	s->blas_tried = true;
	if (strcmp(library, "none"))
		err = fb_openblas_open(&s->blas, library, reason, sizeof(reason));
	if (!err && !fb_host_blas_right(&s->blas))
		err = FB_EUNSUPPORTED;
	if (err && strcmp(library, "none") && strcmp(library, "auto"))
		fb_error(err, "--blas-library %s: %s", library, reason);
	err = fb_group_agree(s->session->world, err);
	if (err)
		s->blas.library = NULL;
	return strcmp(library, "none") && strcmp(library, "auto") ? err : FB_OK;
}

static int open_compute(struct fb_step_instance *i)
{
	struct fb_step_state *s = i->state;

	return i->device || s->blas_tried ? FB_OK : open_blas(s);
}

/* Local: what computes on the devices of the step's lanes. */
static int open_gpus(struct fb_step_instance *i)
{
	struct fb_step_state *s = i->state;
	const struct fb_gpu *gpu = &s->collective->gpu;
	int err = FB_OK;

	for (int lane = -1; lane < i->dag.nlanes && !err; lane++) {
		int place = lane < 0 ? i->dag.rank : i->dag.lanes[lane].place;
		int device = place == i->dag.rank ? gpu->device : fb_gpu_device_of(gpu, place);

		if (!s->gpus[place])
			err = fb_gpu_compute_open(&s->gpus[place], gpu, device, s->own->cublas,
						  s->own->compute_type == FB_COMPUTE_FP8);
		if (!err)
			err = fb_gpu_compute_limit(s->gpus[place],
						   (int)i->build.value[FB_AXIS_COMPUTE_SMS]);
	}
	return err;
}

/* What computes on a lane's GPU. */
static struct fb_gpu_compute *gpu_of(const struct fb_step_instance *i, int task)
{
	return i->state->gpus[i->dag.lanes[i->dag.tasks[task].lane].place];
}

int fb_step_enqueue_work(const struct fb_step_instance *i, int task, void *stream)
{
	return fb_gpu_compute_enqueue(gpu_of(i, task), &i->dag.tasks[task].work, stream);
}

int fb_step_lane_stream(const struct fb_step_instance *i, int lane, int priority, void *stream)
{
	const struct fb_dag_lane *l = &i->dag.lanes[lane];

	return l->communicates || l->background ? FB_OK
	       : fb_gpu_compute_stream(i->state->gpus[l->place], priority, stream);
}

static void free_lanes(struct fb_step_instance *i)
{
	for (int lane = 0; i->compute && lane < i->dag.nlanes; lane++)
		fb_host_compute_close(&i->compute[lane]);
	free(i->compute);
	i->compute = NULL;
}

/* Collective: the graph for i->build.tokens, and the memory to compute on. */
static int make(struct fb_step_instance *i)
{
	const struct fb_step_state *s = i->state;
	int err;

	free_lanes(i);
	fb_dag_close(&i->dag);
	err = fb_step_make(s, &i->build, &i->dag);
	if (!err && i->device)
		err = open_gpus(i);
	if (!err && !i->device) {
		i->compute = calloc((size_t)i->dag.nlanes + 1, sizeof(*i->compute));
		err = i->compute ? FB_OK : FB_ENOMEM;
	}
	for (int t = 0; t < i->dag.ntasks && !err; t++) {
		const struct fb_task *task = &i->dag.tasks[t];

		if (i->device)
			err = fb_gpu_compute_room(gpu_of(i, t), &task->work);
		else
			err = fb_host_compute_room(&i->compute[task->lane], &task->work);
	}
	for (int lane = 0; i->compute && lane < i->dag.nlanes; lane++)
		i->compute[lane].blas = s->blas.library ? &s->blas : NULL;
	return fb_group_agree(s->session->world, err);
}

/* Local: everything that a step computes on this rank's device, once. */
static int compute_all(struct fb_step_instance *i)
{
	int err = FB_OK;

	for (int t = 0; t < i->dag.ntasks && !err; t++) {
		const struct fb_task *task = &i->dag.tasks[t];

		if (i->dag.lanes[task->lane].place != i->dag.rank)
			continue;
		if (i->device)
			err = fb_step_enqueue_work(i, t, NULL);
		else
			fb_host_compute_run(&i->compute[task->lane], &task->work, 0, 1);
	}
	return err || !i->device ? err : fb_gpu_compute_finish(i->state->gpus[i->dag.rank]);
}

/* Collective: the least of some trials, of the slowest rank, in seconds. */
static int time_all(struct fb_step_instance *i, double *seconds)
{
	const struct fb_session *session = i->state->session;
	double least = 0;
	int err = compute_all(i);

	for (int trial = 0; trial < TRIALS && !err; trial++) {
		double start = fb_clock_now(session->clock), took;

		err = compute_all(i);
		took = fb_clock_now(session->clock) - start;
		least = trial == 0 || took < least ? took : least;
	}
	MPI_Allreduce(&least, seconds, 1, MPI_DOUBLE, MPI_MAX, session->world->comm);
	return fb_group_agree(session->world, err);
}

/* Collective: tokens that take --compute. */
static int calibrate(struct fb_step_instance *i)
{
	uint64_t step = i->device ? STEP_TOKENS : 1;
	double seconds = 0;
	int err = FB_OK;

	i->build.tokens = i->device ? FIRST_TOKENS : 1;
	for (int trial = 0; trial < 2 && !err; trial++) {
		double wanted;

		err = make(i);
		if (!err)
			err = time_all(i, &seconds);
		if (err)
			break;
		wanted = (double)i->build.tokens * i->state->own->compute_s /
			 (seconds > 0 ? seconds : 1e-9) / (double)step + 0.5;
		i->build.tokens = wanted < 1 ? step
				  : wanted > MOST_TOKENS ? MOST_TOKENS : (uint64_t)wanted * step;
	}
	return err;
}

static int kind_of(const struct fb_step_instance *i)
{
	return i->state->program->own_tokens ? i->build.schedule : 0;
}

/* Tokens that were found before for as many elements; 0: none. */
static uint64_t known_tokens(const struct fb_step_instance *i)
{
	const struct fb_step_state *s = i->state;

	if (s->own->tokens)
		return s->own->tokens;
	for (size_t k = 0; k < s->nwork; k++)
		if (s->work[k].elements == i->build.elements && s->work[k].device == i->device &&
		    s->work[k].schedule == kind_of(i))
			return s->work[k].tokens;
	return 0;
}

/* Collective. */
static int remember(struct fb_step_instance *i)
{
	struct fb_step_state *s = i->state;
	struct fb_step_work *more = realloc(s->work, (s->nwork + 1) * sizeof(*more));
	int err = fb_group_agree(s->session->world, more ? FB_OK : FB_ENOMEM);

	if (more)
		s->work = more;
	if (!err)
		s->work[s->nwork++] = (struct fb_step_work){i->build.elements, i->build.tokens,
							    kind_of(i), i->device};
	return err;
}

/* Collective: make(), and i->has_tokens. */
static int make_first(struct fb_step_instance *i)
{
	int any = 0, err = make(i);

	for (int t = 0; t < i->dag.ntasks && !err; t++)
		any |= i->dag.tasks[t].work.kind != FB_WORK_NONE;
	MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, i->state->session->world->comm);
	i->has_tokens = any || i->state->own->tokens;
	return err;
}

/* Local: seconds that the step's computing takes, by a part of its largest task. */
static double estimate(const struct fb_step_instance *i)
{
	const struct fb_task *largest = NULL;
	double start, flop;
	unsigned parts;

	for (int t = 0; t < i->dag.ntasks; t++)
		if (!largest || fb_work_flop(&i->dag.tasks[t].work) > fb_work_flop(&largest->work))
			largest = &i->dag.tasks[t];
	if (!largest)
		return 0;
	flop = fb_work_flop(&largest->work);
	parts = (unsigned)fmin(flop / part_flop, (double)largest->work.m / PART_ROWS);
	parts = parts ? parts : 1;
	start = fb_clock_now(i->state->session->clock);
	fb_host_compute_run(&i->compute[largest->lane], &largest->work, 0, parts);
	return (fb_clock_now(i->state->session->clock) - start) * parts * fb_step_flop(&i->dag) /
	       fmax(flop, 1);
}

/*
 * Collective: prints before the first step, if steps are long, how long they take. A number of
 * tokens that is usual on GPUs can take minutes on processors, in which no row appears, or longer
 * than --timeout.
 */
static void announce(struct fb_step_instance *i)
{
	struct fb_step_state *s = i->state;
	double own[2] = {fb_step_flop(&i->dag), 0}, most[2];
	char by[FB_REASON_CHARS];

	MPI_Allreduce(own, most, 1, MPI_DOUBLE, MPI_MAX, s->session->world->comm);
	if (most[0] < long_flop || most[0] <= s->announced_flop)
		return;
	own[1] = estimate(i);
	MPI_Allreduce(own, most, 2, MPI_DOUBLE, MPI_MAX, s->session->world->comm);
	s->announced_flop = most[0];
	fb_step_compute_text(i, by, sizeof(by));
	if (most[1] >= LONG_STEP_S && s->session->world->rank == 0)
		fb_warn("a step of %s computes %.0f GFLOP on a rank, which takes about %.0f s here "
			"(%s), and a row takes several steps: expected fewer --tokens, or a "
			"--timeout of several steps (it is %g s)",
			s->program->name, most[0] * 1e-9, most[1], by,
			s->session->settings->timeout_s);
}

int fb_step_open_work(struct fb_step_instance *i)
{
	uint64_t tokens = known_tokens(i);
	int err = open_compute(i);

	i->build.tokens = tokens ? tokens : i->device ? STEP_TOKENS : 1;
	if (!err)
		err = make_first(i);
	if (!err && tokens && !i->device)
		announce(i);
	if (err || tokens || !i->has_tokens)
		return err;
	err = calibrate(i);
	if (!err)
		err = remember(i);
	return err ? err : make(i);
}

void fb_step_close_work(struct fb_step_instance *i)
{
	free_lanes(i);
	fb_dag_close(&i->dag);
}

void fb_step_compute_text(const struct fb_step_instance *i, char *text, size_t n)
{
	if (i->device)
		fb_gpu_compute_describe(i->state->gpus[i->dag.rank], text, n);
	else
		snprintf(text, n, "%s f32", i->state->blas.library ? "OpenBLAS" : "own loop");
}
