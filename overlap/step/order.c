/* SPDX-License-Identifier: BSD-3-Clause */
/* The order that lanes and dependencies give, and the dependencies that data need; see dag.h. */
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/step/dag.h"

int fb_order_open(struct fb_order *order, const struct fb_dag *dag)
{
	size_t tasks = (size_t)dag->ntasks, lanes = (size_t)dag->nlanes;

	order->nlanes = dag->nlanes;
	order->position = calloc(tasks + 1, sizeof(*order->position));
	order->last = calloc(lanes + 1, sizeof(*order->last));
	order->known = calloc(tasks * lanes + 1, sizeof(*order->known));
	if (!order->position || !order->last || !order->known)
		return FB_ENOMEM;
	for (size_t lane = 0; lane < lanes; lane++)
		order->last[lane] = FB_NONE;
	return FB_OK;
}

void fb_order_close(struct fb_order *order)
{
	free(order->position);
	free(order->last);
	free(order->known);
}

/* `task` has been entered last; now `before` is complete before it as well. */
static void join(struct fb_order *order, const struct fb_dag *dag, int task, int before)
{
	uint32_t *mine = order->known + (size_t)task * (size_t)order->nlanes;
	const uint32_t *other = order->known + (size_t)before * (size_t)order->nlanes;
	int lane = dag->tasks[before].lane;
	uint32_t here = (uint32_t)order->position[before] + 1;

	for (int i = 0; i < order->nlanes; i++)
		mine[i] = other[i] > mine[i] ? other[i] : mine[i];
	mine[lane] = here > mine[lane] ? here : mine[lane];
}

void fb_order_enter(struct fb_order *order, const struct fb_dag *dag, int task)
{
	const struct fb_task *t = &dag->tasks[task];
	int before = order->last[t->lane];

	order->position[task] = before == FB_NONE ? 0 : order->position[before] + 1;
	order->last[t->lane] = task;
	if (before != FB_NONE)
		join(order, dag, task, before);
	for (int e = t->deps; e != FB_NONE; e = dag->edges[e].next)
		join(order, dag, task, dag->edges[e].before);
}

bool fb_order_before(const struct fb_order *order, const struct fb_dag *dag, int before, int task)
{
	return order->known[(size_t)task * (size_t)order->nlanes +
			    (size_t)dag->tasks[before].lane] > (uint32_t)order->position[before];
}

static int touch(int (*each)(void *, const struct fb_touch *), void *arg, int task,
		 struct fb_span span, bool write)
{
	const struct fb_touch t = {task, span, write};

	return span.count ? each(arg, &t) : FB_OK;
}

int fb_dag_touches(const struct fb_dag *dag, int task,
		   int (*each)(void *arg, const struct fb_touch *touch), void *arg)
{
	const struct fb_task *t = &dag->tasks[task];
	const struct fb_collective_info *info = fb_collective_info(t->collective);
	bool reads, writes;
	int err = FB_OK;

	for (int a = t->accesses; a != FB_NONE && !err; a = dag->accesses[a].next)
		err = touch(each, arg, task, dag->accesses[a].span,
			    dag->accesses[a].use >= FB_ACCESS_TO);
	if (err || t->kind != FB_TASK_COLLECTIVE || !fb_dag_takes_part(dag, task))
		return err;
	reads = info->in < FB_ONE_AT_ROOT || dag->partitions[t->partition].member == t->root;
	writes = info->out < FB_ONE_AT_ROOT || dag->partitions[t->partition].member == t->root;
	/* A broadcast in place leaves the root's buffer as it is. */
	if (t->collective == FB_BROADCAST && reads && fb_span_same(&t->in, &t->out))
		writes = false;
	if (reads)
		err = touch(each, arg, task, t->in, false);
	if (!err && writes)
		err = touch(each, arg, task, t->out, true);
	return err;
}

/* The accesses of earlier tasks to memory, from which the next task's dependencies follow. */
struct linker {
	struct fb_dag *dag;
	struct fb_order order;
	struct fb_touch *touches;
	int *next, *newest; /* [touches]: the buffer's one before, [nbuffers]: its newest */
	size_t n, room;
	bool *needed;      /* [ntasks] */
};

/* Marks the tasks that this access conflicts with. */
static int find_conflicts(void *arg, const struct fb_touch *mine)
{
	struct linker *l = arg;

	for (int i = l->newest[mine->span.buffer]; l->touches && i != FB_NONE; i = l->next[i]) {
		const struct fb_touch *other = &l->touches[i];

		if ((mine->write || other->write) && other->task != mine->task &&
		    fb_span_overlaps(&mine->span, &other->span))
			l->needed[other->task] = true;
	}
	return FB_OK;
}

static int note(void *arg, const struct fb_touch *mine)
{
	struct linker *l = arg;

	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		struct fb_touch *touches = realloc(l->touches, room * sizeof(*touches));
		int *next;

		if (touches)
			l->touches = touches;
		next = touches ? realloc(l->next, room * sizeof(*next)) : NULL;
		if (!next)
			return FB_ENOMEM;
		l->next = next;
		l->room = room;
	}
	l->touches[l->n] = *mine;
	l->next[l->n] = l->newest[mine->span.buffer];
	l->newest[mine->span.buffer] = (int)l->n++;
	return FB_OK;
}

/*
 * Adds the dependencies of one task, beginning with the latest earlier task: dependencies that this
 * one implies need no edge.
 */
static int link_task(struct linker *l, int task)
{
	struct fb_dag *dag = l->dag;
	const struct fb_task *t = &dag->tasks[task];

	fb_order_enter(&l->order, dag, task);
	(void)fb_dag_touches(dag, task, find_conflicts, l);
	for (int i = 0; i < task && t->kind == FB_TASK_COLLECTIVE; i++)
		if (dag->tasks[i].kind == FB_TASK_COLLECTIVE &&
		    dag->tasks[i].partition == t->partition)
			l->needed[i] = true;
	for (int i = task - 1; i >= 0; i--) {
		bool needed = l->needed[i];

		l->needed[i] = false;
		if (!needed || fb_order_before(&l->order, dag, i, task))
			continue;
		fb_dag_after(dag, task, i);
		join(&l->order, dag, task, i);
	}
	return fb_dag_touches(dag, task, note, l);
}

int fb_dag_link(struct fb_dag *dag)
{
	struct linker l = {.dag = dag};
	int err = dag->err ? dag->err : fb_order_open(&l.order, dag);

	dag->wanted = dag->nedges;
	l.newest = malloc(((size_t)dag->nbuffers + 1) * sizeof(*l.newest));
	l.needed = calloc((size_t)dag->ntasks + 1, sizeof(*l.needed));
	if (!l.newest || !l.needed)
		err = err ? err : FB_ENOMEM;
	for (int b = 0; b < dag->nbuffers && !err; b++)
		l.newest[b] = FB_NONE;
	for (int task = 0; task < dag->ntasks && !err; task++)
		err = link_task(&l, task);
	fb_order_close(&l.order);
	free(l.touches);
	free(l.next);
	free(l.newest);
	free(l.needed);
	dag->err = dag->err ? dag->err : err;
	return dag->err;
}
