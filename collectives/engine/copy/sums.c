/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of reductions; see sums.h. */
#include "collectives/engine/copy/sums.h"

#include "collectives/engine/copy/shares.h"

enum { MOST_AT_ONCE = 15 }; /* peers that are copied to at once */

/* Kinds of flags; of slots, one for each. */
enum {
	READY,
	DONE,
	FREE = DONE + FB_COPY_SLOTS, /* at once */
	HEAD = FREE,                 /* in rounds */
	LAST = FREE + FB_COPY_SLOTS,
};

bool fb_copy_is_sum(const struct fb_operation *op)
{
	return op->collective == FB_ALL_REDUCE || op->collective == FB_REDUCE_SCATTER ||
	       op->collective == FB_REDUCE;
}

static int peer_at(const struct fb_copy_maker *m, int step)
{
	return (m->rank + step) % m->nranks;
}

static void await_all(struct fb_copy_maker *m, int stream, int kind)
{
	for (int step = 1; step < m->nranks; step++)
		fb_copy_await(m, stream, peer_at(m, step), kind);
}

static void signal_all(struct fb_copy_maker *m, int stream, int kind)
{
	for (int step = 1; step < m->nranks; step++)
		fb_copy_signal(m, stream, peer_at(m, step), kind);
}

/* --- at once --------------------------------------------------------------------------------- */

static int at_once(const struct fb_copy_maker *m)
{
	return m->nranks - 1 < MOST_AT_ONCE ? m->nranks - 1 : MOST_AT_ONCE;
}

/* The stream of everything that goes to a peer, parts and results. */
static int push_stream(const struct fb_copy_maker *m, int step)
{
	return 1 + (step - 1) % at_once(m);
}

static int sum_stream(const struct fb_copy_maker *m)
{
	return 1 + at_once(m);
}

static void push(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i, int step)
{
	int peer = peer_at(m, step), stream = push_stream(m, step), slot = i % FB_COPY_SLOTS;
	struct fb_copy_op op = fb_copy_push(m, s, i, peer);

	op.stream = stream;
	if (i >= FB_COPY_SLOTS)
		fb_copy_after(m, stream, sum_stream(m));
	if (i == 0)
		fb_copy_await(m, stream, peer, READY);
	else if (i >= FB_COPY_SLOTS)
		fb_copy_await(m, stream, peer, FREE + slot);
	if (op.bytes)
		fb_copy_add(m, op);
	fb_copy_signal(m, stream, peer, DONE + slot);
}

static void sum(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i)
{
	int stream = sum_stream(m), slot = i % FB_COPY_SLOTS;

	await_all(m, stream, DONE + slot);
	fb_copy_sum(m, s, i, stream);
	if (i + FB_COPY_SLOTS < s->pieces)
		signal_all(m, stream, FREE + slot);
}

static void deliver(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i, int step)
{
	struct fb_copy_op op = fb_copy_deliver(m, s, i, peer_at(m, step));

	op.stream = push_stream(m, step);
	fb_copy_after(m, op.stream, sum_stream(m));
	if (op.bytes)
		fb_copy_add(m, op);
	if (i == s->pieces - 1)
		fb_copy_signal(m, op.stream, op.peer, LAST);
}

static void plan_at_once(struct fb_copy_maker *m, const struct fb_copy_shares *s)
{
	int n = m->nranks;

	signal_all(m, 0, READY);
	fb_copy_fork(m, sum_stream(m));
	for (int i = -1; i < s->pieces; i++) {
		/* The next piece goes first: it is under way while this one is combined. */
		for (int step = 1; step < n && i + 1 < s->pieces; step++)
			push(m, s, i + 1, step);
		if (i >= 0)
			sum(m, s, i);
		for (int stream = 1; stream < sum_stream(m) && i + 1 < s->pieces; stream++)
			fb_copy_after(m, sum_stream(m), stream);
		for (int step = 1; step < n && i >= 0; step++)
			if (fb_copy_gets_result(m->op, peer_at(m, step)))
				deliver(m, s, i, step);
	}
	fb_copy_join(m);
	if (fb_copy_gets_result(m->op, m->rank))
		await_all(m, 0, LAST);
}

/* --- in rounds ------------------------------------------------------------------------------- */

enum { SUMS = FB_COPY_LANES + 1 };

/* `last` of the call: nobody waits for it. */
static void copy_round(struct fb_copy_maker *m, struct fb_copy_op op, int done, bool last)
{
	fb_copy_await(m, m->lane, op.peer, READY);
	fb_copy_in_turn(m, op, last ? 0 : m->tuning->tail_bytes, done);
	if (!last)
		fb_copy_signal(m, m->lane, op.peer, HEAD);
}

static void hand_on(struct fb_copy_maker *m, int step)
{
	int next = step % (m->nranks - 1) + 1;

	fb_copy_await(m, m->lane, peer_at(m, m->nranks - step), HEAD);
	fb_copy_signal(m, m->lane, peer_at(m, m->nranks - next), READY);
}

/* The turn behind the last push of piece i may be for piece i + 1, so for the slot of i - 1. */
static void push_round(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i, int step)
{
	bool all = step == m->nranks - 1;
	bool last = all && i == s->pieces - 1 && m->op->collective == FB_REDUCE_SCATTER;

	copy_round(m, fb_copy_push(m, s, i, peer_at(m, step)), DONE + i % FB_COPY_SLOTS, last);
	if (all && i > 0)
		fb_copy_after(m, m->lane, SUMS);
	if (!last)
		hand_on(m, step);
}

static void push_piece(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i)
{
	for (int step = 1; step < m->nranks; step++)
		push_round(m, s, i, step);
	for (int lane = 1; lane <= FB_COPY_LANES; lane++)
		fb_copy_after(m, SUMS, lane);
	await_all(m, SUMS, DONE + i % FB_COPY_SLOTS);
	fb_copy_sum(m, s, i, SUMS);
}

static void deliver_piece(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i)
{
	for (int step = 1; step < m->nranks; step++) {
		bool last = i == s->pieces - 1 && step == m->nranks - 1;

		copy_round(m, fb_copy_deliver(m, s, i, peer_at(m, step)), -1, last);
		if (!last)
			hand_on(m, step);
	}
}

static void plan_rounds(struct fb_copy_maker *m, const struct fb_copy_shares *s)
{
	bool delivers = m->op->collective == FB_ALL_REDUCE;

	fb_copy_signal(m, 0, peer_at(m, m->nranks - 1), READY);
	fb_copy_fork(m, SUMS);
	m->lane = 1;
	m->beside = 2;
	push_piece(m, s, 0);
	for (int i = 0; i < s->pieces; i++) {
		if (i + 1 < s->pieces)
			push_piece(m, s, i + 1);
		else if (delivers)
			fb_copy_after(m, m->lane, SUMS);
		if (delivers)
			deliver_piece(m, s, i);
	}
	fb_copy_join(m);
	if (!delivers)
		return;
	signal_all(m, 0, LAST);
	await_all(m, 0, LAST);
}

void fb_copy_plan_sum(struct fb_copy_maker *m)
{
	const struct fb_copy_shares s = fb_copy_shares_of(m->op, m->tuning, m->nranks);

	if (m->nranks == 1) {
		fb_copy_move_own(m, 0, 0, 0, s.total * m->size);
	} else if (m->nranks > 2 && m->op->collective != FB_REDUCE &&
		   s.piece * m->size >= m->tuning->round_bytes) {
		m->list.way = "in rounds";
		plan_rounds(m, &s);
	} else {
		plan_at_once(m, &s);
	}
}
