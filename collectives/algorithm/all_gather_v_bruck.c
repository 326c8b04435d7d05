/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather_v, Bruck: as all_gather, bruck.
 *
 * ceil(log2 n) steps for any n. A message is a run of blocks, and its pieces have their own sizes.
 * Each begins with the sender's own block, so the owner of a large one sends that log2 n times.
 */
#include "collectives/algorithm/algorithm.h"

static int build(struct fb_builder *b)
{
	return fb_all_gather_bruck.build(b);
}

const struct fb_algorithm fb_all_gather_v_bruck = {
	.name = "bruck",
	.collective = FB_ALL_GATHER_V,
	.source = "Bruck et al. 1997; MPICH all_gather_v brucks",
	.in_place = true,
	.build = build,
};
