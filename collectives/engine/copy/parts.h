/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that ranks of engine copy have for each other, in operations without sums. */
#ifndef FB_COLLECTIVES_ENGINE_COPY_PARTS_H
#define FB_COLLECTIVES_ENGINE_COPY_PARTS_H

#include "collectives/engine/copy/maker.h"

/* Elements that a rank has for another: first in the input, first in the output, how many. */
struct fb_copy_part {
	uint64_t from_first, to_first, count;
};

/* What `rank` copies from or to the peer that is `step` away; .count 0 for nothing. */
struct fb_copy_part fb_copy_own(const struct fb_copy_maker *m, int rank, int step, int *peer);

/* The same for what that peer copies, of which `rank` is the target. */
struct fb_copy_part fb_copy_others(const struct fb_copy_maker *m, int rank, int step, int *peer);

/* The copy of what fb_copy_own said of this rank, not yet in the list. */
struct fb_copy_op fb_copy_part_move(const struct fb_copy_maker *m, int stream, int peer,
				    const struct fb_copy_part *part);

/* Each appends: what the rank has for itself; the waits for all that others copy. */
void fb_copy_own_block(struct fb_copy_maker *m, int stream);
void fb_copy_await_done(struct fb_copy_maker *m);

/* Appends the rank's whole list; see plan.h. */
void fb_copy_plan_relay(struct fb_copy_maker *m);

#endif
