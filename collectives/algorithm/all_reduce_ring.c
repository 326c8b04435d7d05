/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, ring: reduce_scatter once around the ring, all_gather once more.
 *
 * 2(n - 1) steps, 2(n - 1)/n of the block sent per rank, which is the least; only neighbours
 * talk: the choice for large blocks and for networks that others use too.
 */
#include <stdlib.h>

#include "collectives/algorithm/compose.h"
#include "collectives/algorithm/ring.h"
#include "common/base/error.h"

static int build(struct fb_builder *b)
{
	int *order = fb_ring_order(fb_shape(b));
	int err;

	if (!order)
		return FB_ENOMEM;
	err = fb_build_two_phases(b, &fb_reduce_scatter_ring, &fb_all_gather_ring, order, 0);
	free(order);
	return err;
}

const struct fb_algorithm fb_all_reduce_ring = {
	.name = "ring",
	.collective = FB_ALL_REDUCE,
	.source = "Patarasuk and Yuan 2009; NCCL",
	.in_place = true,
	.split = fb_split_per_rank,
	.build = build,
};
