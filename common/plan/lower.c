/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lowering: one rank's operations become as few steps as possible.
 *
 * A send of a chunk joins the step that produced it (receive-reduce-copy-send is then one step
 * that touches memory once), sends of one chunk join each other, and a local copy joins the send
 * of the same chunk. A send may move to an earlier step only if it overtakes no other message of
 * its link and nothing wrote the chunk in between. Afterwards, results that nobody reads before
 * they are overwritten lose their store.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/draft.h"

static struct fb_history *history(struct fb_drafts *d, uint8_t buffer)
{
	return &d->history[buffer];
}

/* Finds or makes the link to `peer` on `lane`. */
static int find_link(struct fb_drafts *d, int out, int peer, uint8_t lane, uint16_t *link)
{
	size_t mask = d->nslots[out] - 1;
	size_t h = ((size_t)peer * FB_MAX_LANES + lane) * 0x9e3779b97f4a7c15u >> 20;
	const struct fb_build_options *o = d->ops->options;
	struct fb_link *l;

	for (h &= mask; d->slots[out][h]; h = (h + 1) & mask) {
		l = &d->links[out][d->slots[out][h] - 1];
		if (l->peer == peer && l->lane == lane) {
			*link = (uint16_t)(d->slots[out][h] - 1);
			return FB_OK;
		}
	}
	if (d->nlinks[out] == UINT16_MAX)
		return fb_error(FB_EPLAN, "plan: more than %d links", UINT16_MAX);
	if (fb_grow(&d->links[out], d->nlinks[out], &d->links_room[out], sizeof(*l)))
		return FB_ENOMEM;
	if (out && fb_grow(&d->last_on_link, d->nlinks[out], &d->last_room, sizeof(uint32_t)))
		return FB_ENOMEM;
	if (out)
		d->last_on_link[d->nlinks[out]] = 0;
	l = &d->links[out][d->nlinks[out]++];
	*l = (struct fb_link){.peer = peer, .lane = lane, .mode = FB_LINK_FIFO};
	if (o->direct_with && o->direct_with(d->ops->rank, peer, o->arg))
		l->mode = FB_LINK_DIRECT;
	d->slots[out][h] = (uint32_t)d->nlinks[out];
	*link = (uint16_t)(d->nlinks[out] - 1);
	return FB_OK;
}

static int new_draft(struct fb_drafts *d, const struct fb_op *op, struct fb_draft **draft)
{
	if (fb_grow(&d->drafts, d->n, &d->room, sizeof(*d->drafts)))
		return FB_ENOMEM;
	*draft = &d->drafts[d->n++];
	**draft = (struct fb_draft){
		.round = op->round, .lane = op->lane, .flags = op->flags, .count = op->count,
		.unit = op->dst.index, .first_src = (uint32_t)d->nsrcs,
		.first_sink = -1, .last_sink = -1,
	};
	return FB_OK;
}

static int add_end(struct fb_drafts *d, struct fb_draft *draft, struct fb_end end)
{
	if (fb_grow(&d->srcs, d->nsrcs, &d->srcs_room, sizeof(*d->srcs)))
		return FB_ENOMEM;
	d->srcs[d->nsrcs++] = end;
	draft->nsrc++;
	return FB_OK;
}

static int add_sink(struct fb_drafts *d, struct fb_draft *draft, struct fb_end end,
		    uint32_t round)
{
	int32_t at = (int32_t)d->nsinks;

	if (fb_grow(&d->sinks, d->nsinks, &d->sinks_room, sizeof(*d->sinks)))
		return FB_ENOMEM;
	d->sinks[d->nsinks++] = (struct fb_sink){.end = end, .round = round, .next = -1};
	if (draft->last_sink >= 0)
		d->sinks[draft->last_sink].next = at;
	else
		draft->first_sink = at;
	draft->last_sink = at;
	draft->ndst++;
	return FB_OK;
}

static void touch(struct fb_drafts *d, uint8_t buffer, uint32_t index, uint32_t count,
		  size_t draft, bool wrote)
{
	struct fb_history *h = history(d, buffer);
	uint32_t mark = (uint32_t)draft + 1;

	for (uint32_t u = index; u < index + count; u++) {
		if (h->touched[u] < mark)
			h->touched[u] = mark;
		if (wrote && h->wrote[u] < mark)
			h->wrote[u] = mark;
	}
}

/* The draft whose result is exactly this chunk and still its content; or NULL. */
static struct fb_draft *producer(struct fb_drafts *d, const struct fb_place *p, uint32_t count)
{
	struct fb_history *h = history(d, p->buffer);
	uint32_t mark = h->wrote[p->index];
	struct fb_draft *t = mark ? &d->drafts[mark - 1] : NULL;

	if (!t || !t->has_result || t->result_buffer != p->buffer ||
	    t->result_index != p->index || t->count != count)
		return NULL;
	for (uint32_t u = 1; u < count; u++)
		if (h->wrote[p->index + u] != mark)
			return NULL;
	return t;
}

/* The draft of the same round that already copies exactly this chunk somewhere; or NULL. */
static struct fb_draft *copier(struct fb_drafts *d, const struct fb_op *op,
			       const struct fb_place *p)
{
	struct fb_history *h = history(d, p->buffer);
	uint32_t mark = h->copied[p->index];
	struct fb_draft *t = mark ? &d->drafts[mark - 1] : NULL;

	if (!t || t->round != op->round || t->lane != op->lane || t->count != op->count)
		return NULL;
	for (uint32_t u = 0; u < op->count; u++)
		if (h->wrote[p->index + u] > mark)
			return NULL;
	return t;
}

static struct fb_end local_end(const struct fb_place *p)
{
	return (struct fb_end){.kind = FB_LOCAL, .buffer = p->buffer, .index = p->index};
}

/*
 * Whether a direct send must not join draft t, since it would deadlock. That is the case for a push
 * into the memory that t pulls from that peer, and for one that joins a local copy that saves data
 * before they are overwritten: the peer gives the credit only after it got what t delivers.
 */
static bool would_wait(const struct fb_drafts *d, const struct fb_op *op, const struct fb_draft *t)
{
	if (!op->copies)
		return false;
	if (t->has_result && !t->receives)
		return true;
	for (uint32_t i = 0; i < t->nsrc; i++) {
		const struct fb_end *e = &d->srcs[t->first_src + i];

		if (e->kind == FB_PULL && d->links[FB_LINK_IN][e->link].peer == op->dst.peer &&
		    e->buffer == op->dst.buffer && e->index < op->dst.index + op->count &&
		    op->dst.index < e->index + op->count)
			return true;
	}
	return false;
}

/* Whether a send can be a destination of draft t: it overtakes no message, and does not wait. */
static bool may_join(const struct fb_drafts *d, const struct fb_op *op, const struct fb_draft *t,
		     uint16_t link)
{
	bool direct = d->links[FB_LINK_OUT][link].mode == FB_LINK_DIRECT;

	return d->last_on_link[link] <= (uint32_t)(t - d->drafts) &&
	       !(direct && would_wait(d, op, t));
}

static int lower_send(struct fb_drafts *d, const struct fb_op *op)
{
	const struct fb_place *src = &d->ops->srcs[op->first_src];
	struct fb_draft *t, *made = NULL;
	struct fb_end end = {.kind = FB_LINK};
	bool direct;
	size_t at;
	int err;

	err = find_link(d, FB_LINK_OUT, op->dst.peer, op->lane, &end.link);
	if (err)
		return err;
	direct = d->links[FB_LINK_OUT][end.link].mode == FB_LINK_DIRECT;
	t = producer(d, src, op->count);
	if (t && (t->lane != op->lane || (t->round != op->round && d->ops->options->slots == 1) ||
		  !may_join(d, op, t, end.link)))
		t = NULL;
	if (!t) {
		t = copier(d, op, src);
		if (t && !may_join(d, op, t, end.link))
			t = NULL;
	}
	if (!t) {
		err = new_draft(d, op, &made);
		if (!err)
			err = add_end(d, made, local_end(src));
		if (err)
			return err;
		t = made;
		t->unit = src->index;
		history(d, src->buffer)->copied[src->index] = (uint32_t)d->n;
	}
	at = (size_t)(t - d->drafts);
	end.kind = FB_LINK;
	end.buffer = 0;
	end.index = 0;
	if (direct) {
		end.kind = op->copies ? FB_PUSH : FB_EXPOSE;
		end.buffer = op->copies ? op->dst.buffer : src->buffer;
		end.index = op->copies ? op->dst.index : src->index;
		if (!op->copies) {
			t->exposes = true;
			memset(history(d, src->buffer)->exposed + src->index, 1, op->count);
		}
	}
	touch(d, src->buffer, src->index, op->count, at, false);
	d->last_on_link[end.link] = (uint32_t)at + 1;
	return add_sink(d, t, end, op->round);
}

/*
 * A local copy may join a send of the same chunk, which is then read once, or the step that
 * produced the chunk, which then need not store it. It may not if a peer pulls the destination:
 * the step would have to wait for the peer, which may be waiting for the step.
 */
static bool join_copy(struct fb_drafts *d, const struct fb_op *op, int *err)
{
	const struct fb_place *src = &d->ops->srcs[op->first_src];
	struct fb_history *h = history(d, op->dst.buffer);
	struct fb_draft *t;
	uint32_t mark;

	if (op->nsrc != 1 || src->peer >= 0)
		return false;
	t = copier(d, op, src);
	if (!t)
		t = producer(d, src, op->count);
	if (!t || t->lane != op->lane)
		return false;
	mark = (uint32_t)(t - d->drafts) + 1;
	for (uint32_t u = 0; u < op->count; u++)
		if (h->touched[op->dst.index + u] >= mark || h->exposed[op->dst.index + u])
			return false;
	touch(d, op->dst.buffer, op->dst.index, op->count, mark - 1, true);
	*err = add_sink(d, t, local_end(&op->dst), op->round);
	return true;
}

static int lower_work(struct fb_drafts *d, const struct fb_op *op)
{
	struct fb_draft *t;
	size_t at = d->n;
	int err = FB_OK;

	if (join_copy(d, op, &err))
		return err;
	err = new_draft(d, op, &t);
	for (uint32_t i = 0; !err && i < op->nsrc; i++) {
		const struct fb_place *src = &d->ops->srcs[op->first_src + i];
		struct fb_end end = local_end(src);

		if (src->peer < 0) {
			touch(d, src->buffer, src->index, op->count, at, false);
			err = add_end(d, t, end);
			continue;
		}
		err = find_link(d, FB_LINK_IN, src->peer, op->lane, &end.link);
		if (err)
			break;
		end.kind = FB_LINK;
		if (d->links[FB_LINK_IN][end.link].mode != FB_LINK_DIRECT) {
			end.buffer = 0;
			end.index = 0;
		} else if (op->nsrc == 1) {
			end = (struct fb_end){.kind = FB_ARRIVE, .buffer = op->dst.buffer,
					      .link = end.link, .index = op->dst.index};
			t->arrives = true;
		} else {
			end.kind = FB_PULL;
		}
		t->receives = true;
		err = add_end(d, t, end);
	}
	if (err)
		return err;
	t->has_result = true;
	t->result_buffer = op->dst.buffer;
	t->result_index = op->dst.index;
	touch(d, op->dst.buffer, op->dst.index, op->count, at, true);
	if (op->nsrc == 1 && !t->receives) {
		const struct fb_place *src = &d->ops->srcs[op->first_src];

		history(d, src->buffer)->copied[src->index] = (uint32_t)at + 1;
	}
	return FB_OK;
}

/* Removes stores of results that are only passed on. Walks backwards with liveness per unit. */
static int remove_dead_stores(struct fb_drafts *d)
{
	uint8_t *live[FB_BUFFERS] = {NULL, NULL, NULL};
	int err = FB_ENOMEM;

	for (int b = 0; b < FB_BUFFERS; b++) {
		live[b] = malloc((size_t)d->history[b].units + 1);
		if (!live[b])
			goto free_live;
		memset(live[b], b != FB_SCRATCH, d->history[b].units);
	}
	for (size_t i = d->n; i-- > 0;) {
		struct fb_draft *t = &d->drafts[i];
		bool needed = t->exposes || t->arrives || !t->ndst;

		for (int32_t s = t->first_sink; s >= 0; s = d->sinks[s].next)
			if (d->sinks[s].end.kind == FB_LOCAL)
				memset(live[d->sinks[s].end.buffer] + d->sinks[s].end.index, 0,
				       t->count);
		for (uint32_t u = 0; t->has_result && !needed && u < t->count; u++)
			needed = live[t->result_buffer][t->result_index + u];
		if (t->has_result)
			memset(live[t->result_buffer] + t->result_index, 0, t->count);
		t->has_result = t->has_result && needed;
		for (uint32_t s = 0; s < t->nsrc; s++) {
			struct fb_end *e = &d->srcs[t->first_src + s];

			if (e->kind == FB_LOCAL)
				memset(live[e->buffer] + e->index, 1, t->count);
		}
	}
	err = FB_OK;
free_live:
	for (int b = 0; b < FB_BUFFERS; b++)
		free(live[b]);
	return err;
}

int fb_lower(const struct fb_ops *ops, struct fb_plan **plan)
{
	struct fb_drafts d;
	struct fb_plan *made = calloc(1, sizeof(*made));
	int err = fb_open_drafts(&d, ops);

	if (!made)
		err = FB_ENOMEM;
	for (size_t i = 0, end; !err && i < ops->nops; i = end) {
		for (end = i; end < ops->nops && ops->ops[end].round == ops->ops[i].round;)
			end++;
		for (size_t k = i; !err && k < end; k++)
			if (ops->ops[k].dst.peer >= 0)
				err = lower_send(&d, &ops->ops[k]);
		for (size_t k = i; !err && k < end; k++)
			if (ops->ops[k].dst.peer < 0)
				err = lower_work(&d, &ops->ops[k]);
	}
	if (!err)
		err = remove_dead_stores(&d);
	if (!err)
		err = fb_emit(&d, made);
	fb_close_drafts(&d);
	if (err) {
		fb_plan_free(made);
		return err;
	}
	*plan = made;
	return FB_OK;
}
