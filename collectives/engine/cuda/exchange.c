/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tables the fused exchange kernel can carry out; see fb_gpu_is_exchange in build.h. */
#include "collectives/engine/cuda/build.h"

/* What the records come to, as far as they were read. */
struct reading {
	struct fb_gpu_exchange x;
	uint32_t sends, receives;
	bool own, combines, begun;
	/* Own memory that was written so far: peers' blocks, the own one. */
	uint64_t written[FB_GPU_MOST_PEERS + 1];
	uint32_t nwritten;
};

static const struct fb_gpu_end *ends_of(const struct fb_gpu_record *r)
{
	return (const void *)(r + 1);
}

/* The fused kernel has one message a call in each of two sets of slots. */
static bool is_plain_slot(const struct fb_gpu_end *e)
{
	return e->is_slot && e->mask == 1 && e->per_call == 1;
}

/* It reads everything before it writes: nothing may be read that was written before. */
static bool is_untouched(const struct reading *w, uint64_t address)
{
	for (uint32_t i = 0; i < w->nwritten; i++)
		if (address < w->written[i] + w->x.bytes && w->written[i] < address + w->x.bytes)
			return false;
	return true;
}

static bool write_to(struct reading *w, uint64_t address)
{
	if (w->nwritten > FB_GPU_MOST_PEERS)
		return false;
	w->written[w->nwritten++] = address;
	return true;
}

/* Own memory goes to peers' slots, or to its own place. */
static bool read_send(struct reading *w, const struct fb_gpu_record *r)
{
	const struct fb_gpu_end *from = ends_of(r), *to = from + 1;

	if (!is_untouched(w, from->address))
		return false;
	for (int i = 0; i < r->ndst; i++) {
		if (is_plain_slot(&to[i]) && w->sends < w->x.npeers) {
			w->x.peer[w->sends].in = from->address;
			w->x.peer[w->sends++].to = to[i].address;
		} else if (!to[i].is_slot && !w->own && write_to(w, to[i].address)) {
			w->own = true;
			w->x.own_in = from->address;
			w->x.own_out = to[i].address;
		} else {
			return false;
		}
	}
	return true;
}

static bool read_receive(struct reading *w, const struct fb_gpu_record *r)
{
	const struct fb_gpu_end *from = ends_of(r), *to = from + 1;

	if (!is_plain_slot(from) || to->is_slot || w->receives == w->x.npeers ||
	    !write_to(w, to->address))
		return false;
	w->x.peer[w->receives].from = from->address;
	w->x.peer[w->receives++].out = to->address;
	return true;
}

/* All ranks' blocks in order of rank. */
static bool read_combine(struct reading *w, const struct fb_gpu_record *r)
{
	const struct fb_gpu_end *from = ends_of(r), *to = from + r->nsrc;

	if (w->own || w->receives || to->is_slot || from[w->x.rank].is_slot ||
	    !is_untouched(w, from[w->x.rank].address) || !write_to(w, to->address))
		return false;
	for (uint32_t i = 0; i <= w->x.npeers; i++) {
		if (i == w->x.rank)
			continue;
		if (!is_plain_slot(&from[i]))
			return false;
		w->x.peer[w->receives++].from = from[i].address;
	}
	w->own = w->combines = true;
	w->x.own_in = from[w->x.rank].address;
	w->x.own_out = to->address;
	w->x.flags |= r->flags & FB_GPU_FINISH;
	return true;
}

static bool read_record(struct reading *w, const struct fb_gpu_record *r)
{
	if (r->nwait || r->npost || r->flags & (FB_GPU_SYNC | FB_GPU_WIDE | FB_GPU_REFILL) ||
	    (w->begun && r->bytes != w->x.bytes))
		return false;
	if (!(r->flags & FB_GPU_ALIGNED))
		w->x.flags &= ~(uint32_t)FB_GPU_ALIGNED;
	w->begun = true;
	w->x.bytes = r->bytes;
	if (r->nsrc == 1 && !ends_of(r)->is_slot)
		return read_send(w, r);
	if (r->nsrc == 1 && r->ndst == 1)
		return read_receive(w, r);
	return r->nsrc == w->x.npeers + 1 && r->ndst == 1 && read_combine(w, r);
}

bool fb_gpu_is_exchange(const struct fb_gpu_view *view, const struct fb_gpu_table *table,
			struct fb_gpu_exchange *exchange)
{
	int peers = view->shape->nranks - 1;
	struct reading w = {.x = {
		.stride = view->shape->stride, .npeers = (uint32_t)peers,
		.rank = (uint32_t)view->rank, .nranks = (uint32_t)view->shape->nranks,
		.flags = FB_GPU_ALIGNED,
	}};
	size_t at = 0;

	if (view->shape->protocol != FB_GPU_LL16 || table->nblocks != 1 || peers < 1 ||
	    peers > FB_GPU_MOST_PEERS)
		return false;
	for (uint32_t i = 0; i < table->blocks[0].nrecords; i++) {
		const struct fb_gpu_record *r = (const void *)(table->bytes + at);

		if (!read_record(&w, r))
			return false;
		at += r->size;
	}
	/* The kernels of types combine whatever comes, the one that moves bytes never does. */
	if (w.sends != w.x.npeers || w.receives != w.x.npeers ||
	    w.combines != fb_collective_info(view->shape->geometry.collective)->reduces)
		return false;
	w.x.flags |= FB_GPU_SAME;
	for (uint32_t i = 0; i < w.sends; i++)
		if (w.x.peer[i].in != w.x.peer[0].in || (w.own && w.x.peer[i].in != w.x.own_in))
			w.x.flags &= ~(uint32_t)FB_GPU_SAME;
	if (!w.own)
		w.x.own_in = w.x.peer[0].in;
	*exchange = w.x;
	return true;
}
