/* SPDX-License-Identifier: BSD-3-Clause */
/* What lists of engine copy are made with: one rank's list, entry by entry. */
#ifndef FB_COLLECTIVES_ENGINE_COPY_MAKER_H
#define FB_COLLECTIVES_ENGINE_COPY_MAKER_H

#include "collectives/engine/copy/plan.h"

/* What one rank's plan is made from; the first error stops the rest. */
struct fb_copy_maker {
	const struct fb_operation *op;
	const struct fb_copy_wishes *wishes;
	int rank, nranks, err;
	size_t size; /* of an element */
	struct fb_copy_list list;
};

/* The flag that `writer` sets at this rank: kind 0 is READY, the others are the plans'. */
uint32_t fb_copy_flag(const struct fb_copy_maker *m, int writer, int kind);

/* Each appends one entry; out of memory is printed and stays in m->err. */
void fb_copy_add(struct fb_copy_maker *m, struct fb_copy_op op);
void fb_copy_signal(struct fb_copy_maker *m, int stream, int peer, int kind);
void fb_copy_await(struct fb_copy_maker *m, int stream, int writer, int kind);
void fb_copy_after(struct fb_copy_maker *m, int stream, int after);

/* Streams 1 to `streams` go on after the caller's; the caller's goes on after all of them. */
void fb_copy_fork(struct fb_copy_maker *m, int streams);
void fb_copy_join(struct fb_copy_maker *m);

/* The rank's share of what it contributes itself: `bytes`, where it does not lie there already. */
void fb_copy_move_own(struct fb_copy_maker *m, uint64_t from_byte, uint64_t to_byte,
		      uint64_t bytes);

#endif
