/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining records and writing them out; see draft.h. */
#include "collectives/engine/cuda/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

int fb_gpu_builder_open(struct fb_gpu_builder *b, const struct fb_gpu_view *view, int channel,
			int lane, struct fb_gpu_table *table)
{
	const struct fb_plan *p = view->plans[channel];
	size_t in = p->n_in_links + 1u, out = p->n_out_links + 1u;

	memset(b, 0, sizeof(*b));
	b->view = view;
	b->table = table;
	b->channel = channel;
	b->lane = lane;
	b->done[0] = calloc(in, sizeof(uint64_t));
	b->done[1] = calloc(out, sizeof(uint64_t));
	b->pulled = calloc(in, sizeof(uint64_t));
	b->pushed = calloc(out, sizeof(uint64_t));
	b->credited = calloc(in, sizeof(uint64_t));
	b->awaited = calloc(p->lanes[lane].nsteps + 1u, sizeof(bool));
	return b->done[0] && b->done[1] && b->pulled && b->pushed && b->credited && b->awaited
		       ? FB_OK
		       : FB_ENOMEM;
}

void fb_gpu_builder_close(struct fb_gpu_builder *b)
{
	free(b->done[0]);
	free(b->done[1]);
	free(b->pulled);
	free(b->pushed);
	free(b->credited);
	free(b->awaited);
}

void fb_gpu_draft_clear(struct fb_gpu_draft *d)
{
	d->bytes = 0;
	d->flags = 0;
	d->late = false;
	d->nsrc = d->ndst = d->nwait = d->npost = 0;
}

static void add_counter(struct fb_gpu_counter *list, int *n, struct fb_gpu_counter c)
{
	for (int i = 0; i < *n && i < FB_GPU_MOST_ENDS; i++)
		if (list[i].address == c.address) {
			list[i].index = c.index > list[i].index ? c.index : list[i].index;
			return;
		}
	if (*n < FB_GPU_MOST_ENDS)
		list[*n] = c;
	(*n)++;
}

void fb_gpu_draft_wait(struct fb_gpu_draft *d, struct fb_gpu_counter wait)
{
	add_counter(d->waits, &d->nwait, wait);
}

void fb_gpu_draft_post(struct fb_gpu_draft *d, struct fb_gpu_counter post)
{
	add_counter(d->posts, &d->npost, post);
}

void fb_gpu_draft_end(struct fb_gpu_draft *d, bool out, struct fb_gpu_end end)
{
	int *n = out ? &d->ndst : &d->nsrc;

	if (*n < FB_GPU_MOST_ENDS)
		(out ? d->dst : d->src)[*n] = end;
	(*n)++;
}

static size_t size_of(const struct fb_gpu_draft *d)
{
	return sizeof(struct fb_gpu_record) +
	       (size_t)(d->nsrc + d->ndst) * sizeof(struct fb_gpu_end) +
	       (size_t)(d->nwait + d->npost) * sizeof(struct fb_gpu_counter);
}

static bool moves(const struct fb_gpu_draft *d)
{
	return d->ndst > 0;
}

static int reserve(struct fb_gpu_table *t, size_t bytes)
{
	size_t room = t->room;
	unsigned char *grown;

	while (room < t->size + bytes)
		room = room ? room * 2 : 4096;
	if (room == t->room)
		return FB_OK;
	grown = realloc(t->bytes, room);
	if (!grown)
		return FB_ENOMEM;
	t->bytes = grown;
	t->room = room;
	return FB_OK;
}

/* Flags that follow from the ends; notes in the table where kernels have to be ODD. */
static uint32_t flags_of(const struct fb_gpu_builder *b, const struct fb_gpu_draft *d)
{
	bool lines = b->view->shape->protocol != FB_GPU_SIMPLE;
	uint64_t all = 0;
	uint32_t flags = d->flags;

	if (b->view->shape->geometry.stripe)
		flags |= (b->view->shape->deep ? (uint32_t)FB_GPU_DEEP : 0) |
			 (moves(d) && !d->late ? (uint32_t)FB_GPU_EARLY : 0);
	for (int k = 0; k < d->nsrc + d->ndst; k++) {
		const struct fb_gpu_end *e = k < d->nsrc ? &d->src[k] : &d->dst[k - d->nsrc];

		all |= lines && e->is_slot ? 0 : e->address;
	}
	if (!(all & (lines ? 7 : 15)))
		flags |= FB_GPU_ALIGNED;
	b->table->odd |= !(flags & FB_GPU_ALIGNED) || (lines && d->bytes % 8);
	return flags;
}

/* Begins a new window where the record does not fit the one that is open. */
static int begin_record(struct fb_gpu_builder *b, size_t size)
{
	struct fb_gpu_table *t = b->table;
	struct fb_gpu_block *block = &t->blocks[b->channel * b->view->shape->nlanes + b->lane];
	size_t at = t->size - (size_t)block->records, gap = 0;
	size_t left = FB_GPU_WINDOW - at % FB_GPU_WINDOW;

	if (size > FB_GPU_WINDOW)
		return fb_error(FB_EPLAN, "a step of %zu bytes does not fit a window of %d", size,
				FB_GPU_WINDOW);
	if (size > left) {
		struct fb_gpu_record *before = (void *)(t->bytes + b->last);

		gap = left;
		before->flags |= FB_GPU_REFILL;
	} else if (left == FB_GPU_WINDOW && at) {
		struct fb_gpu_record *before = (void *)(t->bytes + b->last);

		before->flags |= FB_GPU_REFILL;
	}
	if (reserve(t, gap + size))
		return FB_ENOMEM;
	memset(t->bytes + t->size, 0, gap + size);
	t->size += gap;
	return FB_OK;
}

static int write_out(struct fb_gpu_builder *b, const struct fb_gpu_draft *d)
{
	struct fb_gpu_table *t = b->table;
	struct fb_gpu_block *block = &t->blocks[b->channel * b->view->shape->nlanes + b->lane];
	size_t size = size_of(d);
	const struct fb_geometry *g = &b->view->shape->geometry;
	struct fb_gpu_record *r;
	char *at;
	int err = begin_record(b, size);

	if (err)
		return err;
	r = (void *)(t->bytes + t->size);
	*r = (struct fb_gpu_record){
		.bytes = d->bytes, .size = (uint32_t)size, .flags = flags_of(b, d),
		.nsrc = (uint16_t)d->nsrc, .ndst = (uint16_t)d->ndst,
		.nwait = (uint16_t)d->nwait, .npost = (uint16_t)d->npost,
		.stripe = (uint16_t)(g->stripe ? __builtin_ctz(g->stripe) : 0),
		.stripes = (uint16_t)g->channels,
	};
	at = (char *)(r + 1);
	memcpy(at, d->src, (size_t)d->nsrc * sizeof(*d->src));
	at += (size_t)d->nsrc * sizeof(*d->src);
	memcpy(at, d->dst, (size_t)d->ndst * sizeof(*d->dst));
	at += (size_t)d->ndst * sizeof(*d->dst);
	memcpy(at, d->waits, (size_t)d->nwait * sizeof(*d->waits));
	at += (size_t)d->nwait * sizeof(*d->waits);
	memcpy(at, d->posts, (size_t)d->npost * sizeof(*d->posts));
	b->last = t->size;
	t->size += size;
	t->longest = d->bytes > t->longest ? (uint32_t)d->bytes : t->longest;
	block->nrecords++;
	block->bytes = (uint32_t)(t->size - block->records);
	return FB_OK;
}

/* Joins d to what is held back; false where that would change the order of things. */
static bool join(struct fb_gpu_builder *b, const struct fb_gpu_draft *d)
{
	struct fb_gpu_draft *p = &b->pending;

	if (size_of(p) + size_of(d) > FB_GPU_WINDOW)
		return false;
	if (!moves(d) && !d->nwait) {
		for (int i = 0; i < d->npost; i++)
			fb_gpu_draft_post(p, d->posts[i]);
		return true;
	}
	if (moves(p) || p->npost)
		return false;
	p->bytes = d->bytes;
	p->flags |= d->flags;
	p->late |= d->late;
	p->nsrc = d->nsrc;
	p->ndst = d->ndst;
	memcpy(p->src, d->src, (size_t)d->nsrc * sizeof(*d->src));
	memcpy(p->dst, d->dst, (size_t)d->ndst * sizeof(*d->dst));
	for (int i = 0; i < d->nwait; i++)
		fb_gpu_draft_wait(p, d->waits[i]);
	for (int i = 0; i < d->npost; i++)
		fb_gpu_draft_post(p, d->posts[i]);
	return true;
}

static bool fits(const struct fb_gpu_draft *d)
{
	return d->nsrc <= FB_GPU_MOST_ENDS && d->ndst <= FB_GPU_MOST_ENDS &&
	       d->nwait <= FB_GPU_MOST_ENDS && d->npost <= FB_GPU_MOST_ENDS &&
	       d->nsrc + d->ndst <= FB_GPU_MOST_ENDS && size_of(d) <= FB_GPU_WINDOW;
}

int fb_gpu_add(struct fb_gpu_builder *b, const struct fb_gpu_draft *d)
{
	int err;

	if (!fits(d))
		return fb_error(FB_EPLAN, "a step with %d ends and %d counters is too long for the "
				"GPU engine", d->nsrc + d->ndst, d->nwait + d->npost);
	if (!moves(d) && !d->nwait && !d->npost)
		return FB_OK;
	if (b->has_pending && join(b, d))
		return FB_OK;
	err = fb_gpu_flush(b);
	b->pending = *d;
	b->has_pending = true;
	return err;
}

int fb_gpu_flush(struct fb_gpu_builder *b)
{
	if (!b->has_pending)
		return FB_OK;
	b->has_pending = false;
	return write_out(b, &b->pending);
}

void fb_gpu_table_free(struct fb_gpu_table *table)
{
	free(table->blocks);
	free(table->bytes);
	*table = (struct fb_gpu_table){.nblocks = 0};
}
