/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, one shot: every rank gets the whole input of all others and reduces all n in order
 * of rank, so that the result is bitwise the same everywhere.
 *
 * 1 step, n - 1 blocks sent per rank: the lowest latency there is, for small blocks.
 *
 * In place a rank's output would overwrite what others still read over zero-copy links, so they
 * are shown a copy. Where links copy anyway, lowering drops it.
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return shape->in_place;
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b), self = fb_self(b);
	enum fb_buffer shown = fb_shape(b)->in_place ? FB_SCRATCH : FB_IN;
	struct fb_chunk *src;

	if (self < 0)
		return FB_OK;
	src = malloc(sizeof(*src) * (size_t)n);
	if (!src)
		return FB_ENOMEM;
	if (shown != FB_IN)
		fb_copy(b, fb_chunk(self, shown, 0, 1), fb_chunk(self, FB_IN, 0, 1));
	fb_round(b);
	/* Each rank begins with the one after it, so that no receiver is everybody's first. */
	for (int i = 1; i <= n; i++) {
		int to = (self + i) % n;

		for (int rank = 0; rank < n; rank++)
			src[rank] = fb_chunk(rank, rank == to ? FB_IN : shown, 0, 1);
		fb_reduce_many(b, fb_chunk(to, FB_OUT, 0, 1), src, n, FB_COMPLETE);
	}
	free(src);
	return FB_OK;
}

const struct fb_algorithm fb_all_reduce_one_shot = {
	.name = "one_shot",
	.collective = FB_ALL_REDUCE,
	.source = "TensorRT-LLM and vLLM one-shot; MSCCL++ all-pairs",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
