/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scatter, star: the root sends every rank its block, starting with the rank after itself.
 *
 * One step; the root sends n - 1 blocks, which is the least there can be.
 */
#include "collectives/algorithm/algorithm.h"

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), root = fb_root(b);

	for (int k = 1; k <= n; k++) {
		int r = (int)(((int64_t)root + k) % n);

		fb_copy(b, fb_chunk(r, FB_OUT, 0, 1), fb_chunk(root, FB_IN, (uint32_t)r, 1));
	}
	return 0;
}

const struct fb_algorithm fb_scatter_star = {
	.name = "star",
	.collective = FB_SCATTER,
	.source = "flat tree, basic linear in Open MPI coll/base",
	.in_place = true,
	.build = build,
};
