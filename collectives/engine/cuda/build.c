/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds records from plans; see build.h.
 *
 * A step becomes a record per piece; the first waits and the last posts. A record that only waits
 * is merged into the next one, and a record that only posts into the previous one. No rank can
 * observe the difference, and each merge saves two barriers of the block's threads.
 */
#include "collectives/engine/cuda/build.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/engine/cuda/draft.h"
#include "collectives/engine/cuda/proxy_links.h"
#include "common/base/error.h"

/* --- addresses ------------------------------------------------------------------------------- */

static const struct fb_plan *plan_of(const struct fb_gpu_builder *b)
{
	return b->view->plans[b->channel];
}

static bool by_proxy(const struct fb_gpu_view *v, const struct fb_link *l)
{
	return v->via && v->via[l->peer] == FB_GPU_PROXIED;
}

/* The link's lane need not be the one that waits: another may drain it. */
static uint64_t own_counter(const struct fb_gpu_builder *b, const struct fb_link *l,
			    enum fb_gpu_counter_kind kind)
{
	const struct fb_gpu_view *v = b->view;

	return v->links(v->arg, v->rank, l->peer) +
	       fb_gpu_counter_offset(v->shape, v->layout, b->channel, l->lane, l->peer, kind);
}

static uint64_t peer_counter(const struct fb_gpu_builder *b, const struct fb_link *l,
			     enum fb_gpu_counter_kind kind)
{
	const struct fb_gpu_view *v = b->view;

	return v->links(v->arg, l->peer, v->rank) +
	       fb_gpu_counter_offset(v->shape, v->layout, b->channel, l->lane,
				     by_proxy(v, l) ? l->peer : v->rank, kind);
}

static uint64_t progress(const struct fb_gpu_builder *b, int lane)
{
	const struct fb_gpu_view *v = b->view;
	uint64_t block = (uint64_t)b->channel * (uint64_t)v->shape->nlanes + (uint64_t)lane;

	return v->links(v->arg, v->rank, v->rank) + v->layout->progress + block * FB_GPU_LINE;
}

uint64_t fb_gpu_slots_address(const struct fb_gpu_view *v, int rank, int peer)
{
	return (v->slots ? v->slots : v->links)(v->arg, rank, peer);
}

static struct fb_gpu_end slot_end(const struct fb_gpu_builder *b, bool out, uint16_t link,
				  uint64_t offset)
{
	const struct fb_gpu_view *v = b->view;
	const struct fb_link *l = out ? &plan_of(b)->out_links[link] : &plan_of(b)->in_links[link];
	size_t places = (size_t)v->shape->nchannels * FB_MAX_LANES;
	size_t place = (size_t)l->peer * places + (size_t)b->channel * FB_MAX_LANES + l->lane;
	const uint64_t *slots = !out ? v->layout->in_slots
				: by_proxy(v, l) ? v->layout->proxied_slots
						: v->layout->out_slots;

	return (struct fb_gpu_end){
		.address = fb_gpu_slots_address(v, out ? l->peer : v->rank,
						out ? v->rank : l->peer) +
			   slots[place] + offset,
		.index = (uint32_t)b->done[out][link],
		.per_call = (uint32_t)(l->messages * v->shape->slices),
		.stride = v->shape->stride,
		.mask = fb_gpu_link_slots(v->shape, l) - 1,
		.is_slot = 1,
	};
}

static struct fb_gpu_counter number(uint64_t address, uint64_t per_call, int64_t index)
{
	return (struct fb_gpu_counter){.address = address, .index = (int32_t)index,
				       .per_call = (uint32_t)per_call};
}

/* --- what a step waits for and posts --------------------------------------------------------- */

static uint64_t messages(const struct fb_gpu_builder *b, const struct fb_link *l)
{
	return l->messages * b->view->shape->slices;
}

static void wait_for_deps(struct fb_gpu_builder *b, const struct fb_step *s, struct fb_gpu_draft *d)
{
	const struct fb_plan *p = plan_of(b);

	for (int i = 0; i < s->ndep; i++) {
		const struct fb_dep *dep = &p->deps[s->first_dep + (uint32_t)i];
		uint64_t steps = p->lanes[dep->lane].nsteps;

		d->late = true;
		fb_gpu_draft_wait(d, number(progress(b, dep->lane), steps * b->view->shape->slices,
					    (int64_t)(b->slice * steps + dep->step + 1)));
	}
}

static void source_counters(struct fb_gpu_builder *b, const struct fb_end *e,
			    struct fb_gpu_draft *first, struct fb_gpu_draft *last)
{
	const struct fb_gpu_shape *shape = b->view->shape;
	const struct fb_link *l = &plan_of(b)->in_links[e->link];
	int64_t next = (int64_t)b->done[0][e->link] + 1;

	if (e->kind == FB_LOCAL)
		return;
	first->late = true;
	if (e->kind != FB_LINK || shape->protocol == FB_GPU_SIMPLE)
		fb_gpu_draft_wait(first, number(own_counter(b, l, FB_GPU_AVAILABLE),
						messages(b, l), next));
	if (e->kind == FB_LINK && !fb_gpu_link_is_free(shape, l))
		fb_gpu_draft_post(last, number(peer_counter(b, l, FB_GPU_FREED),
					       messages(b, l), next));
	if (e->kind == FB_PULL)
		fb_gpu_draft_post(last, number(peer_counter(b, l, FB_GPU_FREED),
					       l->pulls * shape->slices,
					       (int64_t)++b->pulled[e->link]));
}

static void destination_counters(struct fb_gpu_builder *b, const struct fb_end *e,
				 struct fb_gpu_draft *first, struct fb_gpu_draft *last)
{
	const struct fb_gpu_shape *shape = b->view->shape;
	const struct fb_link *l = &plan_of(b)->out_links[e->link];
	int64_t next = (int64_t)b->done[1][e->link] + 1;

	if (e->kind == FB_LOCAL)
		return;
	if (e->kind == FB_LINK && !fb_gpu_link_is_free(shape, l))
		fb_gpu_draft_wait(first, number(own_counter(b, l, FB_GPU_FREED),
						messages(b, l),
						next - (int64_t)fb_gpu_link_slots(shape, l)));
	if (e->kind == FB_PUSH)
		fb_gpu_draft_wait(first, number(own_counter(b, l, FB_GPU_CREDITS),
						l->pushes * shape->slices,
						(int64_t)++b->pushed[e->link]));
	if (e->kind != FB_LINK || shape->protocol == FB_GPU_SIMPLE)
		fb_gpu_draft_post(last, number(peer_counter(b, l, FB_GPU_AVAILABLE),
					       messages(b, l), next));
}

/* After the last record of the step: others may depend on it, and its messages are counted. */
static void step_done(struct fb_gpu_builder *b, const struct fb_step *s, uint32_t index,
		      struct fb_gpu_draft *last)
{
	const struct fb_plan *p = plan_of(b);
	uint64_t steps = p->lanes[b->lane].nsteps;

	for (int i = 0; s->kind == FB_RUN && i < s->nsrc + s->ndst; i++) {
		const struct fb_end *e = &p->ends[s->first_end + (uint32_t)i];

		if (e->kind != FB_LOCAL)
			b->done[i >= s->nsrc][e->link]++;
	}
	if (b->awaited[index])
		fb_gpu_draft_post(last, number(progress(b, b->lane), steps * b->view->shape->slices,
					       (int64_t)(b->slice * steps + index + 1)));
}

/* --- moving ---------------------------------------------------------------------------------- */

static struct fb_piece piece_of(const struct fb_gpu_builder *b, const struct fb_step *s,
				const struct fb_end *e, uint32_t i)
{
	const struct fb_gpu_view *v = b->view;
	uint64_t part = (uint64_t)b->channel * v->shape->slices + b->slice;
	int rank = v->rank;

	if (e->kind == FB_PULL)
		rank = plan_of(b)->in_links[e->link].peer;
	if (e->kind == FB_PUSH)
		rank = plan_of(b)->out_links[e->link].peer;
	return fb_chunk_piece(&v->shape->geometry, rank, e->buffer, e->index, s->count, part, i);
}

static uint64_t piece_bytes(const struct fb_gpu_builder *b, const struct fb_step *s, uint32_t i)
{
	const struct fb_end size = fb_step_extent(&b->view->shape->geometry, plan_of(b), s);

	return piece_of(b, s, &size, i).bytes;
}

/* Room of a piece in a slot; what follows begins on a line, or aligned to 16 bytes. */
static uint64_t slot_bytes(const struct fb_gpu_builder *b, uint64_t bytes)
{
	if (b->view->shape->protocol == FB_GPU_SIMPLE)
		return (bytes + 15) / 16 * 16;
	if (b->view->shape->protocol == FB_GPU_LL128)
		return (bytes + 119) / 120 * 128;
	return (bytes + 7) / 8 * 16;
}

static void add_ends(struct fb_gpu_builder *b, const struct fb_step *s, uint32_t piece,
		     uint64_t offset, struct fb_gpu_draft *d)
{
	const struct fb_end *e = &plan_of(b)->ends[s->first_end];
	const struct fb_gpu_view *v = b->view;

	for (int i = 0; i < s->nsrc + s->ndst; i++, e++) {
		bool out = i >= s->nsrc;
		int rank = v->rank;
		struct fb_gpu_end end;

		if (e->kind == FB_EXPOSE)
			continue;
		if (e->kind == FB_PULL)
			rank = plan_of(b)->in_links[e->link].peer;
		if (e->kind == FB_PUSH)
			rank = plan_of(b)->out_links[e->link].peer;
		end = e->kind == FB_LINK ? slot_end(b, out, e->link, offset)
					 : (struct fb_gpu_end){
						   .address = v->buffer(v->arg, rank, e->buffer) +
							      piece_of(b, s, e, piece).offset};
		fb_gpu_draft_end(d, out, end);
	}
	/* A step that only announces or waits moves nothing. */
	if (!d->ndst)
		d->nsrc = 0;
}

/* Passes the lengths of a step's messages to the proxy. */
static void note_messages(const struct fb_gpu_builder *b, const struct fb_step *s, uint64_t bytes)
{
	const struct fb_end *e = &plan_of(b)->ends[s->first_end];

	for (int i = 0; b->view->proxied && i < s->nsrc + s->ndst; i++, e++)
		if (e->kind == FB_LINK)
			fb_gpu_proxy_message(b->view->proxied, b->channel, i >= s->nsrc, e->link,
					    b->done[i >= s->nsrc][e->link], bytes);
}

/*
 * Two sources are combined once, and the result is rounded as a wide sum would be. Only an average
 * divides afterwards, so only then a wide sum of two differs.
 */
static uint32_t step_flags(const struct fb_gpu_view *v, const struct fb_step *s)
{
	bool finish = v->average && s->flags & FB_FINISH;
	bool wide = v->wide && (s->nsrc > 2 || (s->nsrc == 2 && finish));

	return (finish ? (uint32_t)FB_GPU_FINISH : 0) | (wide ? (uint32_t)FB_GPU_WIDE : 0);
}

/* A running step: a record for each piece that holds bytes, and at least one. */
static int run_step(struct fb_gpu_builder *b, const struct fb_step *s, uint32_t index)
{
	const struct fb_end *e = &plan_of(b)->ends[s->first_end];
	uint32_t pieces = fb_chunk_pieces(&b->view->shape->geometry, s->unit, s->count), last = 0;
	struct fb_gpu_draft *d = &b->draft, *posts = &b->posts;
	uint64_t offset = 0;
	int err = FB_OK;

	fb_gpu_draft_clear(d);
	fb_gpu_draft_clear(posts);
	wait_for_deps(b, s, d);
	for (int i = 0; i < s->nsrc; i++)
		source_counters(b, &e[i], d, posts);
	for (int i = s->nsrc; i < s->nsrc + s->ndst; i++)
		destination_counters(b, &e[i], d, posts);
	for (uint32_t i = 0; i < pieces; i++)
		if (piece_bytes(b, s, i))
			last = i;
	for (uint32_t i = 0; i <= last && !err; i++) {
		d->bytes = piece_bytes(b, s, i);
		if (!d->bytes && i < last)
			continue;
		d->flags |= step_flags(b->view, s);
		add_ends(b, s, i, offset, d);
		offset += slot_bytes(b, d->bytes);
		if (i == last) {
			note_messages(b, s, offset);
			step_done(b, s, index, posts);
			for (int k = 0; k < posts->npost; k++)
				fb_gpu_draft_post(d, posts->posts[k]);
		}
		err = fb_gpu_add(b, d);
		fb_gpu_draft_clear(d);
	}
	return err;
}

static int other_step(struct fb_gpu_builder *b, const struct fb_step *s, uint32_t index)
{
	const struct fb_gpu_shape *shape = b->view->shape;
	const struct fb_plan *p = plan_of(b);
	struct fb_gpu_draft *d = &b->draft;

	fb_gpu_draft_clear(d);
	wait_for_deps(b, s, d);
	if (s->kind == FB_CREDIT) {
		const struct fb_link *l = &p->in_links[s->link];

		fb_gpu_draft_post(d, number(peer_counter(b, l, FB_GPU_CREDITS),
					    l->pushes * shape->slices,
					    (int64_t)++b->credited[s->link]));
	} else {
		const struct fb_link *l = &p->out_links[s->link];

		d->late = true;
		fb_gpu_draft_wait(d, number(own_counter(b, l, FB_GPU_FREED),
					    l->pulls * shape->slices,
					    (int64_t)(b->slice * l->pulls + s->upto)));
	}
	step_done(b, s, index, d);
	return fb_gpu_add(b, d);
}

/* Which steps of the lane other lanes wait for. */
static void find_awaited(struct fb_gpu_builder *b)
{
	const struct fb_plan *p = plan_of(b);

	for (int l = 0; l < p->nlanes; l++)
		for (uint32_t i = 0; i < p->lanes[l].nsteps; i++)
			for (int k = 0; k < p->lanes[l].steps[i].ndep; k++) {
				const struct fb_dep *dep =
					&p->deps[p->lanes[l].steps[i].first_dep + (uint32_t)k];

				if (dep->lane == b->lane)
					b->awaited[dep->step] = true;
			}
}

static int build_lane(const struct fb_gpu_view *view, int channel, int lane,
		      struct fb_gpu_table *table)
{
	const struct fb_plan *p = view->plans[channel];
	struct fb_gpu_builder b;
	int err = fb_gpu_builder_open(&b, view, channel, lane, table);

	if (!err)
		find_awaited(&b);
	for (b.slice = 0; b.slice < view->shape->slices && !err; b.slice++)
		for (uint32_t i = 0; i < p->lanes[lane].nsteps && !err; i++) {
			const struct fb_step *s = &p->lanes[lane].steps[i];

			err = s->kind == FB_RUN ? run_step(&b, s, i) : other_step(&b, s, i);
		}
	if (!err)
		err = fb_gpu_flush(&b);
	fb_gpu_builder_close(&b);
	if (!err && view->shape->protocol != FB_GPU_SIMPLE)
		err = fb_gpu_batch(view, table,
				   &table->blocks[channel * view->shape->nlanes + lane]);
	return err;
}

int fb_gpu_build(const struct fb_gpu_view *view, struct fb_gpu_table *table)
{
	int lanes = view->shape->nlanes, err = FB_OK;

	*table = (struct fb_gpu_table){.nblocks = view->shape->nchannels * lanes};
	table->blocks = calloc((size_t)table->nblocks, sizeof(*table->blocks));
	if (!table->blocks)
		return FB_ENOMEM;
	for (int i = 0; i < table->nblocks && !err; i++) {
		table->blocks[i].records = table->size;
		if (i % lanes < view->plans[i / lanes]->nlanes)
			err = build_lane(view, i / lanes, i % lanes, table);
	}
	return err;
}
