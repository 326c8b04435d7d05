/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of copies and flags; see plan.h for the protocol and why it is right. */
#include "collectives/engine/copy/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectives/buffers.h"
#include "collectives/engine/copy/sums.h"
#include "common/error.h"

/* Kinds of flags; DONE + i of piece i, where there are pieces. */
enum { READY, DONE };

/* Elements that `from` has for `to`: first in the input, first in the output, how many. */
struct part {
	uint64_t from_first, to_first, count;
};

uint32_t fb_copy_flags(int nranks)
{
	return (uint32_t)nranks * (1 + FB_COPY_MOST_PIECES);
}

bool fb_copy_can(const struct fb_operation *op, bool pull, char *reason, size_t n)
{
	const struct fb_collective_info *info = fb_collective_info(op->collective);
	bool exchanges = op->collective == FB_ALL_TO_ALL || op->collective == FB_ALL_TO_ALL_V ||
			 op->collective == FB_SEND_RECV;

	if (op->collective == FB_BARRIER)
		snprintf(reason, n, "copy engines cannot do %s", info->name);
	else if (pull && fb_copy_is_sum(op))
		snprintf(reason, n, "what is summed is pushed");
	else if (exchanges && op->in_place)
		snprintf(reason, n, "%s in place needs memory between", info->name);
	else
		return true;
	return false;
}

static struct part part_of(const struct fb_operation *op, int nranks, int from, int to)
{
	const struct part none = {0}, block = {0, 0, op->count};

	switch (op->collective) {
	case FB_ALL_GATHER:
		return (struct part){0, fb_buffers_first(op, true, to, from), op->count};
	case FB_ALL_TO_ALL:
	case FB_ALL_TO_ALL_V:
		return (struct part){
			fb_buffers_first(op, false, from, to),
			fb_buffers_first(op, true, to, from),
			fb_buffers_first(op, false, from, to + 1) -
				fb_buffers_first(op, false, from, to),
		};
	case FB_BROADCAST:
		return from == op->root ? block : none;
	case FB_GATHER:
		return to == op->root ? (struct part){0, op->count * (uint64_t)from, op->count}
				      : none;
	case FB_SCATTER:
		return from == op->root ? (struct part){op->count * (uint64_t)to, 0, op->count}
					: none;
	case FB_SEND_RECV:
		return to == (from + 1) % nranks ? block : none;
	default:
		return none;
	}
}

/* Elements become bytes here. */
static void move(struct fb_copy_maker *m, int stream, int from, int to, const struct part *part)
{
	fb_copy_add(m, (struct fb_copy_op){
		.kind = FB_COPY_MOVE, .stream = stream, .from = from, .to = to,
		.peer = from == m->rank ? to : from, .to_area = FB_COPY_OUT,
		.from_byte = part->from_first * m->size, .to_byte = part->to_first * m->size,
		.bytes = part->count * m->size,
	});
}

static void move_own(struct fb_copy_maker *m)
{
	struct part part = part_of(m->op, m->nranks, m->rank, m->rank);

	fb_copy_move_own(m, part.from_first * m->size, part.to_first * m->size,
			 part.count * m->size);
}

/* What this rank copies from or to the peer that is `step` away; .count 0 for nothing. */
static struct part own_part(const struct fb_copy_maker *m, int step, int *peer)
{
	int n = m->nranks, r = m->rank;

	*peer = m->wishes->pull ? (r - step + n) % n : (r + step) % n;
	return m->wishes->pull ? part_of(m->op, n, *peer, r) : part_of(m->op, n, r, *peer);
}

/* The same for what that peer copies, of which this rank is the target. */
static struct part others_part(const struct fb_copy_maker *m, int step, int *peer)
{
	int n = m->nranks, r = m->rank;

	*peer = m->wishes->pull ? (r + step) % n : (r - step + n) % n;
	return m->wishes->pull ? part_of(m->op, n, r, *peer) : part_of(m->op, n, *peer, r);
}

static void move_own_part(struct fb_copy_maker *m, int stream, int peer, const struct part *part)
{
	if (m->wishes->pull)
		move(m, stream, peer, m->rank, part);
	else
		move(m, stream, m->rank, peer, part);
}

/* READY to all who copy from or to this rank, in the order in which they come to it. */
static void tell_ready(struct fb_copy_maker *m)
{
	for (int step = 1, peer; step < m->nranks; step++)
		if (others_part(m, step, &peer).count)
			fb_copy_signal(m, 0, peer, READY);
}

static void await_done(struct fb_copy_maker *m)
{
	for (int step = 1, peer; step < m->nranks; step++)
		if (others_part(m, step, &peer).count)
			fb_copy_await(m, 0, peer, DONE);
}

/* All copies on the caller's stream, next to each other, so that they can go as one batch. */
static void plan_one_stream(struct fb_copy_maker *m)
{
	struct part part;
	int peer;

	tell_ready(m);
	for (int step = 1; step < m->nranks; step++)
		if (own_part(m, step, &peer).count)
			fb_copy_await(m, 0, peer, READY);
	for (int step = 1; step < m->nranks; step++) {
		part = own_part(m, step, &peer);
		if (part.count)
			move_own_part(m, 0, peer, &part);
	}
	move_own(m);
	for (int step = 1; step < m->nranks; step++)
		if (own_part(m, step, &peer).count)
			fb_copy_signal(m, 0, peer, DONE);
	await_done(m);
}

static int min(int a, int b)
{
	return a < b ? a : b;
}

/* Each copy begins when its own peer is ready, and tells only that one. */
static void plan_streams(struct fb_copy_maker *m)
{
	int copies = 0, streams, stream = 0, peer;
	struct part part;

	for (int step = 1; step < m->nranks; step++)
		copies += own_part(m, step, &peer).count > 0;
	streams = min(m->wishes->streams, copies);
	tell_ready(m);
	fb_copy_fork(m, streams);
	for (int step = 1; step < m->nranks; step++) {
		part = own_part(m, step, &peer);
		if (!part.count || streams == 0) /* there is a stream if there is a copy */
			continue;
		stream = stream % streams + 1;
		fb_copy_await(m, stream, peer, READY);
		move_own_part(m, stream, peer, &part);
		fb_copy_signal(m, stream, peer, DONE);
	}
	move_own(m);
	fb_copy_join(m);
	await_done(m);
}

/* --- relayed broadcast ----------------------------------------------------------------------- */

/* The i-th rank that is not the root, from the one behind it on. */
static int relay(const struct fb_copy_maker *m, int i)
{
	return (m->op->root + 1 + i) % m->nranks;
}

/* Pieces that each relay gets. */
static int rounds(const struct fb_copy_maker *m)
{
	uint64_t each = m->op->count * m->size / (uint64_t)(m->nranks - 1);
	uint64_t n = m->wishes->piece_bytes ? each / m->wishes->piece_bytes : 1;

	return (int)(n < 1 ? 1 : n > FB_COPY_MOST_PIECES ? FB_COPY_MOST_PIECES : n);
}

static struct part piece_of(const struct fb_copy_maker *m, int i, int round)
{
	uint64_t n = (uint64_t)(m->nranks - 1) * (uint64_t)rounds(m);
	uint64_t k = (uint64_t)round * (uint64_t)(m->nranks - 1) + (uint64_t)i;
	uint64_t each = m->op->count / n, more = m->op->count % n;
	uint64_t first = k * each + (k < more ? k : more);

	return (struct part){first, first, each + (k < more)};
}

static void relay_root(struct fb_copy_maker *m)
{
	int others = m->nranks - 1, streams = min(m->wishes->streams, others);

	streams = streams ? streams : 1;
	fb_copy_fork(m, streams);
	for (int round = 0; round < rounds(m); round++) {
		for (int i = 0; i < others; i++) {
			struct part part = piece_of(m, i, round);
			int stream = i % streams + 1;

			if (round == 0)
				fb_copy_await(m, stream, relay(m, i), READY);
			if (part.count)
				move(m, stream, m->rank, relay(m, i), &part);
			fb_copy_signal(m, stream, relay(m, i), DONE + round);
		}
	}
	move_own(m);
	fb_copy_join(m);
}

/* On one stream: each copy alone takes all that the rank can send. */
static void relay_other(struct fb_copy_maker *m)
{
	int root = m->op->root, others = m->nranks - 1;
	int self = (m->rank - root - 1 + m->nranks) % m->nranks;

	fb_copy_signal(m, 0, root, READY);
	for (int i = 1; i < others; i++)
		fb_copy_signal(m, 0, relay(m, (self + others - i) % others), READY);
	fb_copy_fork(m, 1);
	for (int round = 0; round < rounds(m); round++) {
		struct part part = piece_of(m, self, round);

		fb_copy_await(m, 1, root, DONE + round);
		for (int i = 1; i < others; i++) {
			int peer = relay(m, (self + i) % others);

			if (round == 0)
				fb_copy_await(m, 1, peer, READY);
			if (part.count)
				move(m, 1, m->rank, peer, &part);
			if (part.count && !m->err)
				m->list.op[m->list.count - 1].from_area = FB_COPY_OUT;
			fb_copy_signal(m, 1, peer, DONE + round);
		}
	}
	fb_copy_join(m);
	for (int round = 0; round < rounds(m); round++)
		for (int i = 1; i < others; i++)
			fb_copy_await(m, 0, relay(m, (self + i) % others), DONE + round);
}

/* Two ranks have nobody to relay for. */
static bool is_relayed(const struct fb_copy_maker *m)
{
	return m->op->collective == FB_BROADCAST && !m->wishes->pull && m->nranks > 2 &&
	       m->op->count * m->size >= m->wishes->relay_bytes && m->op->count > 0;
}

int fb_copy_plan(const struct fb_operation *op, const struct fb_copy_wishes *wishes, int rank,
		 int nranks, struct fb_copy_list *list)
{
	struct fb_copy_maker m = {.op = op, .wishes = wishes, .rank = rank, .nranks = nranks,
			  .size = fb_datatype_size(op->datatype)};

	m.list.relayed = is_relayed(&m);
	if (fb_copy_is_sum(op))
		fb_copy_plan_sum(&m);
	else if (m.list.relayed && rank == op->root)
		relay_root(&m);
	else if (m.list.relayed)
		relay_other(&m);
	else if (wishes->streams)
		plan_streams(&m);
	else
		plan_one_stream(&m);
	if (m.err)
		fb_copy_list_free(&m.list);
	*list = m.list;
	return m.err;
}

void fb_copy_list_free(struct fb_copy_list *list)
{
	free(list->op);
	*list = (struct fb_copy_list){.op = NULL};
}

static char *area(const struct fb_operation *op, char *const *scratch, enum fb_copy_area area,
		  int rank)
{
	if (area == FB_COPY_SCRATCH)
		return scratch[rank];
	return area == FB_COPY_IN ? fb_operation_in(op, rank) : fb_operation_out(op, rank);
}

const void *fb_copy_source(const struct fb_operation *op, char *const *scratch,
			   const struct fb_copy_op *move)
{
	const char *base = area(op, scratch, move->from_area, move->from);

	return base ? base + move->from_byte : NULL;
}

void *fb_copy_destination(const struct fb_operation *op, char *const *scratch,
			  const struct fb_copy_op *move)
{
	char *base = area(op, scratch, move->to_area, move->to);

	return base ? base + move->to_byte : NULL;
}
