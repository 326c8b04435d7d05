/* SPDX-License-Identifier: BSD-3-Clause */
/* Relayed broadcasts; see plan.h. */
#include "collectives/engine/copy/parts.h"

/* The i-th rank that is not the root, from the one behind it on. */
static int relay(const struct fb_copy_maker *m, int i)
{
	return (m->op->root + 1 + i) % m->nranks;
}

/* Pieces that each relay gets. */
static int rounds(const struct fb_copy_maker *m)
{
	uint64_t each = m->op->count * m->size / (uint64_t)(m->nranks - 1);
	uint64_t n = m->tuning->piece_bytes ? each / m->tuning->piece_bytes : 1;

	return (int)(n < 1 ? 1 : n > FB_COPY_MOST_PIECES ? FB_COPY_MOST_PIECES : n);
}

static struct fb_copy_part piece_of(const struct fb_copy_maker *m, int i, int round)
{
	uint64_t n = (uint64_t)(m->nranks - 1) * (uint64_t)rounds(m);
	uint64_t k = (uint64_t)round * (uint64_t)(m->nranks - 1) + (uint64_t)i;
	uint64_t each = m->op->count / n, more = m->op->count % n;
	uint64_t first = k * each + (k < more ? k : more);

	return (struct fb_copy_part){first, first, each + (k < more)};
}

static void relay_root(struct fb_copy_maker *m)
{
	int others = m->nranks - 1, streams = m->tuning->streams;

	streams = streams > others ? others : streams ? streams : 1;
	fb_copy_fork(m, streams);
	for (int round = 0; round < rounds(m); round++) {
		for (int i = 0; i < others; i++) {
			struct fb_copy_part part = piece_of(m, i, round);
			int stream = i % streams + 1;

			if (round == 0)
				fb_copy_await(m, stream, relay(m, i), FB_COPY_READY);
			if (part.count)
				fb_copy_add(m, fb_copy_part_move(m, stream, relay(m, i), &part));
			fb_copy_signal(m, stream, relay(m, i), FB_COPY_DONE + round);
		}
	}
	fb_copy_own_block(m, 0);
	fb_copy_join(m);
}

/* On one stream: each copy alone takes all that the rank can send. */
static void relay_other(struct fb_copy_maker *m)
{
	int root = m->op->root, others = m->nranks - 1;
	int self = (m->rank - root - 1 + m->nranks) % m->nranks;

	fb_copy_signal(m, 0, root, FB_COPY_READY);
	for (int i = 1; i < others; i++)
		fb_copy_signal(m, 0, relay(m, (self + others - i) % others), FB_COPY_READY);
	fb_copy_fork(m, 1);
	for (int round = 0; round < rounds(m); round++) {
		struct fb_copy_part part = piece_of(m, self, round);
		struct fb_copy_op op;

		fb_copy_await(m, 1, root, FB_COPY_DONE + round);
		for (int i = 1; i < others; i++) {
			int peer = relay(m, (self + i) % others);

			if (round == 0)
				fb_copy_await(m, 1, peer, FB_COPY_READY);
			op = fb_copy_part_move(m, 1, peer, &part);
			op.from_area = FB_COPY_OUT;
			if (part.count)
				fb_copy_add(m, op);
			fb_copy_signal(m, 1, peer, FB_COPY_DONE + round);
		}
	}
	fb_copy_join(m);
	for (int round = 0; round < rounds(m); round++)
		for (int i = 1; i < others; i++)
			fb_copy_await(m, 0, relay(m, (self + i) % others), FB_COPY_DONE + round);
}

void fb_copy_plan_relay(struct fb_copy_maker *m)
{
	if (m->rank == m->op->root)
		relay_root(m);
	else
		relay_other(m);
}
