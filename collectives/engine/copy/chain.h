/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large broadcasts and reductions to a root: ranks in a row, from the root on or to the root, each
 * of which passes pieces on to the next. So every GPU sends all data once at most and receives
 * them once at most, from one other, and all work at the same time.
 *
 *	broadcast:  wait DONE of piece i, write FREE; copy it to the next, write DONE there
 *	reduce:     wait DONE of piece i, add the own one to it in the slot where it is; copy the
 *	            sum to the next one's slot, write DONE there; write FREE
 *
 * Pieces take turns at two streams, each with its own waits, copy and flags: an edge of a graph
 * from a copy to flags and back costs more than ten microseconds, which only another copy that is
 * under way already can hide. Sums have a stream of their own.
 *
 * Flags have one bit, as in plan.h, and pieces take turns at WINDOW of them: the copy of piece
 * i + WINDOW waits for FREE, which the next writes after it cleared DONE of piece i and, of a
 * reduction, when the slot is free: when it has been passed on or, at the root, combined. For the
 * first pieces READY is enough. FREE of the last WINDOW pieces is not written.
 *
 * It cannot deadlock, in whatever order a rank's streams run (plan.h). Say rank p of the row waits
 * for DONE of piece i in D(i, p) and for FREE before it copies piece i in C(i, p). All D of a rank
 * are in order, and all C, and both are behind all of copy i - 2: it is the last on their stream,
 * and so is copy i - 3 on the other, which they are behind. D(i, p) waits for copy i at
 * p - 1, which D and C up to i + 1 there may precede, but nothing later. C(i, p) waits for
 * copy i - WINDOW at p + 1 or less, which again D and C up to i - WINDOW + 1 may precede. Give
 * D(i, p) the number i + 2 p and C(i, p) i + 2 p + 1/2: with WINDOW = 4 each waits for what has
 * lower numbers before it only, so the rank that waits at the lowest can go on.
 */
#ifndef FB_COLLECTIVES_ENGINE_COPY_CHAIN_H
#define FB_COLLECTIVES_ENGINE_COPY_CHAIN_H

#include "collectives/engine/copy/maker.h"

bool fb_copy_is_chained(const struct fb_operation *op, const struct fb_copy_tuning *tuning,
			int nranks);

/* Appends the rank's whole list. */
void fb_copy_plan_chain(struct fb_copy_maker *m);

/* Bytes of slots that each rank needs. */
uint64_t fb_copy_chain_bytes(const struct fb_operation *op, const struct fb_copy_tuning *tuning);

#endif
