/* SPDX-License-Identifier: BSD-3-Clause */
/* Prices of algorithms: counted in plans, and extended to more ranks than plans are built for. */
#include "collectives/tuning/price.h"

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"
#include "common/plan/check.h"
#include "tests/unit/check.h"

static struct fb_price price_of(const char *name, enum fb_collective collective, int nranks)
{
	const struct fb_algorithm *a = fb_algorithm_find(collective, name);
	const struct fb_shape shape = {.collective = collective, .nranks = nranks,
				       .nchannels = a->channels ? a->channels : 1};
	struct fb_price price = {0};

	CHECK_INT(fb_price(a, &shape, false, &price), FB_OK);
	return price;
}

static void test_prices(void)
{
	static const struct fb_link_cost cost = {"simple", 1, 1000};
	const struct fb_algorithm *ring = fb_algorithm_find(FB_ALL_REDUCE, "ring");
	int node_of[FB_PRICE_MOST_RANKS + 1] = {0};
	struct fb_topology unlike = {.nranks = FB_PRICE_MOST_RANKS + 1, .nnodes = 2,
				     .node_of = node_of, .local_rank_of = node_of};
	struct fb_shape many = {.collective = FB_ALL_REDUCE, .nranks = FB_PRICE_MOST_RANKS + 1,
				.nchannels = 1, .topology = &unlike};
	struct fb_price p = price_of("ring", FB_ALL_REDUCE, 8), untouched = {.messages = -1};
	struct fb_price one = price_of("one_shot", FB_ALL_REDUCE, 8);

	/* 2 (n - 1) messages, one behind the other; one of each rank to each. */
	CHECK_NEAR(p.messages, 14, 0);
	CHECK_NEAR(one.messages, 1, 0);
	CHECK_NEAR(price_of("binomial", FB_BROADCAST, 8).messages, 3, 0);
	p = price_of("chain", FB_BROADCAST, 8);
	CHECK_NEAR(p.messages, 7, 0);
	/* Cut, the pieces follow each other: far less than the block once for every rank. */
	CHECK(p.cut_blocks < p.blocks / 2);
	CHECK_NEAR(fb_price_us(&p, &cost, 0), 7, 0);
	CHECK_NEAR(fb_price_us(&p, &cost, 1e9),
		   p.cut_messages + p.cut_blocks * 1e6, 1e-6 * p.cut_blocks * 1e6);
	CHECK(fb_price_us(&one, &cost, 8) < fb_price_us(&p, &cost, 8));
	CHECK_INT(fb_price(ring, &many, false, &untouched), FB_EUNSUPPORTED);
	CHECK_NEAR(untouched.messages, -1, 0);
	for (int device = 0; device < 2; device++) {
		CHECK(fb_link_cost(device, "direct") && fb_link_cost(device, "ll128"));
		CHECK(fb_link_cost(device, "ll")->message_us <
		      fb_link_cost(device, "simple")->message_us);
		CHECK(fb_link_cost(device, "library") == NULL);
	}
}

/* What is extended to 128 ranks is what the plans of 128 ranks cost. */
static void test_many(int each)
{
	enum { RANKS = 128 };
	int node_of[RANKS], local[RANKS], checked = 0;
	const struct fb_topology topology = {.nranks = RANKS, .nnodes = RANKS / each,
					     .node_of = node_of, .local_rank_of = local};

	for (int r = 0; r < RANKS; r++) {
		node_of[r] = r / each;
		local[r] = r % each;
	}
	for (int i = 0; i < fb_algorithm_count; i++) {
		const struct fb_algorithm *a = fb_algorithms[i];
		const struct fb_shape shape = {.collective = a->collective, .nranks = RANKS,
					       .nchannels = a->channels ? a->channels : 1,
					       .topology = each > 1 ? &topology : NULL};
		struct fb_check_options options = {.slots = 8, .slices = 1, .runs = 1,
						   .no_clocks = true, .alpha_us = 1};
		bool pat = !strcmp(a->name, "pat");
		struct fb_check_report report;
		struct fb_price price;
		char why[FB_WHY_CHARS];

		/* Plans of n to n take seconds, and are simple. */
		if (a->collective > FB_REDUCE || !fb_algorithm_can(a, &shape, why, sizeof(why)))
			continue;
		if (!CHECK_INT(fb_price(a, &shape, false, &price), FB_OK) ||
		    !CHECK_INT(fb_check(a, &shape, FB_NO_DIRECT_LINKS, &options, &report), FB_OK))
			continue;
		if (!CHECK_NEAR(price.messages / report.time_us, 1, pat ? 0.2 : 0.02))
			printf("\t%s of %d ranks a node\n", a->name, each);
		options.alpha_us = 0;
		options.unit_us = 1.0 / (a->split ? a->split(&shape) : 1);
		CHECK_INT(fb_check(a, &shape, FB_NO_DIRECT_LINKS, &options, &report), FB_OK);
		if (!CHECK_NEAR(price.blocks / report.time_us, 1, pat ? 0.2 : 0.02))
			printf("\t%s of %d ranks a node\n", a->name, each);
		checked++;
	}
	CHECK(checked >= 20);
}

int main(void)
{
	test_prices();
	test_many(1);
	test_many(4);
	return check_done("price");
}
