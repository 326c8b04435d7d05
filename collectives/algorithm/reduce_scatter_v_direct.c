/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter_v, direct: as reduce_scatter, direct.
 *
 * 1 step. The rank with the largest block adds most, so it is the last.
 */
#include "collectives/algorithm/algorithm.h"

static int build(struct fb_builder *b)
{
	return fb_reduce_scatter_direct.build(b);
}

const struct fb_algorithm fb_reduce_scatter_v_direct = {
	.name = "direct",
	.collective = FB_REDUCE_SCATTER_V,
	.source = "MPI libraries' reduce_scatter of linear reductions",
	.in_place = true,
	.build = build,
};
