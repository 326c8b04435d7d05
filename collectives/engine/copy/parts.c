/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the part that a rank has for another rank; see parts.h. */
#include "collectives/engine/copy/parts.h"

#include "collectives/buffers.h"

static struct fb_copy_part part_of(const struct fb_operation *op, int nranks, int from, int to)
{
	struct fb_copy_part none = {0}, block = {0, 0, op->count};

	switch (op->collective) {
	case FB_ALL_GATHER:
	case FB_ALL_GATHER_V:
	case FB_ALL_TO_ALL:
	case FB_ALL_TO_ALL_V:
		block.to_first = fb_buffers_first(op, true, to, from);
		block.count = fb_buffers_first(op, true, to, from + 1) - block.to_first;
		if (fb_collective_info(op->collective)->in == FB_BLOCK_PER_RANK)
			block.from_first = fb_buffers_first(op, false, from, to);
		return block;
	case FB_BROADCAST:
		return from == op->root ? block : none;
	case FB_GATHER:
		block.to_first = op->count * (uint64_t)from;
		return to == op->root ? block : none;
	case FB_SCATTER:
		block.from_first = op->count * (uint64_t)to;
		return from == op->root ? block : none;
	case FB_SEND_RECV:
		return to == (from + 1) % nranks ? block : none;
	default:
		return none;
	}
}

struct fb_copy_part fb_copy_own(const struct fb_copy_maker *m, int rank, int step, int *peer)
{
	int n = m->nranks;

	*peer = m->tuning->pull ? (rank - step + n) % n : (rank + step) % n;
	return m->tuning->pull ? part_of(m->op, n, *peer, rank) : part_of(m->op, n, rank, *peer);
}

struct fb_copy_part fb_copy_others(const struct fb_copy_maker *m, int rank, int step, int *peer)
{
	int n = m->nranks;

	*peer = m->tuning->pull ? (rank + step) % n : (rank - step + n) % n;
	return m->tuning->pull ? part_of(m->op, n, rank, *peer) : part_of(m->op, n, *peer, rank);
}

struct fb_copy_op fb_copy_part_move(const struct fb_copy_maker *m, int stream, int peer,
				    const struct fb_copy_part *part)
{
	bool pull = m->tuning->pull;

	return (struct fb_copy_op){
		.kind = FB_COPY_MOVE, .stream = stream, .peer = peer,
		.from = pull ? peer : m->rank, .to = pull ? m->rank : peer,
		.to_area = FB_COPY_OUT, .from_byte = part->from_first * m->size,
		.to_byte = part->to_first * m->size, .bytes = part->count * m->size,
	};
}

void fb_copy_own_block(struct fb_copy_maker *m, int stream)
{
	struct fb_copy_part part = part_of(m->op, m->nranks, m->rank, m->rank);

	fb_copy_move_own(m, stream, part.from_first * m->size, part.to_first * m->size,
			 part.count * m->size);
}

void fb_copy_await_done(struct fb_copy_maker *m)
{
	for (int step = 1, peer; step < m->nranks; step++)
		if (fb_copy_others(m, m->rank, step, &peer).count)
			fb_copy_await(m, 0, peer, FB_COPY_DONE);
}
