/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the checker's machine: memory, clocks, posts, and what outputs must hold. */
#include "common/plan/model.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/ops.h"

struct fb_memory *fb_model_memory(const struct fb_model *m, uint32_t slice, int rank,
				  uint8_t buffer)
{
	return &m->memory[((size_t)slice * (size_t)m->nranks + (size_t)rank) * FB_BUFFERS +
			  buffer];
}

int fb_model_fail(struct fb_model *m, const struct fb_thread *t, const char *fmt, ...)
{
	char *why = m->report->why;
	va_list args;
	int n = 0;

	if (m->failed)
		return FB_EPLAN;
	m->failed = true;
	if (t)
		n = snprintf(why, FB_WHY_CHARS, "rank %d lane %d step %u (run %u, slice %u): ",
			     t->rank, t->lane, t->step, t->run, t->slice);
	va_start(args, fmt);
	vsnprintf(why + n, (size_t)(FB_WHY_CHARS - n), fmt, args);
	va_end(args);
	return FB_EPLAN;
}

void fb_model_join_clock(const struct fb_model *m, uint32_t *clock, const uint32_t *other)
{
	if (!clock || !other)
		return;
	for (uint32_t i = 0; i < m->threads; i++)
		clock[i] = clock[i] < other[i] ? other[i] : clock[i];
}

void fb_model_join(const struct fb_model *m, struct fb_thread *t, const struct fb_post *post)
{
	fb_model_join_clock(m, t->clock, post->clock);
	t->depth = t->depth < post->depth ? post->depth : t->depth;
	t->time_us = t->time_us < post->time_us ? post->time_us : t->time_us;
}

struct fb_post *fb_model_post(struct fb_model *m, const struct fb_thread *t, struct fb_queue *q)
{
	struct fb_post *p;

	if (fb_grow(&q->posts, q->n, &q->room, sizeof(*q->posts)))
		return NULL;
	p = &q->posts[q->n];
	*p = (struct fb_post){.time_us = t->time_us + m->options->alpha_us, .depth = t->depth + 1};
	if (t->clock) {
		p->clock = malloc(m->threads * sizeof(uint32_t));
		if (!p->clock)
			return NULL;
		memcpy(p->clock, t->clock, m->threads * sizeof(uint32_t));
	}
	q->n++;
	return p;
}

static int record_read(struct fb_access *a, uint32_t thread, uint32_t clock)
{
	size_t room = a->reads_room;

	for (uint32_t i = 0; i < a->nreads; i++)
		if (a->reads[i].thread == thread) {
			a->reads[i].clock = clock;
			return FB_OK;
		}
	if (fb_grow(&a->reads, a->nreads, &room, sizeof(*a->reads)))
		return FB_ENOMEM;
	a->reads_room = (uint32_t)room;
	a->reads[a->nreads++] = (struct fb_read){.thread = thread, .clock = clock};
	return FB_OK;
}

int fb_model_access(struct fb_model *m, struct fb_thread *t, int rank, uint8_t buffer,
		    uint32_t index, uint32_t count, bool write)
{
	struct fb_memory *mem = fb_model_memory(m, t->slice, rank, buffer);
	uint32_t self = (uint32_t)(t - m->thread);

	if (index + (uint64_t)count > mem->units)
		return fb_model_fail(m, t, "chunk [%u, +%u) of buffer %d of rank %d has only %u "
				     "units", index, count, buffer, rank, mem->units);
	for (uint32_t u = index; t->clock && u < index + count; u++) {
		struct fb_access *a = &mem->access[u];

		if (a->writer && a->write_clock > t->clock[a->writer - 1])
			return fb_model_fail(m, t, "%s of unit %u of buffer %d of rank %d is not "
					     "ordered after the write by rank %d",
					     write ? "write" : "read", u, buffer, rank,
					     m->thread[a->writer - 1].rank);
		if (!write) {
			if (record_read(a, self, t->clock[self]))
				return FB_ENOMEM;
			continue;
		}
		for (uint32_t i = 0; i < a->nreads; i++)
			if (a->reads[i].clock > t->clock[a->reads[i].thread])
				return fb_model_fail(m, t, "write of unit %u of buffer %d of rank "
						     "%d may overtake a read by rank %d", u,
						     buffer, rank,
						     m->thread[a->reads[i].thread].rank);
		a->nreads = 0;
		a->writer = self + 1;
		a->write_clock = t->clock[self];
	}
	return FB_OK;
}

/* Which input piece the unit is, so that only equal pieces may be combined. */
static uint32_t input_label(const struct fb_model *m, int rank, uint32_t unit)
{
	const struct fb_shape *s = &m->plans[0]->shape;
	uint32_t units = m->plans[0]->split * (uint32_t)m->nranks;

	if (fb_collective_info(s->collective)->reduces)
		return unit + 1;
	return (uint32_t)rank * units + unit + 1;
}

/* The input piece that output unit `unit` of `rank` must hold; *from: its rank, -1 for all. */
static uint32_t output_label(const struct fb_model *m, int rank, uint32_t unit, int *from)
{
	const struct fb_shape *s = &m->plans[0]->shape;
	uint32_t split = m->plans[0]->split, block = unit / split, sub = unit % split;

	*from = -1;
	switch (s->collective) {
	case FB_REDUCE_SCATTER:
	case FB_REDUCE_SCATTER_V:
		return input_label(m, 0, (uint32_t)rank * split + sub);
	case FB_ALL_GATHER:
	case FB_ALL_GATHER_V:
	case FB_GATHER:
		*from = (int)block;
		return input_label(m, *from, sub);
	case FB_BROADCAST:
		*from = s->root;
		return input_label(m, *from, sub);
	case FB_ALL_TO_ALL:
	case FB_ALL_TO_ALL_V:
	case FB_SCATTER:
		*from = s->collective == FB_SCATTER ? s->root : (int)block;
		return input_label(m, *from, (uint32_t)rank * split + sub);
	case FB_SEND_RECV:
		*from = (rank + m->nranks - 1) % m->nranks;
		return input_label(m, *from, sub);
	default:
		return input_label(m, 0, unit);
	}
}

int fb_model_reset_rank(struct fb_model *m, int rank)
{
	const struct fb_plan *plan = m->plans[rank];
	struct fb_thread *t = &m->thread[rank * m->nlanes];
	uint32_t split = plan->split, n;
	int err = FB_OK;

	n = (uint32_t)fb_collective_blocks(plan->shape.collective, false, rank, m->nranks,
					   plan->shape.root) * split;
	for (uint32_t slice = 0; slice < (uint32_t)m->options->slices && !err; slice++) {
		t->slice = slice;
		for (uint8_t b = 0; b < FB_BUFFERS && !err; b++) {
			struct fb_memory *mem = fb_model_memory(m, slice, rank, b);

			memset(mem->symbols, 0, mem->units * sizeof(*mem->symbols));
			if (b != FB_SCRATCH)
				err = fb_model_access(m, t, rank, b, 0, mem->units, true);
		}
		for (uint32_t u = 0; u < n && !err; u++) {
			uint8_t b = FB_IN;
			uint32_t at = u;
			struct fb_memory *mem;

			fb_plan_canonical(&plan->shape, rank, split, &b, &at);
			mem = fb_model_memory(m, slice, rank, b);
			mem->symbols[at].label = input_label(m, rank, u);
			memset(mem->sets + (size_t)at * m->words, 0, m->words * sizeof(uint64_t));
			mem->sets[(size_t)at * m->words + (size_t)rank / 64] |= 1ull << rank % 64;
		}
	}
	t->slice = 0;
	return err;
}

static bool set_is_all(const struct fb_model *m, const uint64_t *set)
{
	int n = 0;

	for (uint32_t w = 0; w < m->words; w++)
		n += __builtin_popcountll(set[w]);
	return n == m->nranks;
}

static int check_unit(struct fb_model *m, struct fb_thread *t, uint32_t slice, uint32_t unit)
{
	const struct fb_plan *plan = m->plans[t->rank];
	bool reduces = fb_collective_info(plan->shape.collective)->reduces;
	uint8_t b = FB_OUT;
	uint32_t at = unit, want;
	const struct fb_memory *mem;
	const uint64_t *set;
	int from;

	fb_plan_canonical(&plan->shape, t->rank, plan->split, &b, &at);
	mem = fb_model_memory(m, slice, t->rank, b);
	set = mem->sets + (size_t)at * m->words;
	want = output_label(m, t->rank, unit, &from);
	if (!mem->symbols[at].label)
		return fb_model_fail(m, t, "output unit %u was never written", unit);
	if (mem->symbols[at].label != want)
		return fb_model_fail(m, t, "output unit %u holds input piece %u, not %u", unit,
				     mem->symbols[at].label - 1, want - 1);
	if (from < 0 && !set_is_all(m, set))
		return fb_model_fail(m, t, "output unit %u lacks contributions", unit);
	if (from >= 0 && !(set[from / 64] >> (from % 64) & 1))
		return fb_model_fail(m, t, "output unit %u is not from rank %d", unit, from);
	if (reduces && plan->shape.collective != FB_BARRIER && m->nranks > 1 &&
	    !mem->symbols[at].finished)
		return fb_model_fail(m, t, "output unit %u was not finished", unit);
	return FB_OK;
}

int fb_model_check_output(struct fb_model *m, int rank)
{
	const struct fb_plan *plan = m->plans[rank];
	struct fb_thread *t = &m->thread[rank * m->nlanes];
	uint32_t units = (uint32_t)fb_collective_blocks(plan->shape.collective, true, rank,
							m->nranks, plan->shape.root) *
			 plan->split;
	int err = FB_OK;

	for (uint32_t slice = 0; slice < (uint32_t)m->options->slices && !err; slice++) {
		t->slice = slice;
		for (uint32_t u = 0; u < units && !err; u++) {
			uint8_t b = FB_OUT;
			uint32_t at = u;

			fb_plan_canonical(&plan->shape, rank, plan->split, &b, &at);
			err = fb_model_access(m, t, rank, b, at, 1, false);
			if (!err)
				err = check_unit(m, t, slice, u);
		}
	}
	t->slice = 0;
	return err;
}

static int open_memory(struct fb_model *m)
{
	size_t n = (size_t)m->options->slices * (size_t)m->nranks * FB_BUFFERS;

	m->memory = calloc(n, sizeof(*m->memory));
	if (!m->memory)
		return FB_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct fb_memory *mem = &m->memory[i];
		int rank = (int)(i / FB_BUFFERS) % m->nranks;
		const struct fb_plan *p = m->plans[rank];

		mem->units = fb_buffer_units(&p->shape, rank, p->split, p->scratch_blocks,
					     (enum fb_buffer)(i % FB_BUFFERS));
		mem->symbols = calloc((size_t)mem->units + 1, sizeof(*mem->symbols));
		mem->sets = calloc(((size_t)mem->units + 1) * m->words, sizeof(uint64_t));
		mem->access = calloc((size_t)mem->units + 1, sizeof(*mem->access));
		if (!mem->symbols || !mem->sets || !mem->access)
			return FB_ENOMEM;
	}
	return FB_OK;
}

static int open_thread(struct fb_model *m, uint32_t i)
{
	struct fb_thread *t = &m->thread[i];

	t->rank = (int)i / m->nlanes;
	t->lane = (int)i % m->nlanes;
	if (!m->options->no_clocks) {
		t->clock = calloc(m->threads, sizeof(uint32_t));
		if (!t->clock)
			return FB_ENOMEM;
		t->clock[i] = 1;
	}
	return FB_OK;
}

/* Pairs the out-links of all ranks with the in-links of their peers. */
static int open_wires(struct fb_model *m)
{
	for (int r = 0; r < m->nranks; r++) {
		const struct fb_plan *p = m->plans[r];

		m->in_wire[r] = calloc((size_t)p->n_in_links + 1, sizeof(uint32_t));
		m->out_wire[r] = calloc((size_t)p->n_out_links + 1, sizeof(uint32_t));
		if (!m->in_wire[r] || !m->out_wire[r])
			return FB_ENOMEM;
		for (int l = 0; l < p->n_out_links; l++) {
			if (fb_grow(&m->wires, m->nwires, &m->wires_room, sizeof(*m->wires)))
				return FB_ENOMEM;
			m->out_wire[r][l] = (uint32_t)m->nwires;
			m->wires[m->nwires++] = (struct fb_wire){
				.from = r, .to = p->out_links[l].peer, .lane = p->out_links[l].lane,
			};
		}
	}
	for (int r = 0; r < m->nranks; r++)
		for (int l = 0; l < m->plans[r]->n_in_links; l++) {
			const struct fb_link *in = &m->plans[r]->in_links[l];
			const struct fb_plan *p = m->plans[in->peer];
			int o = 0;

			while (o < p->n_out_links && (p->out_links[o].peer != r ||
						      p->out_links[o].lane != in->lane))
				o++;
			if (o == p->n_out_links)
				return fb_model_fail(m, NULL, "rank %d receives from rank %d, "
						     "which does not send", r, in->peer);
			m->in_wire[r][l] = m->out_wire[in->peer][o];
		}
	return FB_OK;
}

int fb_model_open(struct fb_model *m)
{
	size_t n = (size_t)m->nranks;
	int err;

	for (int r = 0; r < m->nranks; r++)
		m->nlanes = m->plans[r]->nlanes > m->nlanes ? m->plans[r]->nlanes : m->nlanes;
	m->threads = (uint32_t)(m->nranks * m->nlanes);
	m->words = (uint32_t)(m->nranks + 63) / 64;
	m->thread = calloc(m->threads, sizeof(*m->thread));
	m->in_wire = calloc(n, sizeof(*m->in_wire));
	m->out_wire = calloc(n, sizeof(*m->out_wire));
	m->runs_done = calloc(n, sizeof(*m->runs_done));
	if (!m->thread || !m->in_wire || !m->out_wire || !m->runs_done)
		return FB_ENOMEM;
	for (uint32_t i = 0; i < m->threads; i++)
		if (open_thread(m, i))
			return FB_ENOMEM;
	err = open_memory(m);
	return err ? err : open_wires(m);
}

static void free_queue(struct fb_queue *q)
{
	for (size_t i = 0; i < q->n; i++) {
		free(q->posts[i].symbols);
		free(q->posts[i].sets);
		free(q->posts[i].clock);
	}
	free(q->posts);
}

void fb_model_close(struct fb_model *m)
{
	size_t n = (size_t)m->options->slices * (size_t)m->nranks * FB_BUFFERS;

	for (size_t i = 0; m->memory && i < n; i++) {
		for (uint32_t u = 0; m->memory[i].access && u < m->memory[i].units; u++)
			free(m->memory[i].access[u].reads);
		free(m->memory[i].symbols);
		free(m->memory[i].sets);
		free(m->memory[i].access);
	}
	for (size_t i = 0; i < m->nwires; i++) {
		free_queue(&m->wires[i].messages);
		free_queue(&m->wires[i].credits);
		free_queue(&m->wires[i].acks);
	}
	for (uint32_t i = 0; m->thread && i < m->threads; i++) {
		free_queue(&m->thread[i].finished);
		free(m->thread[i].clock);
	}
	for (int r = 0; r < m->nranks; r++) {
		if (m->in_wire)
			free(m->in_wire[r]);
		if (m->out_wire)
			free(m->out_wire[r]);
	}
	free(m->memory);
	free(m->wires);
	free(m->thread);
	free(m->in_wire);
	free(m->out_wire);
	free(m->runs_done);
}
