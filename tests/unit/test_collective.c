/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of collectives: names, block counts and bus factors with known answers. The table is
 * what everything else trusts, so the expected values are written out a second time here.
 */
#include "tests/unit/check.h"

#include "common/plan/collective.h"

struct expected {
	const char *name;
	/* Blocks for 4 ranks with root 1: at the root and elsewhere. */
	int in_root, in_other, out_root, out_other;
	bool reduces, has_root, in_place;
	double bus1, bus2, bus4; /* for 1, 2 and 4 ranks */
	double least1;           /* least traffic for one rank; else it equals the bus factor */
};

static const struct expected expected[FB_COLLECTIVES] = {
	[FB_ALL_REDUCE] = {"all_reduce", 1, 1, 1, 1, true, false, true, 0, 1, 1.5, 0},
	[FB_ALL_GATHER] = {"all_gather", 1, 1, 4, 4, false, false, true, 0, 0.5, 0.75, 0},
	[FB_REDUCE_SCATTER] = {"reduce_scatter", 4, 4, 1, 1, true, false, true, 0, 0.5, 0.75, 0},
	[FB_BROADCAST] = {"broadcast", 1, 0, 1, 1, false, true, true, 1, 1, 1, 0},
	[FB_REDUCE] = {"reduce", 1, 1, 1, 0, true, true, true, 1, 1, 1, 0},
	[FB_ALL_TO_ALL] = {"all_to_all", 4, 4, 4, 4, false, false, true, 0, 0.5, 0.75, 0},
	[FB_ALL_TO_ALL_V] = {"all_to_all_v", 4, 4, 4, 4, false, false, false, 0, 0.5, 0.75, 0},
	[FB_GATHER] = {"gather", 1, 1, 4, 0, false, true, true, 0, 0.5, 0.75, 0},
	[FB_SCATTER] = {"scatter", 4, 0, 1, 1, false, true, true, 0, 0.5, 0.75, 0},
	[FB_SEND_RECV] = {"send_recv", 1, 1, 1, 1, false, false, true, 1, 1, 1, 0},
	[FB_BARRIER] = {"barrier", 1, 1, 1, 1, true, false, false, 0, 0, 0, 0},
};

static void check_one(enum fb_collective c)
{
	const struct fb_collective_info *info = fb_collective_info(c);
	const struct expected *e = &expected[c];

	if (!CHECK_STR(info->name, e->name))
		return;
	CHECK(info->summary && *info->summary);
	CHECK_INT(info->reduces, e->reduces);
	CHECK_INT(info->has_root, e->has_root);
	CHECK_INT(info->in_place, e->in_place);
	CHECK_INT(fb_collective_parse(e->name), c);
	CHECK_INT(fb_collective_blocks(c, false, 1, 4, 1), e->in_root);
	CHECK_INT(fb_collective_blocks(c, false, 2, 4, 1), e->in_other);
	CHECK_INT(fb_collective_blocks(c, true, 1, 4, 1), e->out_root);
	CHECK_INT(fb_collective_blocks(c, true, 2, 4, 1), e->out_other);
	CHECK_NEAR(fb_collective_bus_factor(c, 1), e->bus1, 0);
	CHECK_NEAR(fb_collective_bus_factor(c, 2), e->bus2, 0);
	CHECK_NEAR(fb_collective_bus_factor(c, 4), e->bus4, 0);
	CHECK_NEAR(fb_collective_least_traffic(c, 1), e->least1, 0);
	CHECK_NEAR(fb_collective_least_traffic(c, 2), e->bus2, 0);
	CHECK_NEAR(fb_collective_least_traffic(c, 4), e->bus4, 0);
}

int main(void)
{
	for (int c = 0; c < FB_COLLECTIVES; c++)
		check_one((enum fb_collective)c);
	CHECK_INT(fb_collective_parse("all_to_al"), -1);
	CHECK_INT(fb_collective_parse("all_to_all_"), -1);
	CHECK_INT(fb_collective_parse(""), -1);
	CHECK_NEAR(fb_collective_bus_factor(FB_ALL_REDUCE, 8), 1.75, 0);
	CHECK_NEAR(fb_collective_bus_factor(FB_ALL_GATHER, 100000), 0.99999, 1e-15);
	return check_done("collective");
}
