/* SPDX-License-Identifier: BSD-3-Clause */
/* Proofs that need the step of one rank only; see check.h. */
#include "overlap/step/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

int fb_dag_fail(const struct fb_dag *dag, int task, char why[FB_DAG_WHY_CHARS],
		const char *format, ...)
{
	const struct fb_task *t = task >= 0 ? &dag->tasks[task] : NULL;
	int used = snprintf(why, FB_DAG_WHY_CHARS, "rank %d", dag->rank);
	va_list args;

	if (t && t->lane >= 0 && t->lane < dag->nlanes)
		used += snprintf(why + used, FB_DAG_WHY_CHARS - (size_t)used,
				 ", lane %s, %s %d", dag->lanes[t->lane].name, t->name, t->number);
	used += snprintf(why + used, FB_DAG_WHY_CHARS - (size_t)used, ": ");
	va_start(args, format);
	vsnprintf(why + used, FB_DAG_WHY_CHARS - (size_t)used, format, args);
	va_end(args);
	return FB_EPLAN;
}

/* A rank's check under way. */
struct rank_check {
	const struct fb_dag *dag;
	struct fb_order order;
	struct fb_touch *touches; /* by task */
	size_t n, room;
	char *why;
};

static int check_span(const struct rank_check *c, int task, const struct fb_span *span)
{
	const struct fb_dag *d = c->dag;

	if (span->buffer < 0 || span->buffer >= d->nbuffers)
		return fb_dag_fail(d, task, c->why, "there is no buffer %d", span->buffer);
	if (span->first + span->count > d->buffers[span->buffer].count ||
	    span->first + span->count < span->first)
		return fb_dag_fail(d, task, c->why, "%llu elements from %llu on are outside of %s",
				   (unsigned long long)span->count,
				   (unsigned long long)span->first,
				   d->buffers[span->buffer].name);
	if (!d->alone && d->buffers[span->buffer].place != d->rank)
		return fb_dag_fail(d, task, c->why, "%s lies in the memory of rank %d",
				   d->buffers[span->buffer].name,
				   d->buffers[span->buffer].place);
	return FB_OK;
}

/* Blocks of the collective against the sizes of its spans. */
static int check_sizes(const struct rank_check *c, int task)
{
	const struct fb_task *t = &c->dag->tasks[task];
	const struct fb_partition *p = &c->dag->partitions[t->partition];
	const struct fb_collective_info *info = fb_collective_info(t->collective);
	uint64_t members = (uint64_t)p->members, in = t->count, out = in;

	if (t->collective == FB_ALL_TO_ALL_V && p->members != t->counted)
		return fb_dag_fail(c->dag, task, c->why, "its counts are of %d ranks, its group "
				   "has %d", t->counted, p->members);
	if (t->collective == FB_ALL_TO_ALL_V) {
		in = out = 0;
		for (int i = 0; i < p->members; i++) {
			in += t->counts[p->member * p->members + i];
			out += t->counts[i * p->members + p->member];
		}
		return in <= t->in.count && out <= t->out.count
			? FB_OK : fb_dag_fail(c->dag, task, c->why, "its blocks need larger spans");
	}
	in *= info->in == FB_BLOCK_PER_RANK ? members : 1;
	out *= info->out == FB_BLOCK_PER_RANK ? members : 1;
	if (in != t->in.count || out != t->out.count)
		return fb_dag_fail(c->dag, task, c->why,
				   "%s among %d ranks does not take %llu elements to %llu",
				   info->name, p->members, (unsigned long long)t->in.count,
				   (unsigned long long)t->out.count);
	if (fb_span_overlaps(&t->in, &t->out) &&
	    ((t->collective != FB_ALL_REDUCE && t->collective != FB_BROADCAST) ||
	     !fb_span_same(&t->in, &t->out)))
		return fb_dag_fail(c->dag, task, c->why, "input and output overlap");
	return FB_OK;
}

static int check_collective(const struct rank_check *c, int task)
{
	const struct fb_dag *d = c->dag;
	const struct fb_task *t = &d->tasks[task];
	int err;

	if (t->partition < 0 || t->partition >= d->npartitions)
		return fb_dag_fail(d, task, c->why, "there is no partition %d", t->partition);
	err = check_span(c, task, &t->in);
	if (!err)
		err = check_span(c, task, &t->out);
	if (err || !fb_dag_takes_part(d, task))
		return err;
	if (t->root < 0 || t->root >= d->partitions[t->partition].members)
		return fb_dag_fail(d, task, c->why, "its group has no member %d", t->root);
	return check_sizes(c, task);
}

static int check_task(const struct rank_check *c, int task)
{
	const struct fb_dag *d = c->dag;
	const struct fb_task *t = &d->tasks[task];
	int err = FB_OK;

	if (t->lane < 0 || t->lane >= d->nlanes)
		return fb_dag_fail(d, task, c->why, "there is no lane %d", t->lane);
	for (int e = t->deps; e != FB_NONE; e = d->edges[e].next)
		if (d->edges[e].before < 0 || d->edges[e].before >= task)
			return fb_dag_fail(d, task, c->why, "it waits for task %d, which is not an "
					   "earlier one: that may be a cycle", d->edges[e].before);
	for (int a = t->accesses; a != FB_NONE && !err; a = d->accesses[a].next) {
		const struct fb_access *x = &d->accesses[a];

		err = check_span(c, task, &x->span);
		if (!err && x->use == FB_ACCESS_FROM &&
		    x->span.count != d->accesses[x->next].span.count)
			err = fb_dag_fail(d, task, c->why, "a copy has two sizes");
	}
	return err || t->kind != FB_TASK_COLLECTIVE ? err : check_collective(c, task);
}

static int note(void *arg, const struct fb_touch *touch)
{
	struct rank_check *c = arg;

	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct fb_touch *more = realloc(c->touches, room * sizeof(*more));

		if (!more)
			return FB_ENOMEM;
		c->touches = more;
		c->room = room;
	}
	c->touches[c->n++] = *touch;
	return FB_OK;
}

static int check_race(const struct rank_check *c, const struct fb_touch *a,
		      const struct fb_touch *b)
{
	const struct fb_dag *d = c->dag;
	const struct fb_task *first = &d->tasks[a->task];

	if (a->task == b->task || !(a->write || b->write) ||
	    !fb_span_overlaps(&a->span, &b->span) ||
	    fb_order_before(&c->order, d, a->task, b->task))
		return FB_OK;
	return fb_dag_fail(d, b->task, c->why, "it %s buffer %s, which %s %d on lane %s %s, and "
			   "does not wait for it", b->write ? "writes" : "reads",
			   d->buffers[b->span.buffer].name, first->name, first->number,
			   d->lanes[first->lane].name, a->write ? "writes" : "reads");
}

static int by_buffer(const void *a, const void *b)
{
	const struct fb_touch *x = a, *y = b;

	if (x->span.buffer != y->span.buffer)
		return x->span.buffer < y->span.buffer ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

/* Every pair of accesses to one buffer, and the inputs. */
static int check_races(struct rank_check *c)
{
	const struct fb_dag *d = c->dag;
	int err = FB_OK;

	if (c->n)
		qsort(c->touches, c->n, sizeof(*c->touches), by_buffer);
	for (size_t i = 0; i < c->n && !err; i++) {
		const struct fb_touch *t = &c->touches[i];

		for (size_t k = i + 1; k < c->n && !err &&
		     c->touches[k].span.buffer == t->span.buffer; k++)
			err = check_race(c, t, &c->touches[k]);
		for (int k = 0; k < d->ninputs && t->write && !err; k++)
			if (fb_span_overlaps(&d->inputs[k].span, &t->span))
				err = fb_dag_fail(d, t->task, c->why, "it overwrites an input, so "
						  "the step could not be repeated");
	}
	return err;
}

static int check_group_order(const struct rank_check *c)
{
	const struct fb_dag *d = c->dag;

	for (int p = 0; p < d->npartitions; p++) {
		int before = FB_NONE;

		for (int i = 0; i < d->ntasks; i++) {
			if (d->tasks[i].kind != FB_TASK_COLLECTIVE || d->tasks[i].partition != p)
				continue;
			if (before != FB_NONE && !fb_order_before(&c->order, d, before, i))
				return fb_dag_fail(d, i, c->why, "nothing orders it behind %s %d",
						   d->tasks[before].name,
						   d->tasks[before].number);
			before = i;
		}
	}
	return FB_OK;
}

static int check_rank(const struct fb_dag *dag, uint64_t budget, char *why)
{
	struct rank_check c = {.dag = dag, .why = why};
	int err = dag->err;

	if (!err && budget && dag->elements > budget)
		err = fb_dag_fail(dag, FB_NONE, why, "its buffers hold %llu elements, more than "
				  "%llu", (unsigned long long)dag->elements,
				  (unsigned long long)budget);
	for (int i = 0; i < dag->ntasks && !err; i++)
		err = check_task(&c, i);
	for (int i = 0; i < dag->ninputs + dag->noutputs && !err; i++)
		err = check_span(&c, FB_NONE, i < dag->ninputs
				 ? &dag->inputs[i].span : &dag->outputs[i - dag->ninputs].span);
	if (!err && dag->alone && dag->rank && dag->ntasks)
		err = fb_dag_fail(dag, 0, why, "rank 0 alone runs this step");
	if (err)
		return err;
	err = fb_order_open(&c.order, dag);
	for (int i = 0; i < dag->ntasks && !err; i++) {
		fb_order_enter(&c.order, dag, i);
		err = fb_dag_touches(dag, i, note, &c);
	}
	if (!err)
		err = check_races(&c);
	if (!err)
		err = check_group_order(&c);
	fb_order_close(&c.order);
	free(c.touches);
	return err;
}

/* Buffers, partitions and sets of data are those of rank 0. */
static int check_alike(const struct fb_dag *a, const struct fb_dag *b, char *why)
{
	if (a->nbuffers != b->nbuffers || a->npartitions != b->npartitions ||
	    a->ndata != b->ndata || a->nranks != b->nranks)
		return fb_dag_fail(b, FB_NONE, why, "it has other buffers, partitions or data than "
				   "rank %d", a->rank);
	for (int i = 0; i < a->nbuffers; i++)
		if (a->buffers[i].count != b->buffers[i].count)
			return fb_dag_fail(b, FB_NONE, why, "buffer %s has another size than on "
					   "rank %d", b->buffers[i].name, a->rank);
	for (int i = 0; i < a->npartitions; i++)
		if (memcmp(a->partitions[i].colour, b->partitions[i].colour,
			   (size_t)a->nranks * sizeof(int)))
			return fb_dag_fail(b, FB_NONE, why, "partition %s has other groups than on "
					   "rank %d", b->partitions[i].name, a->rank);
	for (int i = 0; i < a->ndata; i++)
		if (a->members[i] != b->members[i])
			return fb_dag_fail(b, FB_NONE, why, "data %d has other members than on "
					   "rank %d", i, a->rank);
	return FB_OK;
}

int fb_dag_check(const struct fb_dag *dags, int nranks, uint64_t budget,
		 char why[FB_DAG_WHY_CHARS])
{
	int err = FB_OK;

	why[0] = '\0';
	for (int r = 0; r < nranks && !err; r++)
		err = check_rank(&dags[r], budget, why);
	for (int r = 1; r < nranks && !err; r++)
		err = check_alike(&dags[0], &dags[r], why);
	return err ? err : fb_dag_simulate(dags, nranks, why);
}
