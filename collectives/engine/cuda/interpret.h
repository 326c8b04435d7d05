/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter: one block executes the records of one lane. A template without include guard,
 * for C and CUDA; includes all the rest. The includer defines TYPE_<name>, see types.h.
 *
 * simple, direct: threads that have a counter to wait for poll it, each its own; then all meet,
 * move, meet again, and threads that have a counter to raise raise it. Two meetings per record.
 * tma: the same, but warps move tiles by bulk copies. striped: the same, but warps move stripes.
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

#include "collectives/engine/cuda/unaligned.h"
/* Needed by all that follow. */
#include "collectives/engine/cuda/bulk.h"
#include "collectives/engine/cuda/pipe.h"
#include "collectives/engine/cuda/lines.h"
/* Needs it. */
#include "collectives/engine/cuda/lines128.h"
/* Both are needed by it. */
#include "collectives/engine/cuda/accumulate.h"
#include "collectives/engine/cuda/exchange.h"
#include "collectives/engine/cuda/exchange128.h"

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

/* Before a record's bytes are touched, in simple and direct; addresses of its ends in order. */
FB_DEVICE void NAME(begin)(const struct fb_gpu_record *r, uint64_t *address, uint64_t epoch)
{
	struct NAME(parts) p = NAME(parts_of)(r);

	for (uint32_t i = fb_thread(); i < (uint32_t)r->nsrc + r->ndst; i += fb_threads())
		address[i] = NAME(end_address)(&p.ends[i], epoch);
	for (uint32_t i = fb_thread(); i < r->nwait; i += fb_threads())
		NAME(await)(&p.waits[i], epoch);
	fb_sync_block();
}

/* Needs what is above. */
#include "collectives/engine/cuda/striped.h"

FB_DEVICE void NAME(step_bulk)(const struct fb_gpu_record *r, uint64_t *address, uint64_t epoch,
			       uint32_t op, uint32_t nranks, struct fb_pipe *pipe, bool striped)
{
	struct NAME(parts) p = NAME(parts_of)(r);

	if (striped && r->flags & FB_GPU_DEEP) {
		NAME(striped)(r, address, epoch, op, nranks, NAME(MOST_ROWS));
	} else if (striped) {
		NAME(striped)(r, address, epoch, op, nranks, NAME(MOST_ROWS) / 2);
	} else {
		NAME(begin)(r, address, epoch);
		if (!NAME(wide_bulk)(address, r, op, nranks) &&
		    !NAME(pipe_bulk)(address, r, op, nranks, pipe))
			NAME(bulk)(address, r, op, nranks);
	}
	fb_sync_block();
	for (uint32_t i = fb_thread(); i < r->npost; i += fb_threads())
		fb_post(p.posts[i].address, NAME(counter)(&p.posts[i], epoch));
}

/* What a crew does of a record; all of its threads come here. */
FB_DEVICE void NAME(move_lines)(const struct fb_gpu_record *r, uint64_t epoch, uint32_t op,
				uint32_t nranks, uint32_t protocol, const struct NAME(crew) *crew)
{
	const struct fb_gpu_end *ends = NAME(parts_of)(r).ends;
	bool by_word = protocol == FB_GPU_LL8;

	if (protocol == FB_GPU_LL128) {
		if (!NAME(wide_ll128)(r, ends, epoch, op, nranks, crew))
			NAME(ll128_move)(r, ends, epoch, op, nranks, crew);
	} else if (!NAME(wide_ll)(r, ends, epoch, op, nranks, by_word, crew)) {
		NAME(ll_move)(r, ends, epoch, op, nranks, by_word, crew);
	}
}

/*
 * `n` records from r on: one, or several side by side, each by as many warps; of a block too
 * small, one after the other. Those neither wait for counters nor raise them.
 */
FB_DEVICE void NAME(step_lines)(const struct fb_gpu_record *r, uint32_t n, uint64_t epoch,
				uint32_t op, uint32_t nranks, uint32_t protocol)
{
	uint32_t share = n > 1 ? fb_threads() / FB_WARP / n * FB_WARP : 0;
	struct NAME(crew) crew = {fb_thread(), fb_threads()};
	uint32_t mine = 0;

	if (share) {
		mine = crew.thread / share;
		crew.thread %= share;
		crew.threads = share;
	}
	if (r->flags & FB_GPU_SYNC)
		fb_sync_block();
	for (uint32_t i = 0; i < n; i++) {
		struct NAME(parts) p = NAME(parts_of)(r);

		for (uint32_t k = 0; k < r->nwait; k++)
			NAME(await)(&p.waits[k], epoch);
		if (!share || i == mine)
			NAME(move_lines)(r, epoch, op, nranks, protocol, &crew);
		if (r->npost)
			fb_sync_block();
		for (uint32_t k = fb_thread(); k < r->npost; k += fb_threads())
			fb_post(p.posts[k].address, NAME(counter)(&p.posts[k], epoch));
		r = (const struct fb_gpu_record *)((const unsigned char *)r + r->size);
	}
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

/*
 * A whole call. Constants of the caller's: `protocol`; `striped`, whether all records are; `pool`,
 * shared memory of that many bytes for pipes, or NULL.
 */
FB_DEVICE void NAME(interpret)(const struct fb_gpu_launch *l, uint32_t protocol, bool striped,
			       unsigned char *shared, unsigned char *pool, uint32_t pool_bytes)
{
	uint64_t *address = (uint64_t *)(shared + FB_GPU_WINDOW);
	uint64_t own = l->epochs + (uint64_t)fb_block() * FB_GPU_LINE, epoch;
	struct fb_gpu_block block;
	uint32_t window = 0, at = 0;
	struct fb_pipe pipe = {0};

	/* Records are never written while there are calls. */
	fb_let_next();
	if (l->blocks)
		block = ((const struct fb_gpu_block *)(uintptr_t)l->blocks)[fb_block()];
	else
		block = l->inline_blocks[fb_block()];
	NAME(fill_window)(l, &block, window, shared);
	if (pool)
		fb_pipe_open(&pipe, pool, pool_bytes);
	fb_sync_block();
	fb_await_last();
	epoch = fb_load_private(own);
	if (l->times && fb_thread() == 0 && fb_block() == 0)
		fb_store_private(l->times + (epoch & (FB_GPU_TIMES - 1)) * 8, fb_device_time());
	for (uint32_t i = 0, n = 1; i < block.nrecords; i += n) {
		const struct fb_gpu_record *r = (const struct fb_gpu_record *)(shared + at);
		uint32_t flags = r->flags, size = r->size;

		n = r->batch ? r->batch : 1;
		if (protocol == FB_GPU_SIMPLE)
			NAME(step_bulk)(r, address, epoch, l->op, l->nranks,
					pool ? &pipe : NULL, striped);
		else
			NAME(step_lines)(r, n, epoch, l->op, l->nranks, protocol);
		at += size;
		for (uint32_t k = 1; k < n; k++) {
			r = (const struct fb_gpu_record *)(shared + at);
			flags = r->flags;
			at += r->size;
		}
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
