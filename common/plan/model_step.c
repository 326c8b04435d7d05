/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one step on the checker's machine. A step waits for everything it needs, then does all its
 * accesses, and only then posts to its links, as engines do.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/model.h"

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

		if ((e->kind == FB_LOCAL || e->kind == FB_PUSH) && e->buffer == FB_IN &&
		    !m->plans[0]->shape.in_place)
			return fb_model_fail(m, t, "writes user input");
		if (e->kind == FB_LOCAL)
			err = store(m, t, t->rank, e, s->count, v);
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

/* The rank in whose memory the end lies, or -1. */
static int rank_of(const struct fb_plan *plan, const struct fb_end *e)
{
	switch (e->kind) {
	case FB_LOCAL:
	case FB_ARRIVE:
		return plan->rank;
	case FB_PULL:
		return plan->in_links[e->link].peer;
	case FB_PUSH:
		return plan->out_links[e->link].peer;
	default:
		return -1;
	}
}

/*
 * This machine loads all sources before it stores, and takes messages one after the other; engines
 * move piece by piece, and begin when all ends are ready. So a written chunk must not partly
 * overlap another chunk of the step (it may be the same as a source), and a step can use a link
 * only once.
 */
static int check_ends(struct fb_model *m, const struct fb_thread *t, const struct fb_step *s)
{
	const struct fb_plan *plan = m->plans[t->rank];
	const struct fb_end *ends = plan->ends + s->first_end;

	for (int i = 1; i < s->nsrc + s->ndst; i++)
		for (int k = 0; k < i; k++) {
			const struct fb_end *a = &ends[i], *b = &ends[k];
			bool written = i >= s->nsrc, both = k >= s->nsrc;

			if (written == both && a->link == b->link && a->kind != FB_LOCAL &&
			    b->kind != FB_LOCAL)
				return fb_model_fail(m, t, "uses a link twice");
			if (!written || a->buffer != b->buffer || rank_of(plan, a) < 0 ||
			    rank_of(plan, a) != rank_of(plan, b) ||
			    a->index >= b->index + s->count || b->index >= a->index + s->count)
				continue;
			if (both || a->index != b->index)
				return fb_model_fail(m, t, "writes across its own ends %d and %d",
						     k, i);
		}
	return FB_OK;
}

static int execute_run(struct fb_model *m, struct fb_thread *t, const struct fb_step *s)
{
	const struct fb_plan *plan = m->plans[t->rank];
	const struct fb_end *e = plan->ends + s->first_end;
	struct value v, x;
	int err;

	for (int i = 0; i < s->nsrc; i++, e++)
		if (!source_ready(m, t, e))
			return FB_BLOCKED;
	for (int i = 0; i < s->ndst; i++, e++)
		if (!destination_ready(m, t, e))
			return FB_BLOCKED;
	err = t->run + t->slice ? FB_OK : check_ends(m, t, s);
	if (err)
		return err;
	err = FB_ENOMEM;
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
		return FB_BLOCKED;
	fb_model_join(m, t, &w->acks.posts[wanted - 1]);
	return FB_OK;
}

int fb_model_execute(struct fb_model *m, struct fb_thread *t)
{
	const struct fb_step *s = current(m, t);
	struct fb_post *done;
	struct fb_wire *w;
	int err;

	if (!deps_done(m, t, s, false))
		return FB_BLOCKED;
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
	done = fb_model_post(m, t, &t->finished);
	if (!done)
		return FB_ENOMEM;
	/* Other lanes of this rank see it at once, without a message. */
	done->depth = t->depth;
	done->time_us = t->time_us;
	return FB_OK;
}
