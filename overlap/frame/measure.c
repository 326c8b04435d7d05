/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing alone and communicating alone, measured after each timed step of a case.
 *
 * Measured in turn, the parts and the whole step see the same clocks, temperature and foreign
 * traffic, although these change during a run. Each time is the maximum over ranks after the
 * harness's barrier, like a sample. A step and the computing after it are a pair: exposed time is
 * the median of the pairs' differences.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/barrier.h"
#include "overlap/frame/frame.h"

enum {
	TRACE_EVERY = 8, /* GPU: repetitions between two with an event around each task */
};

/* The parts of a step that compute. Copies communicate if one rank runs all devices. */
static unsigned computing(const struct fb_step_instance *i)
{
	return i->dag.alone ? FB_PART_COMPUTE : FB_PART_COMPUTE | FB_PART_COPY;
}

static unsigned communicating(const struct fb_step_instance *i)
{
	return i->dag.alone ? FB_PART_COPY : FB_PART_COMMUNICATE;
}

int fb_step_run_parts(struct fb_step_instance *i, unsigned parts, int calls)
{
	int err = FB_OK;

	if (i->device)
		return fb_gpu_run_steps(i->gpu, parts, calls);
	for (int call = 0; call < calls && !err; call++) {
		i->begin = fb_clock_now(i->state->session->clock);
		err = fb_host_run_step(i->host, parts, i->times);
		i->end = fb_clock_now(i->state->session->clock);
	}
	return err;
}

int fb_step_ready(struct fb_step_instance *i, unsigned parts, int calls)
{
	int err = FB_OK;

	/* Collectives work in place: they need what the step would have copied there. */
	if (!(parts & FB_PART_COPY)) {
		if (i->device)
			err = fb_gpu_run_ready(i->gpu, FB_PART_COPY, 1);
		if (!err)
			err = fb_step_run_parts(i, FB_PART_COPY, 1);
	}
	if (err)
		return err;
	if (i->device)
		return fb_gpu_run_ready(i->gpu, parts, calls);
	fb_host_run_ready(i->host);
	return FB_OK;
}

static bool is_background(const struct fb_step_instance *i, int task)
{
	return i->dag.lanes[i->dag.tasks[task].lane].background;
}

/* Microseconds that tasks of a kind took, added up; NAN: none was timed. */
static double busy_us(const struct fb_step_instance *i, enum fb_task_kind kind)
{
	double sum = 0;
	bool any = false;

	for (int t = 0; t < i->dag.ntasks; t++) {
		double took = i->times[t].end - i->times[t].begin;

		if (i->dag.tasks[t].kind != kind || isnan(took) || !i->beside[t])
			continue;
		sum += took;
		any = true;
	}
	return any ? sum * 1e6 : (double)NAN;
}

/* Returns the time from the end of the last computing task to the end of the last task. */
static double tail_us(const struct fb_step_instance *i)
{
	double computed = -HUGE_VAL, all = -HUGE_VAL;

	for (int t = 0; t < i->dag.ntasks; t++) {
		double end = i->times[t].end;

		if (isnan(end) || is_background(i, t))
			continue;
		all = fmax(all, end);
		if (i->dag.tasks[t].kind == FB_TASK_COMPUTE)
			computed = fmax(computed, end);
	}
	return isfinite(computed) ? (all - computed) * 1e6 : (double)NAN;
}

/* Returns the first begin and the last end of the tasks of a kind that do work. */
static struct fb_task_time span_of(const struct fb_step_instance *i, enum fb_task_kind kind)
{
	struct fb_task_time span = {HUGE_VAL, -HUGE_VAL};

	for (int t = 0; t < i->dag.ntasks; t++) {
		const struct fb_task *task = &i->dag.tasks[t];

		if (task->kind != kind || isnan(i->times[t].end) || is_background(i, t) ||
		    (kind == FB_TASK_COMPUTE && task->work.kind == FB_WORK_NONE))
			continue;
		span.begin = fmin(span.begin, i->times[t].begin);
		span.end = fmax(span.end, i->times[t].end);
	}
	return span;
}

/* Tasks that count for slowdown: all, or those that ran wholly while the other side ran. */
static void choose_tasks(struct fb_step_instance *i)
{
	const struct fb_task_time work = span_of(i, FB_TASK_COMPUTE);
	const struct fb_task_time talk = span_of(i, FB_TASK_COLLECTIVE);

	for (int t = 0; t < i->dag.ntasks; t++) {
		bool computes = i->dag.tasks[t].kind == FB_TASK_COMPUTE;
		const struct fb_task_time *other = computes ? &talk : &work;

		i->beside[t] = is_background(i, t) ? false :
			       i->dag.alone ? i->dag.tasks[t].work.kind != FB_WORK_NONE :
			       !i->state->program->own_tokens ||
			       (i->times[t].begin >= other->begin &&
				i->times[t].end <= other->end &&
				(!computes || i->dag.tasks[t].work.kind != FB_WORK_NONE));
	}
}

/* What the tasks' times of the last step say. */
static void take_times(struct fb_step_instance *i, struct fb_step_sample *s)
{
	choose_tasks(i);
	s->us[FB_MEASURE_BUSY_COMPUTE] = busy_us(i, FB_TASK_COMPUTE);
	s->us[FB_MEASURE_BUSY_COMMUNICATION] = busy_us(i, FB_TASK_COLLECTIVE);
	s->us[FB_MEASURE_TAIL] = tail_us(i);
}

/*
 * Collective: parts alone, behind the barrier, in a range of that name. On processors the tasks'
 * times come with it.
 */
static int time_parts(struct fb_step_instance *i, const char *name, unsigned parts, double *us)
{
	const struct fb_clock *clock = i->state->session->clock;
	uint64_t start;
	int err = fb_step_ready(i, parts, 1);

	if (err)
		return err;
	fb_barrier_wait(i->state->barrier);
	fb_nvtx_push(&i->state->nvtx, name);
	start = fb_clock_ticks(clock);
	err = fb_step_run_parts(i, parts, 1);
	*us = fb_clock_seconds(clock, fb_clock_ticks(clock) - start) * 1e6;
	fb_nvtx_pop(&i->state->nvtx);
	return err;
}

static int trace_parts(struct fb_step_instance *i, unsigned parts)
{
	int err;

	if (!i->device)
		return FB_OK;
	err = fb_step_ready(i, parts, 1);
	fb_barrier_wait(i->state->barrier);
	return err ? err : fb_gpu_run_traced(i->gpu, parts, i->times, &i->trace_error_s);
}

/* Room for one more sample, with nothing in it. */
static struct fb_step_sample *add_sample(struct fb_step_instance *i)
{
	if (i->nsamples == i->room) {
		size_t room = i->room ? 2 * i->room : 64;
		struct fb_step_sample *more = realloc(i->samples, room * sizeof(*more));

		if (!more)
			return NULL;
		i->samples = more;
		i->room = room;
	}
	for (int m = 0; m < FB_STEP_MEASURES; m++)
		i->samples[i->nsamples].us[m] = (double)NAN;
	return &i->samples[i->nsamples++];
}

/* The maximum over ranks; NAN only where all have none. */
static void reduce(const struct fb_group *world, struct fb_step_sample *s)
{
	for (int m = 0; m < FB_STEP_MEASURES; m++)
		s->us[m] = isnan(s->us[m]) ? -HUGE_VAL : s->us[m];
	MPI_Allreduce(MPI_IN_PLACE, s->us, FB_STEP_MEASURES, MPI_DOUBLE, MPI_MAX, world->comm);
	for (int m = 0; m < FB_STEP_MEASURES; m++)
		s->us[m] = isinf(s->us[m]) ? (double)NAN : s->us[m];
}

int fb_step_settle(void *instance)
{
	struct fb_step_instance *i = instance;
	struct fb_step_sample *s = add_sample(i);
	bool traced = !i->device || (i->nsamples % TRACE_EVERY == 1 && !i->dag.alone);
	int err = FB_OK;

	if (!s)
		return fb_error(FB_ENOMEM, "out of memory for samples");
	if (!i->fresh && i->parts == FB_PART_ALL) {
		err = traced ? trace_parts(i, i->parts) : FB_OK;
		if (!err && traced)
			take_times(i, s);
		if (!err)
			err = time_parts(i, "computing alone", computing(i),
					 &s->us[FB_MEASURE_COMPUTE]);
		if (!err && traced)
			err = trace_parts(i, computing(i));
		if (!err && traced)
			s->us[FB_MEASURE_ALONE_COMPUTE] = busy_us(i, FB_TASK_COMPUTE);
		if (!err)
			err = time_parts(i, "communicating alone", communicating(i),
					 &s->us[FB_MEASURE_COMMUNICATION]);
		if (!err && traced)
			err = trace_parts(i, communicating(i));
		if (!err && traced)
			s->us[FB_MEASURE_ALONE_COMMUNICATION] = busy_us(i, FB_TASK_COLLECTIVE);
		if (!err && fb_step_background(i))
			err = time_parts(i, "background alone", FB_PART_BACKGROUND,
					 &s->us[FB_MEASURE_BACKGROUND]);
		if (!err && i->base)
			err = time_parts(i->base, "base", FB_PART_ALL,
					 &s->us[FB_MEASURE_BASE]);
		if (err)
			return err;
	}
	reduce(i->state->session->world, s);
	if (!i->fresh && i->parts == FB_PART_ALL && !i->busy_known)
		err = fb_step_busy(i);
	i->fresh = false;
	return err;
}
