/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, neighbour exchange: ranks exchange with their left and right neighbour in turn,
 * first their own blocks, then always the pair of blocks they got last.
 *
 * n/2 steps, half of a ring's, with only neighbours talking and (n - 1)/n of the output sent per
 * rank. Needs an even number of ranks.
 *
 * Pairs are ranks 2p and 2p + 1. After k rounds beyond the first, an even rank got pair
 * p - (k + 1)/2 for odd k and p + k/2 for even k; an odd rank the mirror image.
 */
#include "collectives/algorithm/algorithm.h"

#include <stdio.h>

static bool can(const struct fb_shape *shape, char *why, size_t n)
{
	if (shape->nranks == 1 || shape->nranks % 2 == 0)
		return true;
	snprintf(why, n, "neighbour_exchange needs an even number of ranks, not %d",
		 shape->nranks);
	return false;
}

/* In round `step` >= 1 rank `from` sends to its neighbour the pair that it got last. */
static void give(struct fb_builder *b, int from, int step)
{
	int n = fb_nranks(b), side = from % 2 ? 1 : -1, last = step - 1;
	int pair = from / 2 + (last % 2 ? side * ((last + 1) / 2) : -side * (last / 2));
	int to = from + (step % 2 ? side : -side);
	uint32_t first = 2 * (uint32_t)((pair + n) % (n / 2));

	fb_copy(b, fb_chunk((to + n) % n, FB_OUT, first, 2), fb_chunk(from, FB_OUT, first, 2));
}

static void give_own(struct fb_builder *b, int from, int to)
{
	fb_copy(b, fb_chunk(to, FB_OUT, (uint32_t)from, 1), fb_chunk(from, FB_IN, 0, 1));
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);

	if (self < 0)
		return 0;
	give_own(b, self, self);
	if (n == 1)
		return 0;
	give_own(b, self, self ^ 1);
	give_own(b, self ^ 1, self);
	for (int step = 1; step < n / 2; step++) {
		int right = (step % 2) ^ (self % 2) ? -1 : 1;

		fb_round(b);
		give(b, self, step);
		give(b, (self + right + n) % n, step);
	}
	return 0;
}

const struct fb_algorithm fb_all_gather_neighbour_exchange = {
	.name = "neighbour_exchange",
	.collective = FB_ALL_GATHER,
	.source = "Chen, Zhang, Zhang, Yuan 2005; Open MPI",
	.in_place = true,
	.can = can,
	.build = build,
};
