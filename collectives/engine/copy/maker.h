/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that build the list of one rank of engine copy, entry by entry. */
#ifndef FB_COLLECTIVES_ENGINE_COPY_MAKER_H
#define FB_COLLECTIVES_ENGINE_COPY_MAKER_H

#include "collectives/engine/copy/plan.h"

/* Kinds of flags that most plans have; sums and chains have others behind READY. */
enum { FB_COPY_READY, FB_COPY_DONE };

/* Streams of copies one behind the other. */
enum { FB_COPY_LANES = 2 };

/* What one rank's plan is made from; the first error stops the rest. */
struct fb_copy_maker {
	const struct fb_operation *op;
	const struct fb_copy_tuning *tuning;
	int rank, nranks, err;
	size_t size; /* of an element */
	int lane, beside; /* fb_copy_in_turn: streams of the next and the last copy */
	struct fb_copy_list list;
};

/* Each appends one entry; out of memory is printed and stays in m->err. */
void fb_copy_add(struct fb_copy_maker *m, struct fb_copy_op op);
void fb_copy_signal(struct fb_copy_maker *m, int stream, int peer, int kind);
void fb_copy_await(struct fb_copy_maker *m, int stream, int writer, int kind);
void fb_copy_after(struct fb_copy_maker *m, int stream, int after);

/* Streams 1 to `streams` go on after the caller's; the caller's goes on after all of them. */
void fb_copy_fork(struct fb_copy_maker *m, int streams);
void fb_copy_join(struct fb_copy_maker *m);

/*
 * Appends a copy of a sequence in which each one begins when the one before is nearly over. All but
 * the last `tail` bytes go on stream m->lane. Then m->lane and m->beside change places, and the new
 * m->lane waits for these bytes. The tail stays on the old stream, so that what is appended to the
 * new one overlaps with it. `done` is signalled to move.peer behind the whole copy; -1: no flag.
 * Copies shorter than two tails have none.
 */
void fb_copy_in_turn(struct fb_copy_maker *m, struct fb_copy_op move, uint64_t tail, int done);

/* Appends the copy of `bytes` of the rank's input to its output, unless they lie there already. */
void fb_copy_move_own(struct fb_copy_maker *m, int stream, uint64_t from_byte, uint64_t to_byte,
		      uint64_t bytes);

#endif
