/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of engine copy: copy engines move, and a kernel of a few blocks combines what they
 * brought. So links carry large messages at the copy engines' rate, and nearly all
 * multiprocessors stay free.
 *
 * Every rank has a share of the result. Each share is cut into pieces; for piece i
 *
 *	pusher:   wait until the slot at the owner is free, copy its part there, write DONE
 *	owner:    wait DONE of all others, combine all parts in order of rank, write FREE to all
 *	owner:    copy the result to those that get it, after the last piece write LAST
 *
 * Small pieces go at once, with a stream for each peer, in which piece i + 1 goes before the
 * results of piece i, so that there is always something to copy while flags are seen to and
 * pieces are combined. all_reduce's results go to all, reduce's to the root, those of
 * reduce_scatter to nobody.
 *
 * Slots: two for each pusher, in scratch of the owner. The first piece waits for READY of the
 * owner (plan.h), whose call before is then over, and with it all reading of slots; the second
 * goes on after that wait. Piece i waits for FREE, which the owner writes when it has combined
 * piece i - 2; none is written for the last two. Pieces of one slot share a stream.
 *
 * Flags have one bit, as in plan.h, and both sides take turns: DONE of piece i + 2 is written
 * after FREE of piece i was seen, which the owner wrote after it cleared DONE of piece i; FREE of
 * piece i + 2 after DONE of piece i + 2, which the pusher wrote after it cleared FREE of piece i.
 * LAST of a call is written after DONE of all others in it, so after they cleared LAST of the call
 * before.
 *
 * Rounds: where pieces are large, ranks keep to the rotation. READY is the token: a target gives it
 * to the initiator of its next turn when most of the turn before, the head, has arrived, which HEAD
 * tells. What is left, the tail, hides that exchange: it goes on one stream while the chain of
 * waits goes on on the other (fb_copy_in_turn). In the chain are, for each turn k in this order,
 *
 *	A(k)  wait READY of the own target, copy the head, write HEAD at the target
 *	T(k)  wait HEAD of the own initiator, write READY at the initiator of the next turn
 *
 * and tails and DONEs beside it, which wait for nothing else. A(k) waits for what T(k-1) of
 * another rank or an earlier one writes, T(k) for A(k) of another: always for what has fewer
 * waits before it. So the rank whose next wait is the earliest can go on, in whatever order.
 *
 * A round has n - 1 turns; rounds come in the order push 0, push 1, deliver 0, push 2, deliver 1,
 * ...: while piece i is combined, links are busy with pushes of piece i + 1 or, of the last piece,
 * with results of the one before. Where there are no results to deliver, pieces get shorter, so
 * that the last sum, which nothing hides, is short. The turn for push i + 2 is given behind sum i,
 * so no FREE is needed; LAST is written behind all copies of a rank.
 *
 * In place: piece i of a share is overwritten at a pusher by the owner's copy, which is behind
 * DONE of that piece of all, so behind the pusher's reading of it.
 *
 * It cannot deadlock, in whatever order a rank's streams run (plan.h). At once: sum i is behind
 * all own pushes of piece i, and push i + 2 behind the own sum i. Push i + 2 waits for others'
 * sums i, and these for pushes i: always for what has fewer waits before it. In rounds: let s be
 * the last turn of push i. Sum i is behind the own T(s), and nothing before A(s + 1) is behind it,
 * so it has its place between A(s + 1) and T(s + 1), or before A(s + 1) where that is behind it. It
 * waits for what others write behind their tails of turns up to s, which are before their T(s + 1)
 * (the lane that they are on is the one that it takes) and before their own sums i.
 */
#ifndef FB_COLLECTIVES_ENGINE_COPY_SUMS_H
#define FB_COLLECTIVES_ENGINE_COPY_SUMS_H

#include "collectives/engine/copy/maker.h"

bool fb_copy_is_sum(const struct fb_operation *op);

/* Appends the rank's whole list. */
void fb_copy_plan_sum(struct fb_copy_maker *m);

#endif
