/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_to_all, pairwise: one partner a round, so that every link carries one message at a time.
 *
 * n - 1 steps; (n - 1) / n of the buffer each way, which is the least there can be. For large
 * blocks on networks that suffer when many senders meet at one receiver.
 *
 * In place the partner of rank r in round k is (k - r) mod n. That pairing is symmetric, so a
 * round swaps one block between two ranks and touches no other; the block that arrives rests in
 * scratch until the own one has left. Some ranks idle in some rounds, hence n rounds, not n - 1.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/exchange.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return shape->in_place ? 1 : 0;
}

static void swap(struct fb_builder *b, int self, int partner)
{
	fb_copy(b, fb_chunk(partner, FB_SCRATCH, 0, 1),
		fb_chunk(self, FB_IN, (uint32_t)partner, 1));
	fb_copy(b, fb_chunk(self, FB_SCRATCH, 0, 1), fb_chunk(partner, FB_IN, (uint32_t)self, 1));
	fb_round(b);
	fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)partner, 1), fb_chunk(self, FB_SCRATCH, 0, 1));
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);

	if (!fb_shape(b)->in_place) {
		fb_exchange_pairwise(b, 0);
		return 0;
	}
	for (int k = 0; k < n && self >= 0; k++, fb_round(b)) {
		int partner = (k - self + n) % n;

		if (partner != self)
			swap(b, self, partner);
	}
	return 0;
}

const struct fb_algorithm fb_all_to_all_pairwise = {
	.name = "pairwise",
	.collective = FB_ALL_TO_ALL,
	.source = "Thakur, Rabenseifner, Gropp 2005; pairing by sum: Sanders and Traeff 2002",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
