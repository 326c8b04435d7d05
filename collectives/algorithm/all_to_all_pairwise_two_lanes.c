/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_to_all, pairwise, with the local copy on a second lane.
 *
 * Messages as pairwise. There a rank copies its own block before it sends the first message, so
 * the links wait for memory: with two ranks that is half of the data. On a lane of its own the
 * copy runs beside the messages. In place there is no local copy, and pairwise is the same.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/exchange.h"

static int build(struct fb_builder *b)
{
	fb_exchange_pairwise(b, 1);
	return 0;
}

const struct fb_algorithm fb_all_to_all_pairwise_two_lanes = {
	.name = "pairwise_two_lanes",
	.collective = FB_ALL_TO_ALL,
	.source = "pairwise; the second lane is this project's",
	.build = build,
};
