/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce_scatter_v, recursive halving: as reduce_scatter, recursive_halving.
 *
 * log2 n steps, folded. Halves are of ranks and not of bytes, so skewed sizes are not halved.
 */
#include "collectives/algorithm/algorithm.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return (uint32_t)shape->nranks;
}

static int build(struct fb_builder *b)
{
	return fb_reduce_scatter_recursive_halving.build(b);
}

const struct fb_algorithm fb_reduce_scatter_v_recursive_halving = {
	.name = "recursive_halving",
	.collective = FB_REDUCE_SCATTER_V,
	.source = "Thakur, Rabenseifner, Gropp 2005; MPICH",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
