/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, star: every rank sends its block to the root, which reduces all of them in one pass.
 *
 * One step; the root receives n - 1 blocks. The contributions are combined in rank order, so the
 * result is the one a serial loop over the ranks would give, whatever the root.
 */
#include "collectives/algorithm/algorithm.h"

#include <stdlib.h>

#include "common/base/error.h"

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), root = fb_root(b);
	struct fb_chunk *src = malloc((size_t)n * sizeof(*src));

	if (!src)
		return FB_ENOMEM;
	for (int r = 0; r < n; r++)
		src[r] = fb_chunk(r, FB_IN, 0, 1);
	fb_reduce_many(b, fb_chunk(root, FB_OUT, 0, 1), src, n, FB_COMPLETE);
	free(src);
	return 0;
}

const struct fb_algorithm fb_reduce_star = {
	.name = "star",
	.collective = FB_REDUCE,
	.source = "flat tree, basic linear in Open MPI coll/base",
	.in_place = true,
	.build = build,
};
