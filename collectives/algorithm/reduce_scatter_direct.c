/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter, direct: every rank gets its block from all others at once and reduces all n in
 * order of rank.
 *
 * 1 step, (n - 1)/n of the input sent per rank. On zero-copy links one step reads all peers'
 * memory, so no byte is written twice: the best where all ranks reach all others equally well.
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);
	struct fb_chunk *src;

	if (self < 0)
		return FB_OK;
	src = malloc(sizeof(*src) * (size_t)n);
	if (!src)
		return FB_ENOMEM;
	/* Each rank begins with the one after it, so that no receiver is everybody's first. */
	for (int i = 1; i <= n; i++) {
		int to = (self + i) % n;

		for (int rank = 0; rank < n; rank++)
			src[rank] = fb_chunk(rank, FB_IN, (uint32_t)to, 1);
		fb_reduce_many(b, fb_chunk(to, FB_OUT, 0, 1), src, n, FB_COMPLETE);
	}
	free(src);
	return FB_OK;
}

const struct fb_algorithm fb_reduce_scatter_direct = {
	.name = "direct",
	.collective = FB_REDUCE_SCATTER,
	.source = "first half of vLLM's and MSCCL++'s two-shot all_reduce",
	.in_place = true,
	.build = build,
};
