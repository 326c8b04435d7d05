/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter: one block executes the records of one lane. A template without include guard,
 * for C and CUDA; includes all the rest. The includer defines TYPE_<name>, see types.h.
 *
 * simple, direct: threads that have a counter to wait for poll it, each its own; then all meet,
 * move, meet again, and threads that have a counter to raise raise it. Two meetings per record.
 *
 * ll, ll128: threads go through the records on their own. They meet only before a record that
 * works on own memory which another thread has worked on (FB_GPU_SYNC), and before a counter is
 * raised, which these protocols need only where slots are used again within few calls.
 */
#include "collectives/engine/cuda/types.h"

#include "collectives/engine/cuda/combine.h"

#ifndef BULK_UNROLL
#ifdef MOVE_ONLY
#define BULK_UNROLL 8
#else
#define BULK_UNROLL 4
#endif
#endif

#include "collectives/engine/cuda/bulk.h"
#include "collectives/engine/cuda/lines.h"
/* Both are needed by it. */
#include "collectives/engine/cuda/accumulate.h"

/* The parts of a record behind its head. */
struct NAME(parts) {
	const struct fb_gpu_end *ends;
	const struct fb_gpu_counter *waits, *posts;
};

FB_DEVICE struct NAME(parts) NAME(parts_of)(const struct fb_gpu_record *r)
{
	struct NAME(parts) p;

	p.ends = (const struct fb_gpu_end *)(r + 1);
	p.waits = (const struct fb_gpu_counter *)(p.ends + r->nsrc + r->ndst);
	p.posts = p.waits + r->nwait;
	return p;
}

FB_DEVICE uint64_t NAME(counter)(const struct fb_gpu_counter *c, uint64_t epoch)
{
	return epoch * c->per_call + (uint64_t)(int64_t)c->index;
}

FB_DEVICE void NAME(await)(const struct fb_gpu_counter *c, uint64_t epoch)
{
	uint64_t wanted = NAME(counter)(c, epoch);

	while (!fb_is_reached(fb_load_counter(c->address), wanted))
		fb_again();
}

FB_DEVICE void NAME(step_bulk)(const struct fb_gpu_record *r, uint64_t *address, uint64_t epoch,
			       uint32_t op, uint32_t nranks)
{
	struct NAME(parts) p = NAME(parts_of)(r);

	for (uint32_t i = fb_thread(); i < (uint32_t)r->nsrc + r->ndst; i += fb_threads())
		address[i] = NAME(end_address)(&p.ends[i], epoch);
	for (uint32_t i = fb_thread(); i < r->nwait; i += fb_threads())
		NAME(await)(&p.waits[i], epoch);
	fb_sync_block();
	if (!NAME(wide_bulk)(address, r, op, nranks))
		NAME(bulk)(address, r, op, nranks);
	fb_sync_block();
	for (uint32_t i = fb_thread(); i < r->npost; i += fb_threads())
		fb_post(p.posts[i].address, NAME(counter)(&p.posts[i], epoch));
}

FB_DEVICE void NAME(step_lines)(const struct fb_gpu_record *r, uint64_t epoch, uint32_t op,
				uint32_t nranks, uint32_t protocol)
{
	struct NAME(parts) p = NAME(parts_of)(r);

	if (r->flags & FB_GPU_SYNC)
		fb_sync_block();
	for (uint32_t i = 0; i < r->nwait; i++)
		NAME(await)(&p.waits[i], epoch);
	if (protocol == FB_GPU_LL128 && !NAME(wide_ll128)(r, p.ends, epoch, op, nranks))
		NAME(ll128_move)(r, p.ends, epoch, op, nranks);
	if (protocol != FB_GPU_LL128 &&
	    !NAME(wide_ll)(r, p.ends, epoch, op, nranks, protocol == FB_GPU_LL8))
		NAME(ll_move)(r, p.ends, epoch, op, nranks, protocol == FB_GPU_LL8);
	if (!r->npost)
		return;
	fb_sync_block();
	for (uint32_t i = fb_thread(); i < r->npost; i += fb_threads())
		fb_post(p.posts[i].address, NAME(counter)(&p.posts[i], epoch));
}

/* Copies a window of records to shared memory. */
FB_DEVICE void NAME(fill_window)(const struct fb_gpu_launch *l, const struct fb_gpu_block *block,
				 uint32_t window, unsigned char *shared)
{
	uint64_t begin = (uint64_t)window * FB_GPU_WINDOW;
	uint64_t bytes = block->bytes - begin;
	const uint64_t *from = l->blocks ? (const uint64_t *)(uintptr_t)(block->records + begin)
					 : l->inlined + block->records / 8;
	uint64_t *to = (uint64_t *)shared;

	bytes = bytes < FB_GPU_WINDOW ? bytes : FB_GPU_WINDOW;
	for (uint32_t i = fb_thread(); i < bytes / 8; i += fb_threads())
		to[i] = from[i];
}

/* A whole call. `protocol` is a constant of the caller's. */
FB_DEVICE void NAME(interpret)(const struct fb_gpu_launch *l, uint32_t protocol,
			       unsigned char *shared)
{
	uint64_t *address = (uint64_t *)(shared + FB_GPU_WINDOW);
	uint64_t own = l->epochs + (uint64_t)fb_block() * FB_GPU_LINE, epoch;
	struct fb_gpu_block block;
	uint32_t window = 0, at = 0;

	/* Records are never written while there are calls. */
	fb_let_next();
	if (l->blocks)
		block = ((const struct fb_gpu_block *)(uintptr_t)l->blocks)[fb_block()];
	else
		block = l->inline_blocks[fb_block()];
	NAME(fill_window)(l, &block, window, shared);
	fb_sync_block();
	fb_await_last();
	epoch = fb_load_private(own);
	if (l->times && fb_thread() == 0 && fb_block() == 0)
		fb_store_private(l->times + (epoch & (FB_GPU_TIMES - 1)) * 8, fb_device_time());
	for (uint32_t i = 0; i < block.nrecords; i++) {
		const struct fb_gpu_record *r = (const struct fb_gpu_record *)(shared + at);
		uint32_t flags = r->flags, size = r->size;

		if (protocol == FB_GPU_SIMPLE)
			NAME(step_bulk)(r, address, epoch, l->op, l->nranks);
		else
			NAME(step_lines)(r, epoch, l->op, l->nranks, protocol);
		at += size;
		if (flags & FB_GPU_REFILL) {
			at = 0;
			fb_sync_block();
			NAME(fill_window)(l, &block, ++window, shared);
			fb_sync_block();
		}
	}
	/* Every thread has read the epoch. */
	fb_sync_block();
	if (fb_thread() == 0)
		fb_store_private(own, epoch + 1);
}

/* --- the fused one-shot ---------------------------------------------------------------------- */

/* Line i from all peers and this rank, reduced in order of rank. */
FB_DEVICE void NAME(one_shot_line)(const struct fb_gpu_one_shot *o, uint64_t offset, uint64_t i,
				   uint32_t flag, const union NAME(pack) *own,
				   union NAME(pack) *a)
{
	struct fb_words4 line[FB_GPU_MOST_PEERS];

	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
		if (p < o->npeers)
			line[p] = fb_load_line(o->from[p] + offset + i * 16, false);
	*a = *own;
	FB_UNROLL
	for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++) {
		union NAME(pack) b;

		if (p >= o->npeers)
			continue;
		while (!NAME(has_flag)(&line[p], flag)) {
			fb_again();
			line[p] = fb_load_line(o->from[p] + offset + i * 16, false);
		}
		b.words.w[0] = line[p].w[0];
		b.words.w[1] = line[p].w[2];
		b.halves[1] = 0;
		if (p == 0 && o->rank != 0)
			*a = b;
		else
			NAME(combine)(o->op, a, &b);
		/* The peers from p + 1 on have higher ranks than this one. */
		if (p + 1 == o->rank)
			NAME(combine)(o->op, a, own);
	}
	if (o->flags & FB_GPU_FINISH)
		NAME(finish)(a, o->nranks);
}

enum { NAME(ROUND) = 2 }; /* lines a thread sends before it waits for the first */

FB_DEVICE void NAME(one_shot)(const struct fb_gpu_one_shot *o)
{
	uint64_t mine = o->epochs + (uint64_t)fb_block() * FB_GPU_LINE, epoch, offset;
	uint64_t lines = o->bytes ? (o->bytes + 7) / 8 : 1;
	uint64_t step = (uint64_t)fb_blocks() * fb_threads();
	uint64_t first = (uint64_t)fb_block() * fb_threads() + fb_thread();
	bool aligned = o->flags & FB_GPU_ALIGNED;
	uint32_t flag;

	fb_let_next();
	fb_await_last();
	epoch = fb_load_private(mine);
	offset = (epoch & 1) * (uint64_t)o->stride;
	flag = (uint32_t)epoch + 1;
	if (o->times && fb_thread() == 0 && fb_block() == 0)
		fb_store_private(o->times + (epoch & (FB_GPU_TIMES - 1)) * 8, fb_device_time());
	for (; first < lines; first += NAME(ROUND) * step) {
		union NAME(pack) own[NAME(ROUND)], a;

		FB_UNROLL
		for (int u = 0; u < NAME(ROUND); u++) {
			uint64_t i = first + (uint64_t)u * step;
			struct fb_words4 line;

			own[u].halves[0] = own[u].halves[1] = 0;
			if (i >= lines)
				break;
			own[u].halves[0] = NAME(load_half)(o->in + i * 8, o->bytes - i * 8,
							   aligned);
			line.w[0] = own[u].words.w[0];
			line.w[2] = own[u].words.w[1];
			line.w[1] = line.w[3] = flag;
			FB_UNROLL
			for (uint32_t p = 0; p < FB_GPU_MOST_PEERS; p++)
				if (p < o->npeers)
					fb_store_line(o->to[p] + offset + i * 16, line, false);
		}
		FB_UNROLL
		for (int u = 0; u < NAME(ROUND); u++) {
			uint64_t i = first + (uint64_t)u * step;

			if (i >= lines)
				break;
			NAME(one_shot_line)(o, offset, i, flag, &own[u], &a);
			NAME(store_half)(o->out + i * 8, a.halves[0], o->bytes - i * 8, aligned);
		}
	}
	fb_sync_block();
	if (fb_thread() == 0)
		fb_store_private(mine, epoch + 1);
}

/* --- sums of what is there ------------------------------------------------------------------- */

/* Each block has a part that begins at a line. `address`: shared, one more than summands. */
FB_DEVICE void NAME(sum)(const struct fb_gpu_sum *s, uint64_t *address)
{
	uint64_t lines = (s->bytes + FB_GPU_LINE - 1) / FB_GPU_LINE;
	uint64_t each = (lines + fb_blocks() - 1) / fb_blocks() * FB_GPU_LINE;
	uint64_t first = each * fb_block(), left = first < s->bytes ? s->bytes - first : 0;
	struct fb_gpu_record r = {0};

	r.bytes = left < each ? left : each;
	r.nsrc = (uint16_t)s->nsrc;
	r.ndst = 1;
	r.flags = s->flags;
	for (uint32_t i = fb_thread(); i <= s->nsrc; i += fb_threads())
		address[i] = (i < s->nsrc ? s->from[i] : s->to) + first;
	fb_sync_block();
	if (!NAME(wide_bulk)(address, &r, s->op, s->nranks))
		NAME(bulk)(address, &r, s->op, s->nranks);
}
