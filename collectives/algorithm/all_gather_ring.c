/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather, ring: every rank passes on to the next what it got from the one before.
 *
 * n - 1 steps, (n - 1)/n of the output sent per rank, which is the least; only neighbours talk.
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/ring.h"
#include "common/base/error.h"

/* What the rank at position `from` sends to the next one in `step`. */
static void pass(struct fb_builder *b, const int *order, int from, int step)
{
	int n = fb_nranks(b), next = order[(from + 1) % n];
	uint32_t block = (uint32_t)order[(from - step + n) % n];

	fb_copy(b, fb_chunk(next, FB_OUT, block, 1),
		step ? fb_chunk(order[from], FB_OUT, block, 1)
		     : fb_chunk(order[from], FB_IN, 0, 1));
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b), at;
	int *order;

	if (self < 0)
		return FB_OK;
	order = fb_ring_order(fb_shape(b));
	if (!order)
		return FB_ENOMEM;
	at = fb_ring_position(order, n, self);
	fb_copy(b, fb_chunk(self, FB_OUT, (uint32_t)self, 1), fb_chunk(self, FB_IN, 0, 1));
	for (int step = 0; step < n - 1; step++, fb_round(b)) {
		pass(b, order, at, step);
		pass(b, order, (at - 1 + n) % n, step);
	}
	free(order);
	return FB_OK;
}

const struct fb_algorithm fb_all_gather_ring = {
	.name = "ring",
	.collective = FB_ALL_GATHER,
	.source = "Thakur, Rabenseifner, Gropp 2005; NCCL",
	.in_place = true,
	.build = build,
};
