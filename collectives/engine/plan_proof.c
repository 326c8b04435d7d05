/* SPDX-License-Identifier: BSD-3-Clause */
/* Proving the plans of a case, channel by channel; see plan_proof.h. */
#include "collectives/engine/plan_proof.h"

#include "common/base/error.h"

int fb_prove_plans(const struct fb_case *c, const struct fb_algorithm *algorithm,
		   const struct fb_shape *shape, enum fb_direct_links direct, int slots,
		   FILE *report)
{
	const struct fb_check_options options = {.slots = slots, .slices = 2, .runs = 2};
	struct fb_check_report result;
	int err = FB_OK;

	for (int i = 0; i < shape->nchannels && !err; i++) {
		struct fb_shape channel = *shape;
		double split;

		channel.channel = i;
		split = algorithm->split ? algorithm->split(&channel) : 1;
		err = fb_check(algorithm, &channel, direct, &options, &result);
		if (err)
			fprintf(report, "%s %s %s, channel %d: NOT correct: %s\n", c->operation,
				c->algorithm, c->protocol, i, result.why);
		else
			fprintf(report, "%s %s %s, channel %d: correct; %u messages deep, rank "
				"sends %.3g blocks, link carries %.3g blocks\n", c->operation,
				c->algorithm, c->protocol, i, result.depth,
				(double)result.max_rank_units / split,
				(double)result.max_link_units / split);
	}
	return err;
}
