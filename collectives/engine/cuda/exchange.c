/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether fused exchange kernels can run a table; see fb_gpu_is_exchange in build.h. */
#include "collectives/engine/cuda/build.h"

enum {
	MOST_RANGES = 2 * FB_GPU_MOST_PEERS + 2, /* blocks read and written, own and of peers */
	HALF = 8, /* bytes that kernels which are not ODD move whole */
};

/* What the records come to, as far as they were read. */
struct reading {
	struct fb_gpu_exchange x;
	uint32_t sends, receives, again, results; /* again, results: of second messages */
	bool own, combines;
	struct {
		uint64_t address, bytes;
		bool write;
	} ranges[MOST_RANGES]; /* of own memory */
	uint32_t nranges;
};

static const struct fb_gpu_end *ends_of(const struct fb_gpu_record *r)
{
	return (const void *)(r + 1);
}

/* Messages of a call are a set of slots, of which a link has two. */
static bool is_slot(const struct reading *w, const struct fb_gpu_end *e, uint32_t message)
{
	return e->is_slot && e->per_call == w->x.per_call && e->mask == 2 * w->x.per_call - 1 &&
	       e->index == message;
}

/*
 * A thread has the same line of all blocks and reads it before it writes: ranges may be the same,
 * but not overlap otherwise, and nothing may be read or written that was written before.
 */
static bool touch(struct reading *w, uint64_t address, uint64_t bytes, bool write)
{
	for (uint32_t i = 0; i < w->nranges; i++) {
		uint64_t other = w->ranges[i].address, length = w->ranges[i].bytes;

		if (address >= other + length || other >= address + bytes)
			continue;
		if (w->ranges[i].write || (write && (address != other || bytes != length)))
			return false;
	}
	if (w->nranges == MOST_RANGES)
		return false;
	w->ranges[w->nranges].address = address;
	w->ranges[w->nranges].bytes = bytes;
	w->ranges[w->nranges++].write = write;
	return true;
}

/* Own memory goes to peers' slots, or to its own place. */
static bool read_send(struct reading *w, const struct fb_gpu_record *r)
{
	const struct fb_gpu_end *from = ends_of(r), *to = from + 1;

	if (!touch(w, from->address, r->bytes, false))
		return false;
	for (int i = 0; i < r->ndst; i++) {
		if (is_slot(w, &to[i], 0) && w->sends < w->x.npeers) {
			w->x.peer[w->sends].in = from->address;
			w->x.peer[w->sends].in_bytes = (uint32_t)r->bytes;
			w->x.peer[w->sends++].to = to[i].address;
		} else if (!to[i].is_slot && !w->own &&
			   touch(w, to[i].address, r->bytes, true)) {
			w->own = true;
			w->x.bytes = r->bytes;
			w->x.own_in = from->address;
			w->x.own_out = to[i].address;
		} else {
			return false;
		}
	}
	return true;
}

/* A peer's block, or its sum. */
static bool read_receive(struct reading *w, const struct fb_gpu_record *r)
{
	const struct fb_gpu_end *from = ends_of(r), *to = from + 1;

	if (to->is_slot || !touch(w, to->address, r->bytes, true))
		return false;
	if (!w->combines && is_slot(w, from, 0) && w->receives < w->x.npeers) {
		w->x.peer[w->receives].out_bytes = (uint32_t)r->bytes;
		w->x.peer[w->receives].from = from->address;
		w->x.peer[w->receives++].out = to->address;
		return true;
	}
	for (uint32_t i = 0; w->combines && is_slot(w, from, 1) && i < w->x.npeers; i++)
		if (w->x.peer[i].from == from->address && !w->x.peer[i].out) {
			w->x.peer[i].out_bytes = (uint32_t)r->bytes;
			w->x.peer[i].out = to->address;
			w->results++;
			return true;
		}
	return false;
}

/* The sum goes to peers to whom blocks have gone. */
static bool read_again(struct reading *w, const struct fb_gpu_end *to)
{
	for (uint32_t i = 0; is_slot(w, to, 1) && i < w->sends; i++)
		if (w->x.peer[i].to == to->address) {
			w->again++;
			return true;
		}
	return false;
}

/* All ranks' blocks in order of rank; the sum to its place, and to all peers or nobody. */
static bool read_combine(struct reading *w, const struct fb_gpu_record *r)
{
	const struct fb_gpu_end *from = ends_of(r), *to = from + r->nsrc;

	if (w->own || w->receives || from[w->x.rank].is_slot ||
	    !touch(w, from[w->x.rank].address, r->bytes, false))
		return false;
	for (uint32_t i = 0; i <= w->x.npeers; i++) {
		if (i == w->x.rank)
			continue;
		if (!is_slot(w, &from[i], 0))
			return false;
		w->x.peer[w->receives++].from = from[i].address;
	}
	for (int i = 0; i < r->ndst; i++) {
		if (to[i].is_slot ? !read_again(w, &to[i])
				  : w->own || !touch(w, to[i].address, r->bytes, true))
			return false;
		if (to[i].is_slot)
			continue;
		w->own = true;
		w->x.own_out = to[i].address;
	}
	w->combines = true;
	w->x.bytes = r->bytes;
	w->x.own_in = from[w->x.rank].address;
	w->x.flags |= r->flags & FB_GPU_FINISH;
	return w->own;
}

static bool read_record(struct reading *w, const struct fb_gpu_record *r)
{
	if (r->nwait || r->npost || r->flags & (FB_GPU_WIDE | FB_GPU_REFILL) ||
	    r->bytes > UINT32_MAX)
		return false;
	if (!(r->flags & FB_GPU_ALIGNED))
		w->x.flags &= ~(uint32_t)FB_GPU_ALIGNED;
	if (r->nsrc == 1 && !ends_of(r)->is_slot)
		return read_send(w, r);
	if (r->nsrc == 1 && r->ndst == 1)
		return read_receive(w, r);
	return r->nsrc == w->x.npeers + 1 && read_combine(w, r);
}

/* Whether all was read that an exchange has. */
static bool is_complete(const struct reading *w, enum fb_collective collective)
{
	uint32_t again = w->x.per_call > 1 ? w->x.npeers : 0;

	/* The kernels of types combine whatever comes, the one that moves bytes never does. */
	return w->sends == w->x.npeers && w->receives == w->x.npeers && w->again == again &&
	       w->results == again && w->combines == fb_collective_info(collective)->reduces;
}

/* Whether all that peers get, or send, is of the own block's size. */
static bool is_even(const struct reading *w)
{
	for (uint32_t i = 0; i < w->x.npeers; i++)
		if (w->x.peer[i].in_bytes != w->x.bytes ||
		    (!w->combines && w->x.peer[i].out_bytes != w->x.bytes))
			return false;
	return true;
}

/* Whether all blocks have multiples of what the kernels move at once. */
static bool has_halves(const struct reading *w)
{
	uint64_t all = w->x.bytes;

	for (uint32_t i = 0; i < w->x.npeers; i++)
		all |= w->x.peer[i].in_bytes | w->x.peer[i].out_bytes;
	return all % HALF == 0;
}

/* One of a call, or two; all links have as many. */
static uint32_t messages_of(const struct fb_gpu_view *view)
{
	const struct fb_plan *plan = view->plans[0];

	return plan->n_out_links ? plan->out_links[0].messages : 0;
}

bool fb_gpu_is_exchange(const struct fb_gpu_view *view, const struct fb_gpu_table *table,
			struct fb_gpu_exchange *exchange)
{
	bool whole = view->shape->protocol == FB_GPU_LL128;
	int peers = view->shape->nranks - 1;
	struct reading w = {.x = {
		.stride = view->shape->stride, .npeers = (uint32_t)peers,
		.rank = (uint32_t)view->rank, .nranks = (uint32_t)view->shape->nranks,
		.per_call = messages_of(view), .flags = FB_GPU_ALIGNED,
	}};
	size_t at = 0;

	if ((view->shape->protocol != FB_GPU_LL16 && !whole) || table->nblocks != 1 || peers < 1 ||
	    peers > FB_GPU_MOST_PEERS || w.x.per_call < 1 || w.x.per_call > (whole ? 2 : 1))
		return false;
	for (uint32_t i = 0; i < table->blocks[0].nrecords; i++) {
		const struct fb_gpu_record *r = (const void *)(table->bytes + at);

		if (!read_record(&w, r))
			return false;
		at += r->size;
	}
	if (!w.own) {
		w.x.own_in = w.x.peer[0].in;
		w.x.bytes = w.x.peer[0].in_bytes;
	}
	if (!is_complete(&w, view->shape->geometry.collective) || (!whole && !is_even(&w)))
		return false;
	if (!has_halves(&w))
		w.x.flags &= ~(uint32_t)FB_GPU_ALIGNED;
	w.x.flags |= is_even(&w) ? FB_GPU_SAME : 0;
	for (uint32_t i = 0; i < w.sends; i++)
		if (w.x.peer[i].in != w.x.own_in)
			w.x.flags &= ~(uint32_t)FB_GPU_SAME;
	*exchange = w.x;
	return true;
}
