/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter_v, ring: as reduce_scatter, ring.
 *
 * n - 1 steps. Each of them lasts as long as its largest block, except that sums are passed on in
 * slices.
 */
#include "collectives/algorithm/algorithm.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}

static int build(struct fb_builder *b)
{
	return fb_reduce_scatter_ring.build(b);
}

const struct fb_algorithm fb_reduce_scatter_v_ring = {
	.name = "ring",
	.collective = FB_REDUCE_SCATTER_V,
	.source = "Patarasuk and Yuan 2009; Open MPI reduce_scatter ring",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
