/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of reductions; see sums.h. */
#include "collectives/engine/copy/sums.h"

enum {
	SLOTS = 2,
	LINE = 128,        /* shares and pieces begin at multiples of it */
	MOST_AT_ONCE = 15, /* peers that are copied to at once */
};

/* Kinds of flags; of slots, one for each. */
enum { READY, DONE, FREE = DONE + SLOTS, LAST = FREE + SLOTS };

/* In elements. */
struct shares {
	uint64_t total, share, piece;
	int pieces;
};

bool fb_copy_is_sum(const struct fb_operation *op)
{
	return op->collective == FB_ALL_REDUCE || op->collective == FB_REDUCE_SCATTER ||
	       op->collective == FB_REDUCE;
}

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct shares shares_of(const struct fb_operation *op, const struct fb_copy_wishes *wishes,
			       int nranks)
{
	uint64_t n = (uint64_t)nranks, size = fb_datatype_size(op->datatype), unit = LINE / size;
	struct shares s = {.total = op->count, .share = op->count};
	uint64_t most = wishes->sum_bytes / LINE * unit, pieces;

	if (op->collective == FB_REDUCE_SCATTER)
		s.total *= n;
	else
		s.share = round_up((op->count + n - 1) / n, unit);
	most = most ? most : round_up(s.share + 1, unit);
	pieces = (s.share + most - 1) / most;
	pieces = pieces ? pieces : 1;
	s.piece = round_up((s.share + pieces - 1) / pieces, unit);
	s.pieces = s.piece ? (int)((s.share + s.piece - 1) / s.piece) : 1;
	return s;
}

/* Piece i of a rank's share: its first element in the whole; returns how many. */
static uint64_t piece_of(const struct shares *s, int rank, int i, uint64_t *first)
{
	uint64_t begin = smaller((uint64_t)rank * s->share, s->total);
	uint64_t end = smaller(begin + s->share, s->total);

	*first = smaller(begin + (uint64_t)i * s->piece, end);
	return smaller(s->piece, end - *first);
}

static uint64_t slot_bytes(const struct fb_copy_maker *m, const struct shares *s)
{
	return s->piece * m->size;
}

/* Which of the owner's others the pusher is, from the one behind it on. */
static int place(int pusher, int owner, int nranks)
{
	return (pusher - owner - 1 + nranks) % nranks;
}

static int at_once(const struct fb_copy_maker *m)
{
	return m->nranks - 1 < MOST_AT_ONCE ? m->nranks - 1 : MOST_AT_ONCE;
}

/*
 * Of all that goes to a peer, parts and results: two copies at once to one GPU are slower than one
 * behind the other.
 */
static int push_stream(const struct fb_copy_maker *m, int step)
{
	return 1 + (step - 1) % at_once(m);
}

static int sum_stream(const struct fb_copy_maker *m)
{
	return 1 + at_once(m);
}

static bool gets_result(const struct fb_copy_maker *m, int rank)
{
	return m->op->collective == FB_ALL_REDUCE ||
	       (m->op->collective == FB_REDUCE && rank == m->op->root);
}

static int peer_at(const struct fb_copy_maker *m, int step)
{
	return (m->rank + step) % m->nranks;
}

static void push(struct fb_copy_maker *m, const struct shares *s, int i, int step)
{
	int peer = peer_at(m, step), stream = push_stream(m, step), slot = i % SLOTS;
	uint64_t first, count = piece_of(s, peer, i, &first);
	uint64_t at = (uint64_t)place(m->rank, peer, m->nranks) * SLOTS + (uint64_t)slot;

	if (i >= SLOTS)
		fb_copy_after(m, stream, sum_stream(m));
	if (i == 0)
		fb_copy_await(m, stream, peer, READY);
	else if (i >= SLOTS)
		fb_copy_await(m, stream, peer, FREE + slot);
	if (count)
		fb_copy_add(m, (struct fb_copy_op){
			.kind = FB_COPY_MOVE, .stream = stream, .peer = peer, .from = m->rank,
			.to = peer, .from_byte = first * m->size, .to_area = FB_COPY_SCRATCH,
			.to_byte = at * slot_bytes(m, s), .bytes = count * m->size,
		});
	fb_copy_signal(m, stream, peer, DONE + slot);
}

/* Where this rank's result of piece i lies. */
static struct fb_copy_op result(const struct fb_copy_maker *m, const struct shares *s, int i)
{
	uint64_t first, count = piece_of(s, m->rank, i, &first), bytes = slot_bytes(m, s);
	struct fb_copy_op op = {.from = m->rank, .to = m->rank, .peer = m->rank,
				.to_area = FB_COPY_OUT, .to_byte = first * m->size,
				.from_byte = first * m->size, .bytes = count * m->size};

	if (m->op->collective == FB_REDUCE_SCATTER) {
		op.to_byte = (uint64_t)i * bytes;
	} else if (!gets_result(m, m->rank)) {
		op.to_area = FB_COPY_SCRATCH;
		op.to_byte = ((uint64_t)(m->nranks - 1) * SLOTS + (uint64_t)i) * bytes;
	}
	return op;
}

static void sum(struct fb_copy_maker *m, const struct shares *s, int i)
{
	struct fb_copy_op op = result(m, s, i);
	int stream = sum_stream(m), slot = i % SLOTS;

	for (int step = 1; step < m->nranks; step++)
		fb_copy_await(m, stream, peer_at(m, step), DONE + slot);
	op.kind = FB_COPY_SUM;
	op.stream = stream;
	op.slot_byte = (uint64_t)slot * slot_bytes(m, s);
	op.slot_stride = SLOTS * slot_bytes(m, s);
	if (op.bytes)
		fb_copy_add(m, op);
	for (int step = 1; step < m->nranks && i + SLOTS < s->pieces; step++)
		fb_copy_signal(m, stream, peer_at(m, step), FREE + slot);
}

static void deliver(struct fb_copy_maker *m, const struct shares *s, int i, int step)
{
	struct fb_copy_op op = result(m, s, i);
	uint64_t whole = op.from_byte; /* where it is in everyone's output */

	op.kind = FB_COPY_MOVE;
	op.stream = push_stream(m, step);
	op.to = op.peer = peer_at(m, step);
	op.from_area = op.to_area;
	op.from_byte = op.to_byte;
	op.to_area = FB_COPY_OUT;
	op.to_byte = whole;
	fb_copy_after(m, op.stream, sum_stream(m));
	if (op.bytes)
		fb_copy_add(m, op);
	if (i == s->pieces - 1)
		fb_copy_signal(m, op.stream, op.peer, LAST);
}

void fb_copy_plan_sum(struct fb_copy_maker *m)
{
	const struct shares s = shares_of(m->op, m->wishes, m->nranks);
	int n = m->nranks;

	if (n == 1) {
		fb_copy_move_own(m, 0, 0, s.total * m->size);
		return;
	}
	for (int step = 1; step < n; step++)
		fb_copy_signal(m, 0, peer_at(m, step), READY);
	fb_copy_fork(m, sum_stream(m));
	for (int i = -1; i < s.pieces; i++) {
		/* The next piece goes first: it is under way while this one is combined. */
		for (int step = 1; step < n && i + 1 < s.pieces; step++)
			push(m, &s, i + 1, step);
		if (i >= 0)
			sum(m, &s, i);
		for (int stream = 1; stream < sum_stream(m); stream++)
			fb_copy_after(m, sum_stream(m), stream);
		if (i < 0)
			continue;
		for (int step = 1; step < n; step++)
			if (gets_result(m, peer_at(m, step)))
				deliver(m, &s, i, step);
	}
	fb_copy_join(m);
	for (int step = 1; step < n && gets_result(m, m->rank); step++)
		fb_copy_await(m, 0, peer_at(m, step), LAST);
}

uint64_t fb_copy_scratch_bytes(const struct fb_operation *op, const struct fb_copy_wishes *wishes,
			       int nranks)
{
	const struct shares s = shares_of(op, wishes, nranks);
	uint64_t pieces = (uint64_t)(nranks - 1) * SLOTS;

	if (!fb_copy_is_sum(op) || nranks == 1)
		return 0;
	if (op->collective == FB_REDUCE)
		pieces += (uint64_t)s.pieces;
	return pieces * s.piece * fb_datatype_size(op->datatype);
}

const void *fb_copy_summand(const struct fb_operation *op, char *const *scratch,
			    const struct fb_copy_op *sum, int nranks, int k)
{
	const char *own = fb_operation_in(op, sum->to);

	if (k == sum->to)
		return own + sum->from_byte;
	return scratch[sum->to] + sum->slot_byte +
	       (uint64_t)place(k, sum->to, nranks) * sum->slot_stride;
}
