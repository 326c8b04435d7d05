/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by both algorithms of PAT (parallel aggregated trees): the number of blocks that a rank
 * passes on in a round, and the order in which it sends and receives them.
 *
 * A round of distance `bit` has steps i = 0, 1, ...: each rank gives one block to the rank `bit`
 * away and takes one from the rank `bit` away on the other side. If all ranks sent all their blocks
 * first, a round would need as many slots as it has steps; if they took turns, each step would
 * wait for the one before and the algorithm would be as slow as a ring. So ranks of alternate
 * stretches of length `bit` send first or receive first: any number of slots will do, and a
 * round takes the time of two messages (of one, when it has one step) while its messages fit into
 * the slots.
 */
#ifndef FB_COLLECTIVES_ALGORITHM_PAT_H
#define FB_COLLECTIVES_ALGORITHM_PAT_H

/* Steps of the round of distance `bit` < n: places 0, 2 bit, 4 bit, ... that have one beyond. */
static inline int fb_pat_steps(int n, int bit)
{
	return (n - 1 - bit) / 2 / bit + 1;
}

/* How many of its `count` sends a rank does before it receives. */
static inline int fb_pat_early(int rank, int bit, int count)
{
	return rank / bit % 2 ? 1 : count;
}

#endif
