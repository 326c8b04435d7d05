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

void fb_copy_plan_rounds(struct fb_copy_maker *m)
{
	int first;

	if (next_turn(m, m->rank, 0, &first))
		fb_copy_signal(m, 0, first, FB_COPY_READY);
	fb_copy_fork(m, FB_COPY_LANES);
	m->lane = 1;
	for (int step = 1; step < m->nranks; step++)
		one_round(m, step);
	fb_copy_own_block(m);
	fb_copy_join(m);
	fb_copy_await_done(m);
}
