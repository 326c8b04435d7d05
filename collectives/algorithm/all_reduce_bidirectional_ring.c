/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, bidirectional ring: half of the block goes around the ring one way and half the
 * other way, at the same time, on a lane each.
 *
 * 2(n - 1) steps of half the size; 2(n - 1)/n of the block sent per rank. Twice as fast as a ring
 * where a link's two directions and both neighbours' links can be busy at once.
 */
#include <stdlib.h>

#include "collectives/algorithm/compose.h"
#include "collectives/algorithm/ring.h"
#include "common/base/error.h"

static uint32_t split(const struct fb_shape *shape)
{
	return 2 * (uint32_t)shape->nranks;
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), err = FB_OK;
	int *order = fb_ring_order(fb_shape(b));

	if (!order)
		return FB_ENOMEM;
	for (int lane = 0; lane < 2 && !err; lane++) {
		fb_lane(b, lane);
		err = fb_build_two_phases(b, &fb_reduce_scatter_ring, &fb_all_gather_ring, order,
					  (uint32_t)(lane * n));
		for (int i = 0; i < n / 2; i++) {
			int rank = order[i];

			order[i] = order[n - 1 - i];
			order[n - 1 - i] = rank;
		}
	}
	free(order);
	return err;
}

const struct fb_algorithm fb_all_reduce_bidirectional_ring = {
	.name = "bidirectional_ring",
	.collective = FB_ALL_REDUCE,
	.source = "two counter-rotating rings, as NCCL's and RCCL's channels on ring topologies",
	.in_place = true,
	.split = split,
	.build = build,
};
