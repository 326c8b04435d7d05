/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, star: every rank sends its block straight to its place at the root.
 *
 * One step; the root receives n - 1 blocks, which is the least there can be.
 */
#include "collectives/algorithm/algorithm.h"

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), root = fb_root(b);

	for (int r = 0; r < n; r++)
		fb_copy(b, fb_chunk(root, FB_OUT, (uint32_t)r, 1), fb_chunk(r, FB_IN, 0, 1));
	return 0;
}

const struct fb_algorithm fb_gather_star = {
	.name = "star",
	.collective = FB_GATHER,
	.source = "flat tree, basic linear in Open MPI coll/base",
	.in_place = true,
	.build = build,
};
