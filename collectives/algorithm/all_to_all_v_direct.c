/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_to_all_v, direct: every rank sends all its blocks at once, and then receives.
 *
 * One step of n - 1 messages; every byte crosses one link once. There is no in-place form: the
 * blocks that two ranks swap differ in size.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/exchange.h"

static int build(struct fb_builder *b)
{
	fb_exchange_direct(b, FB_OUT);
	return 0;
}

const struct fb_algorithm fb_all_to_all_v_direct = {
	.name = "direct",
	.collective = FB_ALL_TO_ALL_V,
	.source = "MPICH alltoallv scattered; mixture-of-experts dispatch over NCCL send/recv",
	.build = build,
};
