/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_reduce, two shots: every rank reduces its share of all inputs at once, in order of rank,
 * and sends the sum to all others.
 *
 * 2 steps, 2(n - 1)/n of the block sent per rank, which is the least. On zero-copy links it is
 * one step of work: read the share of all peers, write the sum to all peers.
 */
#include "collectives/algorithm/compose.h"

static int build(struct fb_builder *b)
{
	return fb_build_two_phases(b, &fb_reduce_scatter_direct, &fb_all_gather_direct, NULL, 0);
}

const struct fb_algorithm fb_all_reduce_two_shot = {
	.name = "two_shot",
	.collective = FB_ALL_REDUCE,
	.source = "vLLM and TensorRT-LLM two-shot; MSCCL++ all-pairs",
	.in_place = true,
	.split = fb_split_per_rank,
	.build = build,
};
