/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter, ring: block b starts behind its owner and travels once around the ring to it,
 * and every rank adds its part on the way.
 *
 * n - 1 steps, (n - 1)/n of the input sent per rank, which is the least; only neighbours talk.
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/ring.h"
#include "common/base/error.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}

/* What the rank at position `from` sends to the next one in `step`. */
static void pass(struct fb_builder *b, const int *order, int from, int step)
{
	int n = fb_nranks(b), next = order[(from + 1) % n];
	uint32_t block = (uint32_t)order[(from - 1 - step + n) % n];
	struct fb_chunk sum = fb_chunk(order[from], step ? FB_SCRATCH : FB_IN, block, 1);
	struct fb_chunk own = fb_chunk(next, FB_IN, block, 1);

	if (step == n - 2)
		fb_reduce(b, fb_chunk(next, FB_OUT, 0, 1), sum, own, FB_COMPLETE);
	else
		fb_reduce(b, fb_chunk(next, FB_SCRATCH, block, 1), sum, own, FB_PARTIAL);
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
	if (n == 1)
		fb_copy(b, fb_chunk(0, FB_OUT, 0, 1), fb_chunk(0, FB_IN, 0, 1));
	for (int step = 0; step < n - 1; step++, fb_round(b)) {
		pass(b, order, at, step);
		pass(b, order, (at - 1 + n) % n, step);
	}
	free(order);
	return FB_OK;
}

const struct fb_algorithm fb_reduce_scatter_ring = {
	.name = "ring",
	.collective = FB_REDUCE_SCATTER,
	.source = "Patarasuk and Yuan 2009; NCCL",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
