/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast, star: the root sends its block to every other rank at once.
 *
 * One step; the root sends n - 1 blocks. The least latency where the root's links are parallel
 * (a switch between GPUs) or the block is small; a step reads the block once for all peers.
 */
#include "collectives/algorithm/algorithm.h"

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), root = fb_root(b);
	struct fb_chunk block = fb_chunk(root, FB_IN, 0, 1);

	for (int k = 1; k < n; k++)
		fb_copy(b, fb_chunk((int)(((int64_t)root + k) % n), FB_OUT, 0, 1), block);
	fb_copy(b, fb_chunk(root, FB_OUT, 0, 1), block);
	return 0;
}

const struct fb_algorithm fb_broadcast_star = {
	.name = "star",
	.collective = FB_BROADCAST,
	.source = "flat tree, basic linear in Open MPI coll/base",
	.in_place = true,
	.build = build,
};
