/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes draft steps out as a plan, adding what lowering left implicit: dependencies between
 * lanes, and for direct links the credits that allow a peer to push and the drains that wait
 * until a peer has pulled (credits.c says where they go).
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/draft.h"

/* A chunk that a peer may be pulling from. */
struct exposure {
	uint16_t link;
	uint8_t buffer;
	uint32_t ordinal; /* among the pulls of the link */
	uint32_t index, count;
};

/* Per unit: the last step that wrote it and, per lane, the last that read it (index + 1). */
struct usage {
	uint32_t *write_step, *read_step; /* read_step: [unit][FB_MAX_LANES] */
	uint8_t *write_lane;
};

struct emitter {
	const struct fb_drafts *d;
	struct fb_plan *plan;
	size_t ends_room, deps_room, steps_room[FB_MAX_LANES];
	struct exposure *exposed;
	size_t nexposed, exposed_room;
	struct usage usage[FB_BUFFERS];
	struct fb_credits credits;
};

static const struct fb_end *source(const struct emitter *e, const struct fb_draft *t, uint32_t i)
{
	return &e->d->srcs[t->first_src + i];
}

/* Whether a sink or source chunk of draft t overlaps [index, +count) of buffer. */
static bool overlaps(uint8_t b1, uint32_t i1, uint32_t n1, uint8_t b2, uint32_t i2, uint32_t n2)
{
	return b1 == b2 && i1 < i2 + n2 && i2 < i1 + n1;
}

static int add_step(struct emitter *e, int lane, struct fb_step step)
{
	struct fb_lane *l = &e->plan->lanes[lane];

	if (fb_grow(&l->steps, l->nsteps, &e->steps_room[lane], sizeof(*l->steps)))
		return FB_ENOMEM;
	l->steps[l->nsteps++] = step;
	return FB_OK;
}

static int add_end(struct emitter *e, struct fb_end end)
{
	struct fb_plan *p = e->plan;

	if (fb_grow(&p->ends, p->nends, &e->ends_room, sizeof(*p->ends)))
		return FB_ENOMEM;
	p->ends[p->nends++] = end;
	return FB_OK;
}

/* Waits for every pull of `link` up to and including `ordinal`. */
static int drain(struct emitter *e, int lane, uint16_t link, uint32_t ordinal)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->nexposed; i++)
		if (e->exposed[i].link != link || e->exposed[i].ordinal > ordinal)
			e->exposed[kept++] = e->exposed[i];
	e->nexposed = kept;
	return add_step(e, lane, (struct fb_step){.kind = FB_DRAIN, .link = link,
						  .upto = ordinal + 1});
}

/* Before this rank's memory is written, by it or by a peer: waits until no peer pulls it. */
static int drain_chunk(struct emitter *e, int lane, uint8_t buffer, uint32_t index,
		       uint32_t count)
{
	for (size_t i = 0; i < e->nexposed;) {
		struct exposure x = e->exposed[i];

		if (!overlaps(x.buffer, x.index, x.count, buffer, index, count)) {
			i++;
			continue;
		}
		if (drain(e, lane, x.link, x.ordinal))
			return FB_ENOMEM;
		i = 0;
	}
	return FB_OK;
}

static void need(uint32_t *wanted, int lane, int other, uint32_t step)
{
	if (other != lane && step > wanted[other])
		wanted[other] = step;
}

/* Collects the steps of other lanes that the access must wait for, and records the access. */
static void use(struct emitter *e, int lane, uint32_t *wanted, uint8_t buffer, uint32_t index,
		uint32_t count, bool write)
{
	struct usage *usage = &e->usage[buffer];
	uint32_t step = e->plan->lanes[lane].nsteps + 1;

	for (uint32_t u = index; u < index + count; u++) {
		uint32_t *reads = usage->read_step + (size_t)u * FB_MAX_LANES;

		if (usage->write_step[u])
			need(wanted, lane, usage->write_lane[u], usage->write_step[u]);
		if (!write) {
			reads[lane] = step;
			continue;
		}
		for (int l = 0; l < FB_MAX_LANES; l++) {
			if (reads[l])
				need(wanted, lane, l, reads[l]);
			reads[l] = 0;
		}
		usage->write_step[u] = step;
		usage->write_lane[u] = (uint8_t)lane;
	}
}

static int add_deps(struct emitter *e, const uint32_t *wanted, struct fb_step *step)
{
	struct fb_plan *p = e->plan;

	step->first_dep = p->ndeps;
	for (int l = 0; l < FB_MAX_LANES; l++) {
		if (!wanted[l])
			continue;
		if (fb_grow(&p->deps, p->ndeps, &e->deps_room, sizeof(*p->deps)))
			return FB_ENOMEM;
		p->deps[p->ndeps++] = (struct fb_dep){.lane = (uint16_t)l, .step = wanted[l] - 1};
		step->ndep++;
	}
	return FB_OK;
}

static int emit_credits(struct emitter *e, uint32_t at)
{
	for (int32_t c = e->credits.first[at]; c >= 0; c = e->credits.credits[c].next) {
		const struct fb_draft *t = &e->d->drafts[e->credits.credits[c].draft];
		struct fb_step step = {.kind = FB_CREDIT, .link = e->credits.credits[c].link};
		uint32_t wanted[FB_MAX_LANES] = {0};

		if (drain_chunk(e, t->lane, t->result_buffer, t->result_index, t->count))
			return FB_ENOMEM;
		if (e->plan->nlanes > 1)
			use(e, t->lane, wanted, t->result_buffer, t->result_index, t->count, true);
		if (add_deps(e, wanted, &step) || add_step(e, t->lane, step))
			return FB_ENOMEM;
	}
	return FB_OK;
}

static int expose(struct emitter *e, const struct fb_end *end, uint32_t count)
{
	struct fb_link *link = &e->plan->out_links[end->link];

	if (fb_grow(&e->exposed, e->nexposed, &e->exposed_room, sizeof(*e->exposed)))
		return FB_ENOMEM;
	e->exposed[e->nexposed++] = (struct exposure){
		.link = end->link, .buffer = end->buffer, .ordinal = link->pulls++,
		.index = end->index, .count = count,
	};
	return FB_OK;
}

/* The draft's destinations: remote ones first, since peers wait for them. */
static int emit_destinations(struct emitter *e, const struct fb_draft *t, struct fb_step *step)
{
	bool stores = t->has_result && !t->arrives;

	for (int32_t k = t->first_sink; k >= 0; k = e->d->sinks[k].next) {
		struct fb_end end = e->d->sinks[k].end;

		if (end.kind != FB_LOCAL) {
			struct fb_link *link = &e->plan->out_links[end.link];

			link->messages++;
			link->pushes += end.kind == FB_PUSH;
			if (end.kind == FB_EXPOSE && expose(e, &end, t->count))
				return FB_ENOMEM;
			if (end.kind == FB_LINK && t->count > e->plan->max_units)
				e->plan->max_units = t->count;
		}
		if (add_end(e, end))
			return FB_ENOMEM;
		step->ndst++;
	}
	if (!stores)
		return FB_OK;
	step->ndst++;
	return add_end(e, (struct fb_end){.kind = FB_LOCAL, .buffer = t->result_buffer,
					  .index = t->result_index});
}

static void count_uses(struct emitter *e, const struct fb_draft *t, uint32_t *wanted)
{
	for (uint32_t s = 0; s < t->nsrc; s++)
		if (source(e, t, s)->kind == FB_LOCAL || source(e, t, s)->kind == FB_ARRIVE)
			use(e, t->lane, wanted, source(e, t, s)->buffer, source(e, t, s)->index,
			    t->count, source(e, t, s)->kind == FB_ARRIVE);
	for (int32_t k = t->first_sink; k >= 0; k = e->d->sinks[k].next)
		if (e->d->sinks[k].end.kind == FB_LOCAL)
			use(e, t->lane, wanted, e->d->sinks[k].end.buffer,
			    e->d->sinks[k].end.index, t->count, true);
	if (t->has_result && !t->arrives)
		use(e, t->lane, wanted, t->result_buffer, t->result_index, t->count, true);
}

static int emit_step(struct emitter *e, uint32_t i)
{
	const struct fb_draft *t = &e->d->drafts[i];
	struct fb_step step = {.kind = FB_RUN, .flags = t->flags, .unit = t->unit,
			       .count = t->count, .nsrc = t->nsrc};
	uint32_t wanted[FB_MAX_LANES] = {0};
	int err;

	err = emit_credits(e, i);
	if (!err && t->has_result && !t->arrives)
		err = drain_chunk(e, t->lane, t->result_buffer, t->result_index, t->count);
	for (int32_t k = t->first_sink; !err && k >= 0; k = e->d->sinks[k].next)
		if (e->d->sinks[k].end.kind == FB_LOCAL)
			err = drain_chunk(e, t->lane, e->d->sinks[k].end.buffer,
					  e->d->sinks[k].end.index, t->count);
	if (err)
		return err;
	step.first_end = e->plan->nends;
	for (uint32_t s = 0; !err && s < t->nsrc; s++) {
		const struct fb_end *end = source(e, t, s);

		if (end->kind != FB_LOCAL) {
			struct fb_link *link = &e->plan->in_links[end->link];

			link->messages++;
			link->pushes += end->kind == FB_ARRIVE;
			link->pulls += end->kind == FB_PULL;
			if (t->first_sink >= 0 && !t->exposes) {
				e->plan->pipelined = true;
				e->plan->relays |= end->kind != FB_PULL;
			}
		}
		err = add_end(e, *end);
	}
	if (!err)
		err = emit_destinations(e, t, &step);
	if (!err && e->plan->nlanes > 1)
		count_uses(e, t, wanted);
	if (!err)
		err = add_deps(e, wanted, &step);
	return err ? err : add_step(e, t->lane, step);
}

static int open_emitter(struct emitter *e, const struct fb_drafts *d, struct fb_plan *plan)
{
	struct fb_link **links[2] = {&plan->in_links, &plan->out_links};
	uint16_t *counts[2] = {&plan->n_in_links, &plan->n_out_links};

	*e = (struct emitter){.d = d, .plan = plan};
	plan->shape = d->ops->shape;
	plan->rank = d->ops->rank;
	plan->split = d->ops->split;
	plan->scratch_blocks = d->ops->scratch_blocks;
	plan->nlanes = d->ops->nlanes;
	for (int out = 0; out < 2; out++) {
		*links[out] = malloc((d->nlinks[out] + 1) * sizeof(struct fb_link));
		if (!*links[out])
			return FB_ENOMEM;
		if (d->nlinks[out])
			memcpy(*links[out], d->links[out],
			       d->nlinks[out] * sizeof(struct fb_link));
		*counts[out] = (uint16_t)d->nlinks[out];
	}
	e->credits.first = malloc((d->n + 1) * sizeof(int32_t));
	e->credits.last = malloc((d->n + 1) * sizeof(int32_t));
	if (!e->credits.first || !e->credits.last)
		return FB_ENOMEM;
	memset(e->credits.first, 0xff, (d->n + 1) * sizeof(int32_t));
	memset(e->credits.last, 0xff, (d->n + 1) * sizeof(int32_t));
	for (int b = 0; b < FB_BUFFERS && plan->nlanes > 1; b++) {
		size_t n = (size_t)d->history[b].units + 1;

		e->usage[b].write_step = calloc(n, sizeof(uint32_t));
		e->usage[b].read_step = calloc(n * FB_MAX_LANES, sizeof(uint32_t));
		e->usage[b].write_lane = calloc(n, 1);
		if (!e->usage[b].write_step || !e->usage[b].read_step || !e->usage[b].write_lane)
			return FB_ENOMEM;
	}
	return FB_OK;
}

int fb_emit(const struct fb_drafts *d, struct fb_plan *plan)
{
	struct emitter e;
	int err = open_emitter(&e, d, plan);

	if (!err)
		err = fb_place_credits(d, &e.credits);
	for (uint32_t i = 0; !err && i < d->n; i++)
		err = emit_step(&e, i);
	while (!err && e.nexposed) {
		struct exposure x = e.exposed[e.nexposed - 1];

		for (size_t i = 0; i < e.nexposed; i++)
			if (e.exposed[i].link == x.link && e.exposed[i].ordinal > x.ordinal)
				x = e.exposed[i];
		err = drain(&e, plan->out_links[x.link].lane, x.link, x.ordinal);
	}
	for (int b = 0; b < FB_BUFFERS; b++) {
		free(e.usage[b].write_step);
		free(e.usage[b].read_step);
		free(e.usage[b].write_lane);
	}
	free(e.exposed);
	free(e.credits.credits);
	free(e.credits.first);
	free(e.credits.last);
	return err;
}
