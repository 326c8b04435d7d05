/* SPDX-License-Identifier: BSD-3-Clause */
/* Prices of algorithms; see price.h. */
#include "collectives/tuning/price.h"

#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/check.h"

enum { SLOTS = 8, CUTS = 8 }; /* the host engine cuts what is forwarded into as many pieces */

/*
 * Orders of magnitude only: what counts is that ll has the least latency and moves every byte
 * twice, ll128 almost so, and direct links copy once. Nobody measured tma: it never wins, and is
 * there for those who ask for it. By [on a GPU].
 */
static const struct fb_link_cost costs[2][5] = {
	{{"ll", 0.3, 2e3}, {"ll128", 0.4, 4e3}, {"direct", 0.5, 8e3}, {"simple", 0.6, 5e3},
	 {"tma", 0.6, 8e3}},
	{{"ll", 1.0, 120e3}, {"ll128", 1.2, 300e3}, {"direct", 3, 350e3}, {"simple", 3, 300e3},
	 {"tma", 4, 350e3}},
};

const struct fb_link_cost *fb_link_cost(bool device, const char *protocol)
{
	for (size_t i = 0; i < sizeof(costs[0]) / sizeof(costs[0][0]); i++)
		if (!strcmp(costs[device][i].protocol, protocol))
			return &costs[device][i];
	return NULL;
}

/* Time on the longest chain, for a slice of a block in each of `slices` pieces. */
static int chain(const struct fb_algorithm *algorithm, const struct fb_shape *shape, bool direct,
		 int slices, double alpha_us, double block_us, double *time_us)
{
	double split = algorithm->split ? algorithm->split(shape) : 1;
	const struct fb_check_options options = {
		.slots = SLOTS, .slices = slices, .runs = 1, .no_clocks = true,
		.alpha_us = alpha_us, .unit_us = block_us / split / slices,
	};
	struct fb_check_report report;
	int err = fb_check(algorithm, shape, direct ? FB_ALL_DIRECT_LINKS : FB_NO_DIRECT_LINKS,
			   &options, &report);

	*time_us = report.time_us;
	return err;
}

int fb_price(const struct fb_algorithm *algorithm, const struct fb_shape *shape, bool direct,
	     struct fb_price *price)
{
	struct fb_price made = {0};
	const struct {
		int slices;
		double alpha_us, block_us, *result;
	} questions[] = {
		{1, 1, 0, &made.messages}, {1, 0, 1, &made.blocks},
		{CUTS, 1, 0, &made.cut_messages}, {CUTS, 0, 1, &made.cut_blocks},
	};

	if (shape->nranks > FB_PRICE_MOST_RANKS)
		return FB_EUNSUPPORTED;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		int err = chain(algorithm, shape, direct, questions[i].slices,
				questions[i].alpha_us, questions[i].block_us, questions[i].result);

		if (err)
			return err;
	}
	*price = made;
	return FB_OK;
}

double fb_price_us(const struct fb_price *price, const struct fb_link_cost *cost,
		   double block_bytes)
{
	double block_us = block_bytes / cost->bytes_per_us;

	return fmin(price->messages * cost->message_us + price->blocks * block_us,
		    price->cut_messages * cost->message_us + price->cut_blocks * block_us);
}
