/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds: one copy at a time out of and into each GPU; see plan.h. */
#include "collectives/engine/copy/parts.h"

/* The first step behind `step` at which `rank` is a target, and whose; 0 for none. */
static int next_turn(const struct fb_copy_maker *m, int rank, int step, int *peer)
{
	while (++step < m->nranks)
		if (fb_copy_others(m, rank, step, peer).count)
			return step;
	return 0;
}

/* Behind a round's head this rank's target lets the next in, and so does this rank. */
static void one_round(struct fb_copy_maker *m, int step)
{
	int peer, writer, ignored, next;
	struct fb_copy_part part = fb_copy_own(m, m->rank, step, &peer);

	if (part.count) {
		bool hands_on = next_turn(m, peer, step, &ignored) > 0;

		fb_copy_await(m, m->lane, peer, FB_COPY_READY);
		fb_copy_in_turn(m, fb_copy_part_move(m, m->lane, peer, &part),
				hands_on ? m->wishes->tail_bytes : 0, FB_COPY_DONE);
		if (hands_on)
			fb_copy_signal(m, m->lane, peer, FB_COPY_HEAD);
	}
	if (!fb_copy_others(m, m->rank, step, &writer).count || !next_turn(m, m->rank, step, &next))
		return;
	fb_copy_await(m, m->lane, writer, FB_COPY_HEAD);
	fb_copy_signal(m, m->lane, next, FB_COPY_READY);
}

/* Nobody comes behind the last: its DONE can go with the waits for the others', as one command. */
static void last_round(struct fb_copy_maker *m)
{
	int peer;
	struct fb_copy_part part = fb_copy_own(m, m->rank, m->nranks - 1, &peer);

	if (part.count) {
		fb_copy_await(m, m->lane, peer, FB_COPY_READY);
		fb_copy_add(m, fb_copy_part_move(m, m->lane, peer, &part));
	}
	fb_copy_join(m);
	if (part.count)
		fb_copy_signal(m, 0, peer, FB_COPY_DONE);
	fb_copy_await_done(m);
}

/* The rank's own block on a stream of its own, if there is any. */
static void begin_own(struct fb_copy_maker *m, int stream)
{
	size_t before = m->list.count;

	fb_copy_after(m, stream, 0);
	fb_copy_own_block(m, stream);
	if (m->list.count == before + 1)
		m->list.count = before;
	else
		m->list.streams = stream;
}

/*
 * Edges between streams cost some us each, so the last copy is on the caller's stream, and the
 * first too if their number allows it: then READY goes with the first wait as one command.
 */
void fb_copy_plan_rounds(struct fb_copy_maker *m)
{
	enum { OTHER = 1, OWN };
	int first, turns = 0, peer;

	for (int step = 1; step < m->nranks - 1; step++)
		turns += fb_copy_own(m, m->rank, step, &peer).count > 0;
	m->list.streams = OTHER;
	begin_own(m, OWN);
	if (next_turn(m, m->rank, 0, &first))
		fb_copy_signal(m, 0, first, FB_COPY_READY);
	m->lane = turns % FB_COPY_LANES;
	m->beside = OTHER - m->lane;
	if (m->lane || !turns)
		fb_copy_after(m, OTHER, 0);
	for (int step = 1; step < m->nranks - 1; step++)
		one_round(m, step);
	last_round(m);
}
