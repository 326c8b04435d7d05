/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes all ranks' plans on the checker's machine (model.h). A step waits for everything it
 * needs, then does all its accesses, and only then posts to its links, as engines do.
 */
#include "common/plan/check.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/plan/model.h"

enum { BLOCKED = 1 };

/* The symbols a step works on. */
struct value {
	struct fb_symbol *symbols; /* [count] */
	uint64_t *sets;            /* [count][words] */
};

static const struct fb_step *current(const struct fb_model *m, const struct fb_thread *t)
{
	return &m->plans[t->rank]->lanes[t->lane].steps[t->step];
}

static struct fb_wire *wire_of(const struct fb_model *m, const struct fb_thread *t,
			       const struct fb_end *e, bool source)
{
	return &m->wires[source ? m->in_wire[t->rank][e->link] : m->out_wire[t->rank][e->link]];
}

/* Whether all dependencies are done; joins their clocks if `join`. */
static bool deps_done(struct fb_model *m, struct fb_thread *t, const struct fb_step *s, bool join)
{
	const struct fb_plan *p = m->plans[t->rank];

	for (int i = 0; i < s->ndep; i++) {
		const struct fb_dep *dep = &p->deps[s->first_dep + (uint32_t)i];
		const struct fb_thread *o = &m->thread[t->rank * m->nlanes + dep->lane];
		size_t at = (size_t)t->slice * p->lanes[dep->lane].nsteps + dep->step;

		if (o->finished.n <= at)
			return false;
		if (join)
			fb_model_join(m, t, &o->finished.posts[at]);
	}
	return true;
}

static bool source_ready(const struct fb_model *m, const struct fb_thread *t,
			 const struct fb_end *e)
{
	const struct fb_wire *w;

	if (e->kind == FB_LOCAL)
		return true;
	w = wire_of(m, t, e, true);
	return w->messages.n > w->messages.taken;
}

static bool destination_ready(const struct fb_model *m, const struct fb_thread *t,
			      const struct fb_end *e)
{
	const struct fb_wire *w;

	if (e->kind == FB_LOCAL || e->kind == FB_EXPOSE)
		return true;
	w = wire_of(m, t, e, false);
	if (e->kind == FB_PUSH)
		return w->credits.n > w->pushes;
	return w->messages.n - w->acks.n < (size_t)m->options->slots;
}

/* Reads a chunk of memory into *v. */
static int load(struct fb_model *m, struct fb_thread *t, int rank, const struct fb_end *e,
		uint32_t count, struct value *v)
{
	const struct fb_memory *mem = fb_model_memory(m, t->slice, rank, e->buffer);
	int err = fb_model_access(m, t, rank, e->buffer, e->index, count, false);

	if (err)
		return err;
	memcpy(v->symbols, mem->symbols + e->index, count * sizeof(*v->symbols));
	memcpy(v->sets, mem->sets + (size_t)e->index * m->words,
	       (size_t)count * m->words * sizeof(uint64_t));
	return FB_OK;
}

static int store(struct fb_model *m, struct fb_thread *t, int rank, const struct fb_end *e,
		 uint32_t count, const struct value *v)
{
	struct fb_memory *mem = fb_model_memory(m, t->slice, rank, e->buffer);
	int err = fb_model_access(m, t, rank, e->buffer, e->index, count, true);

	if (err)
		return err;
	memcpy(mem->symbols + e->index, v->symbols, count * sizeof(*v->symbols));
	memcpy(mem->sets + (size_t)e->index * m->words, v->sets,
	       (size_t)count * m->words * sizeof(uint64_t));
	return FB_OK;
}

/* Takes the next message of an in-link and reads what it carries or announces. */
static int receive(struct fb_model *m, struct fb_thread *t, const struct fb_step *s,
		   const struct fb_end *e, struct value *v)
{
	struct fb_wire *w = wire_of(m, t, e, true);
	struct fb_post *p = &w->messages.posts[w->messages.taken++];

	fb_model_join(m, t, p);
	if (p->count != s->count || p->phase != s->unit % m->plans[t->rank]->split)
		return fb_model_fail(m, t, "receives %u units from rank %d, which sent %u of "
				     "another extent", s->count, w->from, p->count);
	if (e->kind == FB_LINK) {
		if (!p->symbols)
			return fb_model_fail(m, t, "waits for a slot, rank %d is direct", w->from);
		memcpy(v->symbols, p->symbols, s->count * sizeof(*v->symbols));
		memcpy(v->sets, p->sets, (size_t)s->count * m->words * sizeof(uint64_t));
		free(p->symbols);
		free(p->sets);
		p->symbols = NULL;
		p->sets = NULL;
		return FB_OK;
	}
	if (p->symbols || p->buffer != e->buffer || p->index != e->index)
		return fb_model_fail(m, t, "expects [%u] of buffer %d, rank %d announced [%u] of "
				     "%d", e->index, e->buffer, w->from, p->index, p->buffer);
	if (e->kind == FB_PULL)
		w->units += t->run + t->slice ? 0 : s->count;
	return load(m, t, e->kind == FB_PULL ? w->from : t->rank, e, s->count, v);
}

/* v = v op x, symbolically. */
static int combine(struct fb_model *m, const struct fb_thread *t, uint32_t count,
		   struct value *v, const struct value *x)
{
	bool token = m->plans[0]->shape.collective == FB_BARRIER;

	for (uint32_t u = 0; u < count; u++) {
		uint64_t *a = v->sets + (size_t)u * m->words;
		const uint64_t *b = x->sets + (size_t)u * m->words;

		if (v->symbols[u].label != x->symbols[u].label)
			return fb_model_fail(m, t, "combines input piece %u with %u",
					     v->symbols[u].label - 1, x->symbols[u].label - 1);
		if (v->symbols[u].finished || x->symbols[u].finished)
			return fb_model_fail(m, t, "combines a finished value");
		for (uint32_t w = 0; w < m->words; w++) {
			if (a[w] & b[w] && !token)
				return fb_model_fail(m, t, "counts a contribution twice");
			a[w] |= b[w];
		}
	}
	return FB_OK;
}

static int gather_sources(struct fb_model *m, struct fb_thread *t, const struct fb_step *s,
			  struct value *v, struct value *x)
{
	const struct fb_end *e = m->plans[t->rank]->ends + s->first_end;

	for (int i = 0; i < s->nsrc; i++, e++) {
		struct value *into = i ? x : v;
		int err = e->kind == FB_LOCAL ? load(m, t, t->rank, e, s->count, into)
					      : receive(m, t, s, e, into);

		for (uint32_t u = 0; !err && u < s->count; u++)
			if (!into->symbols[u].label)
				err = fb_model_fail(m, t, "reads what nobody wrote (source %d)", i);
		if (!err && i)
			err = combine(m, t, s->count, v, x);
		if (err)
			return err;
	}
	for (uint32_t u = 0; s->flags & FB_FINISH && u < s->count; u++) {
		uint64_t n = 0;

		for (uint32_t w = 0; w < m->words; w++)
			n += (uint64_t)__builtin_popcountll(v->sets[(size_t)u * m->words + w]);
		if (n != (uint64_t)m->nranks)
			return fb_model_fail(m, t, "finishes a value with %d contributions",
					     (int)n);
		v->symbols[u].finished = true;
	}
	return FB_OK;
}

static int write_destinations(struct fb_model *m, struct fb_thread *t, const struct fb_step *s,
			      const struct value *v)
{
	const struct fb_end *e = m->plans[t->rank]->ends + s->first_end + s->nsrc;
	int err = FB_OK;

	for (int i = 0; i < s->ndst && !err; i++, e++) {
		struct fb_wire *w;

		if (e->kind == FB_LOCAL) {
			if (e->buffer == FB_IN && !m->plans[0]->shape.in_place)
				return fb_model_fail(m, t, "writes user input");
			err = store(m, t, t->rank, e, s->count, v);
		}
		if (e->kind != FB_PUSH)
			continue;
		w = wire_of(m, t, e, false);
		fb_model_join(m, t, &w->credits.posts[w->pushes++]);
		err = store(m, t, w->to, e, s->count, v);
	}
	return err;
}

/* Posts to out-links, acknowledges in-links: after all accesses of the step. */
static int post_all(struct fb_model *m, struct fb_thread *t, const struct fb_step *s,
		    const struct value *v)
{
	const struct fb_plan *plan = m->plans[t->rank];
	const struct fb_end *e = plan->ends + s->first_end;
	struct fb_post *p;

	for (int i = 0; i < s->nsrc; i++, e++)
		if (e->kind == FB_LINK || e->kind == FB_PULL)
			if (!fb_model_post(m, t, &wire_of(m, t, e, true)->acks))
				return FB_ENOMEM;
	for (int i = 0; i < s->ndst; i++, e++) {
		struct fb_wire *w;

		if (e->kind == FB_LOCAL)
			continue;
		w = wire_of(m, t, e, false);
		if (e->kind == FB_LINK && w->messages.n >= (size_t)m->options->slots)
			fb_model_join(m, t, &w->acks.posts[w->messages.n -
							   (size_t)m->options->slots]);
		p = fb_model_post(m, t, &w->messages);
		if (!p)
			return FB_ENOMEM;
		p->count = s->count;
		p->phase = s->unit % plan->split;
		p->buffer = e->buffer;
		p->index = e->index;
		w->units += t->run + t->slice || e->kind == FB_EXPOSE ? 0 : s->count;
		if (e->kind != FB_LINK)
			continue;
		p->symbols = malloc(s->count * sizeof(*p->symbols) + 1);
		p->sets = malloc((size_t)s->count * m->words * sizeof(uint64_t) + 1);
		if (!p->symbols || !p->sets)
			return FB_ENOMEM;
		memcpy(p->symbols, v->symbols, s->count * sizeof(*p->symbols));
		memcpy(p->sets, v->sets, (size_t)s->count * m->words * sizeof(uint64_t));
	}
	return FB_OK;
}

static double step_time(const struct fb_model *m, const struct fb_plan *plan,
			const struct fb_step *s)
{
	const struct fb_end *e = plan->ends + s->first_end;
	int moving = -1;

	for (int i = 0; i < s->nsrc; i++, e++)
		moving++;
	for (int i = 0; i < s->ndst; i++, e++)
		moving += e->kind != FB_EXPOSE;
	if (s->nsrc == 1 && e[-s->ndst - 1].kind == FB_ARRIVE && moving == 0)
		return 0;
	return moving * (double)s->count * m->options->unit_us;
}

static int execute_run(struct fb_model *m, struct fb_thread *t, const struct fb_step *s)
{
	const struct fb_plan *plan = m->plans[t->rank];
	const struct fb_end *e = plan->ends + s->first_end;
	struct value v, x;
	int err = FB_ENOMEM;

	for (int i = 0; i < s->nsrc; i++, e++)
		if (!source_ready(m, t, e))
			return BLOCKED;
	for (int i = 0; i < s->ndst; i++, e++)
		if (!destination_ready(m, t, e))
			return BLOCKED;
	deps_done(m, t, s, true);
	v.symbols = calloc((size_t)s->count * 2 + 1, sizeof(*v.symbols));
	v.sets = calloc((size_t)s->count * 2 * m->words + 1, sizeof(*v.sets));
	if (!v.symbols || !v.sets)
		goto free_value;
	x.symbols = v.symbols + s->count;
	x.sets = v.sets + (size_t)s->count * m->words;
	err = gather_sources(m, t, s, &v, &x);
	if (!err)
		err = write_destinations(m, t, s, &v);
	t->time_us += step_time(m, plan, s);
	if (!err)
		err = post_all(m, t, s, &v);
free_value:
	free(v.symbols);
	free(v.sets);
	return err;
}

static int execute_drain(struct fb_model *m, struct fb_thread *t, const struct fb_step *s)
{
	const struct fb_link *link = &m->plans[t->rank]->out_links[s->link];
	struct fb_wire *w = &m->wires[m->out_wire[t->rank][s->link]];
	size_t before = (size_t)t->run * (size_t)m->options->slices + t->slice;
	size_t wanted = before * link->pulls + s->upto;

	if (s->upto > link->pulls)
		return fb_model_fail(m, t, "drains %u pulls of %u", s->upto, link->pulls);
	if (w->acks.n < wanted)
		return BLOCKED;
	fb_model_join(m, t, &w->acks.posts[wanted - 1]);
	return FB_OK;
}

/* One step of thread t: FB_OK, BLOCKED or an error. */
static int execute(struct fb_model *m, struct fb_thread *t)
{
	const struct fb_step *s = current(m, t);
	struct fb_wire *w;
	int err;

	if (!deps_done(m, t, s, false))
		return BLOCKED;
	if (t->clock)
		t->clock[t - m->thread]++;
	if (s->kind == FB_RUN) {
		err = execute_run(m, t, s);
	} else if (s->kind == FB_DRAIN) {
		err = execute_drain(m, t, s);
	} else {
		w = &m->wires[m->in_wire[t->rank][s->link]];
		deps_done(m, t, s, true);
		err = fb_model_post(m, t, &w->credits) ? FB_OK : FB_ENOMEM;
	}
	if (err)
		return err;
	return fb_model_post(m, t, &t->finished) ? FB_OK : FB_ENOMEM;
}

static void note_depth(struct fb_model *m, const struct fb_thread *t)
{
	if (!t->run && !t->slice && t->depth > m->report->depth)
		m->report->depth = t->depth;
}

/* All lanes of the rank are through: prove its output, and start its next run. */
static int end_run(struct fb_model *m, int rank)
{
	struct fb_thread *t = &m->thread[rank * m->nlanes];
	int err;

	for (int l = 1; l < m->nlanes; l++)
		fb_model_join_clock(m, t->clock, t[l].clock);
	if (t->clock)
		t->clock[t - m->thread]++;
	for (int l = 0; l < m->nlanes && !t->run; l++)
		if (t[l].time_us > m->report->time_us)
			m->report->time_us = t[l].time_us;
	err = fb_model_check_output(m, rank);
	if (err || ++m->runs_done[rank] == (uint32_t)m->options->runs)
		return err;
	err = fb_model_reset_rank(m, rank);
	for (int l = 0; l < m->nlanes; l++) {
		struct fb_thread *o = &t[l];

		for (size_t i = 0; i < o->finished.n; i++)
			free(o->finished.posts[i].clock);
		o->finished.n = 0;
		fb_model_join_clock(m, o->clock, t->clock);
		o->done = false;
		o->step = 0;
		o->slice = 0;
		o->run++;
	}
	return err;
}

/* Runs t as far as it goes; *moved tells whether it went at all. */
static int run_thread(struct fb_model *m, struct fb_thread *t, bool *moved)
{
	uint32_t nsteps = m->plans[t->rank]->lanes[t->lane].nsteps;
	bool all = true;
	int err;

	while (!t->done) {
		if (t->step < nsteps) {
			err = execute(m, t);
			if (err == BLOCKED)
				return FB_OK;
			if (err)
				return err;
			t->step++;
		}
		*moved = true;
		if (t->step < nsteps)
			continue;
		note_depth(m, t);
		t->step = 0;
		if (++t->slice < (uint32_t)m->options->slices)
			continue;
		t->slice = 0;
		t->done = true;
		for (int l = 0; l < m->nlanes; l++)
			all &= m->thread[t->rank * m->nlanes + l].done;
		if (!all)
			return FB_OK;
		err = end_run(m, t->rank);
		if (err)
			return err;
		all = true;
	}
	return FB_OK;
}

static int run_all(struct fb_model *m)
{
	bool moved = true;
	int err = FB_OK;

	for (int r = 0; r < m->nranks && !err; r++)
		err = fb_model_reset_rank(m, r);
	for (uint32_t i = 0; i < m->threads; i++)
		fb_model_join_clock(m, m->thread[i].clock,
				    m->thread[m->thread[i].rank * m->nlanes].clock);
	while (moved && !err) {
		moved = false;
		for (uint32_t i = 0; i < m->threads && !err; i++)
			err = run_thread(m, &m->thread[i], &moved);
	}
	for (uint32_t i = 0; i < m->threads && !err; i++)
		if (!m->thread[i].done)
			err = fb_model_fail(m, &m->thread[i], "deadlock");
	return err;
}

static void sum_traffic(struct fb_model *m)
{
	struct fb_check_report *r = m->report;
	uint64_t *sent = calloc((size_t)m->nranks, sizeof(*sent));

	for (size_t i = 0; i < m->nwires; i++) {
		const struct fb_wire *w = &m->wires[i];

		r->messages += w->messages.n / (size_t)(m->options->runs * m->options->slices);
		r->total_units += w->units;
		r->max_link_units = w->units > r->max_link_units ? w->units : r->max_link_units;
		if (sent)
			sent[w->from] += w->units;
	}
	for (int i = 0; i < m->nranks; i++) {
		uint32_t blocks = m->plans[i]->scratch_blocks;

		if (sent && sent[i] > r->max_rank_units)
			r->max_rank_units = sent[i];
		if (blocks > r->max_scratch_blocks)
			r->max_scratch_blocks = blocks;
	}
	free(sent);
}

int fb_check_plans(struct fb_plan *const *plans, int nranks,
		   const struct fb_check_options *options, struct fb_check_report *report)
{
	struct fb_model m = {.plans = plans, .nranks = nranks, .options = options,
			     .report = report};
	int err;

	*report = (struct fb_check_report){.why = ""};
	err = fb_model_open(&m);
	if (!err)
		err = run_all(&m);
	if (!err)
		sum_traffic(&m);
	fb_model_close(&m);
	return err;
}
