/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of ranks in a row; see chain.h. */
#include "collectives/engine/copy/chain.h"

#include "collectives/engine/copy/parts.h"

enum {
	WINDOW = 4,
	MOST_PIECES = 4096,
	LINE = 128, /* slots begin at multiples of it */
	SUMS = FB_COPY_LANES + 1,
};

/* Kinds of flags; of the window, one for each. */
enum { READY, DONE, FREE = DONE + WINDOW };

struct chain {
	uint64_t count, piece; /* elements */
	uint64_t slot;         /* bytes */
	int pieces;
	int next, previous;    /* ranks */
	bool first, last;
};

bool fb_copy_is_chained(const struct fb_operation *op, const struct fb_copy_tuning *tuning,
			int nranks)
{
	bool rooted = op->collective == FB_BROADCAST || op->collective == FB_REDUCE;

	return rooted && !tuning->pull && nranks > 2 && op->count > 0 && tuning->chain_bytes &&
	       op->count * fb_datatype_size(op->datatype) >= tuning->chain_bytes;
}

static uint64_t piece_of(const struct fb_operation *op, const struct fb_copy_tuning *tuning)
{
	uint64_t piece = tuning->piece_bytes / fb_datatype_size(op->datatype);
	uint64_t least = (op->count + MOST_PIECES - 1) / MOST_PIECES;

	return piece < least ? (least + LINE - 1) / LINE * LINE : piece;
}

static uint64_t slot_of(const struct fb_operation *op, uint64_t piece)
{
	return (piece * fb_datatype_size(op->datatype) + LINE - 1) / LINE * LINE;
}

uint64_t fb_copy_chain_bytes(const struct fb_operation *op, const struct fb_copy_tuning *tuning)
{
	return op->collective == FB_REDUCE ? WINDOW * slot_of(op, piece_of(op, tuning)) : 0;
}

static struct chain chain_of(const struct fb_copy_maker *m)
{
	int n = m->nranks, root = m->op->root;
	int head = m->op->collective == FB_REDUCE ? (root + 1) % n : root;
	struct chain c = {.count = m->op->count, .piece = piece_of(m->op, m->tuning)};

	c.slot = slot_of(m->op, c.piece);
	c.pieces = (int)((c.count + c.piece - 1) / c.piece);
	c.next = (m->rank + 1) % n;
	c.previous = (m->rank + n - 1) % n;
	c.first = m->rank == head;
	c.last = c.next == head;
	return c;
}

/* Piece i from where the rank has it in `area` to the same place of `to`. */
static struct fb_copy_op piece_at(const struct fb_copy_maker *m, const struct chain *c, int i,
				  enum fb_copy_area area, int to)
{
	uint64_t first = (uint64_t)i * c->piece, left = c->count - first;

	return (struct fb_copy_op){
		.from = m->rank, .to = to, .peer = to, .from_area = area, .to_area = FB_COPY_OUT,
		.from_byte = first * m->size, .to_byte = first * m->size,
		.bytes = (left < c->piece ? left : c->piece) * m->size,
	};
}

/* Whether anybody copies into the place of piece i in the window again. */
static bool comes_again(const struct chain *c, int i)
{
	return i + WINDOW < c->pieces;
}

/* Copies take turns at the lanes. */
static int lane_of(int i)
{
	return 1 + i % FB_COPY_LANES;
}

/* C(i) */
static void await_room(struct fb_copy_maker *m, const struct chain *c, int i)
{
	if (i == 0)
		fb_copy_await(m, lane_of(i), c->next, READY);
	else if (i >= WINDOW)
		fb_copy_await(m, lane_of(i), c->next, FREE + i % WINDOW);
}

static void pass_on(struct fb_copy_maker *m, int i, struct fb_copy_op op)
{
	op.kind = FB_COPY_MOVE;
	op.stream = lane_of(i);
	fb_copy_add(m, op);
	fb_copy_signal(m, op.stream, op.peer, DONE + i % WINDOW);
}

/* D(i) and C(i) */
static void await_piece(struct fb_copy_maker *m, const struct chain *c, int i)
{
	if (!c->first)
		fb_copy_await(m, lane_of(i), c->previous, DONE + i % WINDOW);
	if (!c->first && comes_again(c, i))
		fb_copy_signal(m, lane_of(i), c->previous, FREE + i % WINDOW);
	if (!c->last)
		await_room(m, c, i);
}

static void broadcast(struct fb_copy_maker *m, const struct chain *c)
{
	enum fb_copy_area area = c->first ? FB_COPY_IN : FB_COPY_OUT;

	if (!c->first)
		fb_copy_signal(m, 0, c->previous, READY);
	fb_copy_fork(m, FB_COPY_LANES);
	for (int i = 0; i <= c->pieces; i++) {
		if (i > 0 && i < c->pieces)
			fb_copy_after(m, lane_of(i), lane_of(i - 1));
		if (i < c->pieces)
			await_piece(m, c, i);
		if (!c->last && i > 0)
			pass_on(m, i - 1, piece_at(m, c, i - 1, area, c->next));
	}
	if (c->first)
		fb_copy_own_block(m, 0);
	fb_copy_join(m);
}

/* --- reduce ---------------------------------------------------------------------------------- */

static uint64_t slot_byte(const struct chain *c, int i)
{
	return (uint64_t)(i % WINDOW) * c->slot;
}

static void sum(struct fb_copy_maker *m, const struct chain *c, int i)
{
	struct fb_copy_op op = piece_at(m, c, i, FB_COPY_IN, m->rank);

	op.kind = FB_COPY_SUM;
	op.stream = SUMS;
	op.chained = true;
	op.slot_byte = slot_byte(c, i);
	if (!c->last) {
		op.to_area = FB_COPY_SCRATCH;
		op.to_byte = op.slot_byte;
		if (i >= FB_COPY_LANES)
			fb_copy_after(m, SUMS, lane_of(i));
	}
	fb_copy_await(m, SUMS, c->previous, DONE + i % WINDOW);
	fb_copy_add(m, op);
	if (!c->last)
		fb_copy_after(m, lane_of(i), SUMS);
	else if (comes_again(c, i))
		fb_copy_signal(m, SUMS, c->previous, FREE + i % WINDOW);
}

static void send(struct fb_copy_maker *m, const struct chain *c, int i)
{
	struct fb_copy_op op = piece_at(m, c, i, FB_COPY_IN, c->next);

	op.to_area = FB_COPY_SCRATCH;
	op.to_byte = slot_byte(c, i);
	if (!c->first) {
		op.from_area = FB_COPY_SCRATCH;
		op.from_byte = slot_byte(c, i);
	}
	pass_on(m, i, op);
	if (!c->first && comes_again(c, i))
		fb_copy_signal(m, lane_of(i), c->previous, FREE + i % WINDOW);
}

static void reduce(struct fb_copy_maker *m, const struct chain *c)
{
	if (!c->first)
		fb_copy_signal(m, 0, c->previous, READY);
	fb_copy_fork(m, SUMS);
	for (int i = 0; i <= c->pieces; i++) {
		if (!c->first && i < c->pieces)
			sum(m, c, i);
		if (!c->last && i > 0 && i < c->pieces)
			fb_copy_after(m, lane_of(i), lane_of(i - 1));
		if (!c->last && i < c->pieces)
			await_room(m, c, i);
		if (!c->last && i > 0)
			send(m, c, i - 1);
	}
	fb_copy_join(m);
}

void fb_copy_plan_chain(struct fb_copy_maker *m)
{
	const struct chain c = chain_of(m);

	if (m->op->collective == FB_BROADCAST)
		broadcast(m, &c);
	else
		reduce(m, &c);
}
