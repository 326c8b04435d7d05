/* SPDX-License-Identifier: BSD-3-Clause */
/* The tasks of a step over time; see common/record/timeline.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/barrier.h"
#include "common/record/timeline.h"
#include "overlap/frame/frame.h"

/* One step, with the times of its tasks. */
static int run_once(struct fb_step_instance *i)
{
	int err = fb_step_ready(i, i->parts, 1);

	if (err)
		return err;
	fb_barrier_wait(i->state->barrier);
	if (i->device)
		return fb_gpu_run_traced(i->gpu, i->parts, i->times, &i->trace_error_s);
	return fb_step_run_parts(i, i->parts, 1);
}

/* Traffic of somebody else is no communication of the step, as in the columns. */
static enum fb_timeline_kind kind_of(const struct fb_task *task, const struct fb_dag_lane *lane)
{
	if (task->kind == FB_TASK_COMPUTE)
		return FB_SPAN_COMPUTE;
	return task->kind == FB_TASK_COLLECTIVE && !lane->background ? FB_SPAN_COMMUNICATE
								     : FB_SPAN_OTHER;
}

static int take_spans(const struct fb_step_instance *i, struct fb_timeline_span *spans)
{
	int n = 0;

	for (int t = 0; t < i->dag.ntasks; t++) {
		const struct fb_task *task = &i->dag.tasks[t];
		const struct fb_dag_lane *lane = &i->dag.lanes[task->lane];
		struct fb_timeline_span *s = &spans[n];

		if (isnan(i->times[t].begin))
			continue;
		s->rank = i->dag.rank;
		s->kind = kind_of(task, lane);
		snprintf(s->lane, sizeof(s->lane), "rank %d %s", i->dag.rank, lane->name);
		if (i->dag.alone)
			snprintf(s->lane, sizeof(s->lane), "rank %d %s %d", i->dag.rank,
				 lane->name, lane->place);
		snprintf(s->name, sizeof(s->name), "%s %d", task->name, task->number);
		s->begin_us = i->times[t].begin * 1e6;
		s->end_us = i->times[t].end * 1e6;
		n++;
	}
	return n;
}

/* Collective: all ranks' spans on rank 0; *all is NULL elsewhere. 0 or FB_ENOMEM. */
static int gather(const struct fb_group *w, const struct fb_timeline_span *own, int n,
		  struct fb_timeline_span **all, int *count)
{
	int bytes = n * (int)sizeof(*own), total = 0, err = FB_OK;
	int *sizes = calloc(2 * (size_t)w->nranks, sizeof(*sizes));

	*all = NULL;
	err = fb_group_agree(w, sizes ? FB_OK : FB_ENOMEM);
	if (err || !sizes)
		goto free_sizes;
	MPI_Gather(&bytes, 1, MPI_INT, sizes, 1, MPI_INT, 0, w->comm);
	for (int r = 0; r < w->nranks; r++) {
		sizes[w->nranks + r] = total;
		total += sizes[r];
	}
	if (!w->rank)
		*all = malloc((size_t)total + 1);
	err = fb_group_agree(w, w->rank || *all ? FB_OK : FB_ENOMEM);
	if (err)
		goto free_sizes;
	MPI_Gatherv(own, bytes, MPI_BYTE, *all, sizes, sizes + w->nranks, MPI_BYTE, 0, w->comm);
	*count = total / (int)sizeof(*own);
free_sizes:
	free(sizes);
	return err;
}

int fb_step_trace(struct fb_step_instance *i)
{
	const struct fb_group *w = i->state->session->world;
	struct fb_timeline_span *own = calloc((size_t)i->dag.ntasks + 1, sizeof(*own));
	struct fb_timeline_span *all = NULL;
	char row[FB_TIMELINE_ROW_CHARS];
	double zero = HUGE_VAL;
	int count = 0, err;

	err = fb_group_agree(w, own ? FB_OK : fb_error(FB_ENOMEM, "out of memory for a trace"));
	if (!err)
		err = fb_group_agree(w, run_once(i));
	if (!err && own)
		err = gather(w, own, take_spans(i, own), &all, &count);
	for (int k = 0; all && k < count; k++)
		zero = fmin(zero, all[k].begin_us);
	if (!err && !w->rank && all) {
		fb_timeline_row(i->state->program->name, i->key, row);
		err = fb_timeline_append("trace", i->state->own->trace, row, all, (size_t)count,
					 zero, i->trace_error_s * 1e6);
	}
	free(all);
	free(own);
	return fb_group_agree(w, err);
}
