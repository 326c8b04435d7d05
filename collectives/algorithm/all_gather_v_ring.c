/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_gather_v, ring: as all_gather, ring.
 *
 * n - 1 steps. Each of them lasts as long as its largest block, except that blocks are passed on in
 * slices: with one large block it is a pipeline, as a broadcast in a chain is.
 */
#include "collectives/algorithm/algorithm.h"

static int build(struct fb_builder *b)
{
	return fb_all_gather_ring.build(b);
}

const struct fb_algorithm fb_all_gather_v_ring = {
	.name = "ring",
	.collective = FB_ALL_GATHER_V,
	.source = "MPICH and Open MPI, all_gather_v ring; NCCL's AllGatherV kernel",
	.in_place = true,
	.build = build,
};
