/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All_to_all_v, pairwise: one partner a round, so that every link carries one message at a time.
 *
 * n - 1 steps; every byte crosses one link once. A round lasts as long as its largest block, so
 * skewed sizes cost more here than with direct; in exchange no receiver is overrun.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/exchange.h"

static int build(struct fb_builder *b)
{
	fb_exchange_pairwise(b, 0);
	return 0;
}

const struct fb_algorithm fb_all_to_all_v_pairwise = {
	.name = "pairwise",
	.collective = FB_ALL_TO_ALL_V,
	.source = "pairwise exchange, Open MPI coll/base alltoallv",
	.build = build,
};
