/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step of all ranks on symbols; see check.h.
 *
 * Tasks run as soon as they may. A collective runs when the last member of its group arrives.
 */
#include "overlap/step/check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "overlap/step/symbol.h"

struct rank_model {
	const struct fb_dag *dag;
	struct fb_symbol_row *rows; /* [nbuffers] */
	bool *done;       /* [ntasks] */
	int *next;        /* [nlanes]: the lane's next task */
	int *order;       /* [ntasks]: next task of the same lane */
};

struct model {
	struct rank_model *ranks; /* [nranks] */
	int nranks;
	char *why;
	struct fb_symbol_piece *sums;       /* of a reduction, before they are written */
	size_t room;
};

/* Whether all of the span holds the content; FB_NONE: anything that was written. */
static int expect(const struct model *m, const struct rank_model *r, int task,
		  const struct fb_span *span, const struct fb_content *content)
{
	const struct fb_dag *d = r->dag;
	const struct fb_symbol_row *row = &r->rows[span->buffer];
	const struct fb_symbol_piece *p;

	for (uint64_t at = span->first; at < span->first + span->count; at = p->end) {
		struct fb_symbol right;

		p = fb_symbol_at(row, at);
		if (p->symbol.data == FB_NONE)
			return fb_dag_fail(d, task, m->why, "buffer %s is read at element %llu, "
					   "where nothing was written",
					   d->buffers[span->buffer].name, (unsigned long long)at);
		if (content->data == FB_NONE)
			continue;
		right = fb_symbol_of(d, content, span->first);
		if (!fb_symbol_alike(&right, &p->symbol))
			return fb_dag_fail(d, task, m->why, "buffer %s has other content at "
					   "element %llu than it should have",
					   d->buffers[span->buffer].name, (unsigned long long)at);
	}
	return FB_OK;
}

/* Copies between ranks, or on one. Spans of one rank do not overlap, or are the same. */
static int copy(const struct model *m, const struct rank_model *from, int buffer, uint64_t first,
		struct rank_model *to, int to_buffer, uint64_t to_first, uint64_t count, int task,
		bool adds)
{
	static const struct fb_content any = {.data = FB_NONE};
	const struct fb_span span = {buffer, first, count};
	int err = expect(m, from, task, &span, &any);

	for (uint64_t done = 0; done < count && !err;) {
		const struct fb_symbol_piece *p = fb_symbol_at(&from->rows[buffer], first + done);
		uint64_t n = p->end - first - done;
		struct fb_symbol s = p->symbol;

		n = n < count - done ? n : count - done;
		s.shift += (int64_t)(first - to_first);
		if (adds && !fb_symbol_add(&to->rows[to_buffer], to_first + done, &n, &s))
			return fb_dag_fail(from->dag, task, m->why, "it adds to other data in "
					   "buffer %s", to->dag->buffers[to_buffer].name);
		err = fb_symbol_put(&to->rows[to_buffer], to_first + done, to_first + done + n, s);
		done += n;
	}
	return err;
}

static int run_compute(const struct model *m, struct rank_model *r, int task)
{
	const struct fb_dag *d = r->dag;
	int err = FB_OK;

	for (int a = d->tasks[task].accesses; a != FB_NONE && !err; a = d->accesses[a].next) {
		const struct fb_access *x = &d->accesses[a];

		if (x->use == FB_ACCESS_READ)
			err = expect(m, r, task, &x->span, &x->content);
		if (x->use == FB_ACCESS_FROM)
			err = copy(m, r, x->span.buffer, x->span.first, r,
				   d->accesses[x->next].span.buffer,
				   d->accesses[x->next].span.first, x->span.count, task,
				   d->accesses[x->next].use == FB_ACCESS_ADD);
	}
	return err;
}

/* A collective under way: its members' ranks and tasks. */
struct meeting {
	int n;
	const int *rank, *task;
};

static const struct fb_task *task_of(const struct model *m, const struct meeting *g, int member)
{
	return &m->ranks[g->rank[member]].dag->tasks[g->task[member]];
}

/* The sum of all members' inputs from element `at` of the span on, and where it changes. */
static int add_up(const struct model *m, const struct meeting *g, uint64_t at, uint64_t end,
		  struct fb_symbol_piece *sum)
{
	static const struct fb_content any = {.data = FB_NONE};

	for (int i = 0; i < g->n; i++) {
		const struct fb_task *t = task_of(m, g, i);
		const struct rank_model *r = &m->ranks[g->rank[i]];
		const struct fb_span here = {t->in.buffer, t->in.first + at, 1};
		const struct fb_symbol_piece *p = fb_symbol_at(&r->rows[here.buffer], here.first);
		struct fb_symbol s = p->symbol;
		int err = expect(m, r, g->task[i], &here, &any);

		if (err)
			return err;
		s.shift += (int64_t)t->in.first;
		end = p->end - t->in.first < end ? p->end - t->in.first : end;
		if (i && (s.data != sum->symbol.data || s.shift != sum->symbol.shift))
			return fb_dag_fail(r->dag, g->task[i], m->why, "it reduces other data than "
					   "rank %d at element %llu", g->rank[0],
					   (unsigned long long)at);
		if (i)
			s.members += sum->symbol.members;
		sum->symbol = s;
	}
	sum->end = end;
	return FB_OK;
}

/* all_reduce: every member gets all; reduce_scatter: member i gets block i. */
static int reduce(struct model *m, const struct meeting *g)
{
	bool scatter = task_of(m, g, 0)->collective == FB_REDUCE_SCATTER;
	uint64_t block = task_of(m, g, 0)->count, all = task_of(m, g, 0)->in.count;
	size_t n = 0;
	int err = FB_OK;

	for (uint64_t at = 0; at < all && !err; at = m->sums[n++].end) {
		uint64_t end = scatter ? (at / block + 1) * block : all;

		if (n == m->room) {
			size_t room = 2 * (n + 8);
			struct fb_symbol_piece *more = realloc(m->sums, room * sizeof(*more));

			if (!more)
				return FB_ENOMEM;
			m->sums = more;
			m->room = room;
		}
		err = add_up(m, g, at, end, &m->sums[n]);
	}
	for (size_t p = 0; p < n && !err; p++)
		for (int i = 0; i < g->n && !err; i++) {
			uint64_t begin = p ? m->sums[p - 1].end : 0, end = m->sums[p].end;
			const struct fb_task *t = task_of(m, g, i);
			uint64_t less = scatter ? (uint64_t)i * block : 0;
			struct fb_symbol s = m->sums[p].symbol;

			if (scatter && begin / block != (uint64_t)i)
				continue;
			s.shift += (int64_t)(less - t->out.first);
			err = fb_symbol_put(&m->ranks[g->rank[i]].rows[t->out.buffer],
				  t->out.first + begin - less, t->out.first + end - less, s);
		}
	return err;
}

/* All collectives that only move blocks: what member `to` gets from member `from`. */
static int move(struct model *m, const struct meeting *g, int from, int to)
{
	const struct fb_task *a = task_of(m, g, from), *b = task_of(m, g, to);
	struct rank_model *source = &m->ranks[g->rank[from]], *target = &m->ranks[g->rank[to]];
	const struct fb_collective_info *info = fb_collective_info(a->collective);
	uint64_t count = a->counts ? a->counts[from * g->n + to] : a->count;
	uint64_t in = 0, out = 0;

	if ((info->in == FB_ONE_AT_ROOT && from != a->root) ||
	    (a->collective == FB_SEND_RECV && to != (from + 1) % g->n))
		return FB_OK;
	if (info->in == FB_BLOCK_PER_RANK)
		in = fb_task_block_at(a, g->n, from, to, true);
	if (info->out == FB_BLOCK_PER_RANK)
		out = fb_task_block_at(b, g->n, from, to, false);
	return copy(m, source, a->in.buffer, a->in.first + in, target, b->out.buffer,
		    b->out.first + out, count, g->task[from], false);
}

static int run_collective(struct model *m, const struct meeting *g)
{
	const struct fb_task *first = task_of(m, g, 0);
	const struct fb_collective_info *info = fb_collective_info(first->collective);
	int err = FB_OK;

	for (int i = 1; i < g->n; i++) {
		const struct fb_task *t = task_of(m, g, i);

		if (t->collective != first->collective || t->count != first->count ||
		    t->root != first->root || !t->counts != !first->counts ||
		    (t->counts && memcmp(t->counts, first->counts,
					 (size_t)g->n * (size_t)g->n * sizeof(*t->counts))))
			return fb_dag_fail(m->ranks[g->rank[i]].dag, g->task[i], m->why,
					   "it meets %s %d of rank %d, which is another collective "
					   "or size", first->name, first->number, g->rank[0]);
	}
	if (info->reduces)
		return first->collective == FB_ALL_REDUCE ||
		       first->collective == FB_REDUCE_SCATTER
			       ? reduce(m, g)
			       : fb_dag_fail(m->ranks[g->rank[0]].dag, g->task[0], m->why,
					     "%s is not for steps", info->name);
	for (int from = 0; from < g->n && !err; from++)
		for (int to = 0; to < g->n && !err; to++)
			err = move(m, g, from, to);
	return err;
}

static bool may_run(const struct rank_model *r, int task)
{
	for (int e = r->dag->tasks[task].deps; e != FB_NONE; e = r->dag->edges[e].next)
		if (!r->done[r->dag->edges[e].before])
			return false;
	return true;
}

static void finish(struct rank_model *r, int task)
{
	r->done[task] = true;
	r->next[r->dag->tasks[task].lane] = r->order[task];
}

/* The task of that group that a rank waits in; FB_NONE: in none. */
static int waits_in(const struct rank_model *r, int partition)
{
	for (int lane = 0; lane < r->dag->nlanes; lane++) {
		int task = r->next[lane];

		if (task != FB_NONE && r->dag->tasks[task].kind == FB_TASK_COLLECTIVE &&
		    r->dag->tasks[task].partition == partition && may_run(r, task))
			return task;
	}
	return FB_NONE;
}

/* The collective that `task` of rank `rank` is, if all of its group have arrived. */
static int try_collective(struct model *m, int rank, int task, bool *ran)
{
	const struct fb_dag *d = m->ranks[rank].dag;
	const struct fb_partition *p = &d->partitions[d->tasks[task].partition];
	int *members = calloc((size_t)m->nranks, 2 * sizeof(*members)), *tasks, err = FB_OK;
	struct meeting g = {0};

	*ran = false;
	if (!members)
		return FB_ENOMEM;
	tasks = members + m->nranks;
	for (int r = 0; r < m->nranks; r++) {
		if (p->colour[r] != p->colour[rank])
			continue;
		members[g.n] = r;
		tasks[g.n] = waits_in(&m->ranks[r], d->tasks[task].partition);
		if (tasks[g.n++] == FB_NONE)
			goto free_members;
	}
	g.rank = members;
	g.task = tasks;
	err = run_collective(m, &g);
	for (int i = 0; i < g.n && !err; i++)
		finish(&m->ranks[members[i]], tasks[i]);
	*ran = !err;
free_members:
	free(members);
	return err;
}

/* Everything that the lane can do now. */
static int run_lane(struct model *m, int rank, int lane, bool *moved)
{
	struct rank_model *r = &m->ranks[rank];
	int err = FB_OK;

	while (r->next[lane] != FB_NONE && may_run(r, r->next[lane]) && !err) {
		int task = r->next[lane];
		bool ran = true;

		if (r->dag->tasks[task].kind != FB_TASK_COLLECTIVE)
			err = run_compute(m, r, task);
		else if (fb_dag_takes_part(r->dag, task))
			err = try_collective(m, rank, task, &ran);
		if (err || !ran)
			break;
		if (!r->done[task])
			finish(r, task);
		*moved = true;
	}
	return err;
}

/* Checks that no task waits for ever and that outputs hold the expected data. */
static int check_end(const struct model *m, const struct rank_model *r)
{
	const struct fb_dag *d = r->dag;
	int err = FB_OK;

	for (int lane = 0; lane < d->nlanes && !err; lane++)
		if (r->next[lane] != FB_NONE)
			err = fb_dag_fail(d, r->next[lane], m->why, "it waits for ever");
	for (int k = 0; k < d->noutputs && !err; k++)
		err = expect(m, r, FB_NONE, &d->outputs[k].span, &d->outputs[k].content);
	return err;
}

static int open_rank(struct rank_model *r, const struct fb_dag *d)
{
	int err = FB_OK, *last;

	r->dag = d;
	r->rows = calloc((size_t)d->nbuffers + 1, sizeof(*r->rows));
	r->done = calloc((size_t)d->ntasks + 1, sizeof(*r->done));
	r->next = malloc(((size_t)d->nlanes + 1) * sizeof(*r->next));
	r->order = malloc(((size_t)d->ntasks + 1) * sizeof(*r->order));
	if (!r->rows || !r->done || !r->next || !r->order)
		return FB_ENOMEM;
	for (int b = 0; b < d->nbuffers && !err; b++)
		err = fb_symbol_open(&r->rows[b], d->buffers[b].count);
	/* Going backward, `last` holds the task that follows in each lane. */
	last = r->next;
	for (int lane = 0; lane < d->nlanes; lane++)
		last[lane] = FB_NONE;
	for (int i = d->ntasks - 1; i >= 0; i--) {
		r->order[i] = last[d->tasks[i].lane];
		last[d->tasks[i].lane] = i;
	}
	for (int i = 0; i < d->ninputs && !err; i++) {
		const struct fb_place_content *in = &d->inputs[i];

		if (in->span.count)
			err = fb_symbol_put(&r->rows[in->span.buffer], in->span.first,
				  in->span.first + in->span.count,
				  fb_symbol_of(d, &in->content, in->span.first));
	}
	return err;
}

static void close_rank(struct rank_model *r)
{
	for (int b = 0; r->rows && b < r->dag->nbuffers; b++)
		fb_symbol_close(&r->rows[b]);
	free(r->rows);
	free(r->done);
	free(r->next);
	free(r->order);
}

int fb_dag_simulate(const struct fb_dag *dags, int nranks, char why[FB_DAG_WHY_CHARS])
{
	struct model m = {.nranks = nranks, .why = why};
	bool moved = true;
	int err = FB_OK;

	m.ranks = calloc((size_t)nranks, sizeof(*m.ranks));
	if (!m.ranks)
		return FB_ENOMEM;
	for (int r = 0; r < nranks && !err; r++)
		err = open_rank(&m.ranks[r], &dags[r]);
	while (moved && !err) {
		moved = false;
		for (int r = 0; r < nranks && !err; r++)
			for (int lane = 0; lane < dags[r].nlanes && !err; lane++)
				err = run_lane(&m, r, lane, &moved);
	}
	for (int r = 0; r < nranks && !err; r++)
		err = check_end(&m, &m.ranks[r]);
	for (int r = 0; r < nranks; r++)
		close_rank(&m.ranks[r]);
	free(m.sums);
	free(m.ranks);
	return err;
}
