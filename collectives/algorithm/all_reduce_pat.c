/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, PAT: reduce_scatter and all_gather along parallel aggregated trees.
 *
 * 2 ceil(log2 n) steps for any n, 2(n - 1)/n of the block sent per rank, which is the least, most
 * of it between near ranks.
 */
#include "collectives/algorithm/compose.h"

static int build(struct fb_builder *b)
{
	return fb_build_two_phases(b, &fb_reduce_scatter_pat, &fb_all_gather_pat, NULL, 0);
}

const struct fb_algorithm fb_all_reduce_pat = {
	.name = "pat",
	.collective = FB_ALL_REDUCE,
	.source = "composed of both halves of Jeaugey 2025, arXiv 2506.20252",
	.in_place = true,
	.split = fb_split_per_rank,
	.build = build,
};
