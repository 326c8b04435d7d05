/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchanges that all_to_all and all_to_all_v share: block j of rank i goes to block i of rank
 * j. Every transfer is of one whole block with an end in FB_IN and one in `into`, because in
 * all_to_all_v every pair of ranks has a size of its own.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_EXCHANGE_H
#define FB_COLLECTIVES_ALGORITHM_EXCHANGE_H

#include "common/plan/builder.h"

/* Rank `from` sends rank `to` its block, into block `from` of `into`; a copy where from == to. */
static inline void fb_exchange_one(struct fb_builder *b, enum fb_buffer into, int from, int to)
{
	fb_copy(b, fb_chunk(to, into, (uint32_t)from, 1), fb_chunk(from, FB_IN, (uint32_t)to, 1));
}

/*
 * All blocks in one round: a rank sends to the ranks after it in turn, so that no receiver is
 * everybody's first, and receives from those before it in turn. `into` (FB_OUT or FB_SCRATCH)
 * must not alias FB_IN. A rank's block for itself goes to FB_OUT in any case.
 */
void fb_exchange_direct(struct fb_builder *b, enum fb_buffer into);

/*
 * One partner a round: in round k a rank sends k ranks ahead and receives from k ranks behind.
 * Round 0, the local copy, is on lane `local_lane`, the messages are on lane 0.
 */
void fb_exchange_pairwise(struct fb_builder *b, int local_lane);

#endif
