/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather_v, direct: as all_gather, direct.
 *
 * 1 step; a rank sends its own block n - 1 times, so the rank with the largest block is the last.
 */
#include "collectives/algorithm/algorithm.h"

static int build(struct fb_builder *b)
{
	return fb_all_gather_direct.build(b);
}

const struct fb_algorithm fb_all_gather_v_direct = {
	.name = "direct",
	.collective = FB_ALL_GATHER_V,
	.source = "MPI libraries' linear all_gather_v",
	.in_place = true,
	.build = build,
};
