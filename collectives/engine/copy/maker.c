/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of lists; see maker.h. */
#include "collectives/engine/copy/maker.h"

#include <stdlib.h>

#include "common/base/error.h"

enum { UNIT = 4096 }; /* tails begin at multiples of it from the begin */

/* The flag that `writer` sets at this rank. */
static uint32_t flag_of(const struct fb_copy_maker *m, int writer, int kind)
{
	return (uint32_t)(m->nranks * kind + writer);
}

void fb_copy_add(struct fb_copy_maker *m, struct fb_copy_op op)
{
	struct fb_copy_list *l = &m->list;
	size_t capacity = l->capacity ? 2 * l->capacity : 64;
	struct fb_copy_op *ops;

	if (m->err)
		return;
	if (l->count == l->capacity) {
		ops = realloc(l->op, capacity * sizeof(*ops));
		if (!ops) {
			m->err = fb_error(FB_ENOMEM, "out of memory for the list of copies");
			return;
		}
		l->op = ops;
		l->capacity = capacity;
	}
	l->op[l->count++] = op;
}

void fb_copy_signal(struct fb_copy_maker *m, int stream, int peer, int kind)
{
	fb_copy_add(m, (struct fb_copy_op){.kind = FB_COPY_SIGNAL, .stream = stream, .peer = peer,
					   .flag = flag_of(m, m->rank, kind)});
}

void fb_copy_await(struct fb_copy_maker *m, int stream, int writer, int kind)
{
	fb_copy_add(m, (struct fb_copy_op){.kind = FB_COPY_AWAIT, .stream = stream,
					   .peer = m->rank,
					   .flag = flag_of(m, writer, kind)});
}

void fb_copy_after(struct fb_copy_maker *m, int stream, int after)
{
	fb_copy_add(m, (struct fb_copy_op){.kind = FB_COPY_AFTER, .stream = stream,
					   .after = after, .peer = m->rank});
}

void fb_copy_fork(struct fb_copy_maker *m, int streams)
{
	for (int s = 1; s <= streams; s++)
		fb_copy_after(m, s, 0);
	m->list.streams = streams;
}

void fb_copy_join(struct fb_copy_maker *m)
{
	for (int s = 1; s <= m->list.streams; s++)
		fb_copy_after(m, 0, s);
}

void fb_copy_in_turn(struct fb_copy_maker *m, struct fb_copy_op move, uint64_t tail, int done)
{
	uint64_t unit = tail < UNIT ? 1 : UNIT, bytes = move.bytes;
	int lane = m->lane;

	move.kind = FB_COPY_MOVE;
	move.stream = lane;
	if (tail && bytes >= 2 * tail)
		move.bytes = (bytes - tail) / unit * unit;
	if (bytes)
		fb_copy_add(m, move);
	m->lane = m->beside;
	m->beside = lane;
	fb_copy_after(m, m->lane, lane);
	move.from_byte += move.bytes;
	move.to_byte += move.bytes;
	move.bytes = bytes - move.bytes;
	if (move.bytes)
		fb_copy_add(m, move);
	if (done >= 0)
		fb_copy_signal(m, lane, move.peer, done);
}

void fb_copy_move_own(struct fb_copy_maker *m, int stream, uint64_t from_byte, uint64_t to_byte,
		      uint64_t bytes)
{
	const char *from = fb_operation_in(m->op, m->rank);
	const char *to = fb_operation_out(m->op, m->rank);

	if (!bytes || from + from_byte == to + to_byte)
		return;
	fb_copy_add(m, (struct fb_copy_op){
		.kind = FB_COPY_MOVE, .stream = stream,
		.from = m->rank, .to = m->rank, .peer = m->rank, .from_byte = from_byte,
		 .to_area = FB_COPY_OUT, .to_byte = to_byte, .bytes = bytes,
	});
}
