/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_to_all, direct: every rank sends all its blocks at once, and then receives.
 *
 * One step of n - 1 messages; (n - 1) / n of the buffer each way, which is the least there can
 * be. The fastest while all links together are not overrun, i.e. inside a node.
 *
 * In place a rank's block for a peer lies where the peer's block goes. So the blocks go through
 * scratch: two zero-copy writes that each wait for the other to have left would never start.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/exchange.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return shape->in_place ? (uint32_t)shape->nranks : 0;
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);
	bool in_place = fb_shape(b)->in_place;

	fb_exchange_direct(b, in_place ? FB_SCRATCH : FB_OUT);
	fb_round(b);
	for (int k = 1; k < n && in_place && self >= 0; k++) {
		uint32_t block = (uint32_t)((self - k + n) % n);

		fb_copy(b, fb_chunk(self, FB_OUT, block, 1), fb_chunk(self, FB_SCRATCH, block, 1));
	}
	return 0;
}

const struct fb_algorithm fb_all_to_all_direct = {
	.name = "direct",
	.collective = FB_ALL_TO_ALL,
	.source = "MPICH alltoall scattered; NCCL alltoall over send/recv",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
