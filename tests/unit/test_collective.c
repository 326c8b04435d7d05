/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of collectives: names, block counts and bus factors with known answers. The table is
 * what everything else trusts, so the expected values are written out a second time here.
 */
#include "tests/unit/check.h"

#include <math.h>

#include "collectives/bound.h"
#include "collectives/traffic.h"
#include "common/plan/collective.h"

struct expected {
	const char *name;
	/* Blocks for 4 ranks with root 1: at the root and elsewhere. */
	int in_root, in_other, out_root, out_other;
	bool reduces, has_root, in_place;
	double bus1, bus2, bus4; /* for 1, 2 and 4 ranks */
	/* Blocks that 4 ranks have to read and to write in all; unequal ones have counts. */
	double read, written;
};

static const struct expected expected[FB_COLLECTIVES] = {
	[FB_ALL_REDUCE] = {"all_reduce", 1, 1, 1, 1, true, false, true, 0, 1, 1.5, 4, 4},
	[FB_ALL_GATHER] = {"all_gather", 1, 1, 4, 4, false, false, true, 0, 0.5, 0.75, 4, 12},
	[FB_REDUCE_SCATTER] = {"reduce_scatter", 4, 4, 1, 1, true, false, true, 0, 0.5, 0.75,
		16, 4},
	[FB_BROADCAST] = {"broadcast", 1, 0, 1, 1, false, true, true, 1, 1, 1, 1, 3},
	[FB_REDUCE] = {"reduce", 1, 1, 1, 0, true, true, true, 1, 1, 1, 4, 1},
	[FB_ALL_TO_ALL] = {"all_to_all", 4, 4, 4, 4, false, false, true, 0, 0.5, 0.75, 12, 12},
	[FB_ALL_TO_ALL_V] = {"all_to_all_v", 4, 4, 4, 4, false, false, false, 0, 0.5, 0.75, 0, 0},
	[FB_ALL_GATHER_V] = {"all_gather_v", 1, 1, 4, 4, false, false, true, 0, 0.5, 0.75, 0, 0},
	[FB_REDUCE_SCATTER_V] = {"reduce_scatter_v", 4, 4, 1, 1, true, false, true, 0, 0.5, 0.75,
		0, 0},
	[FB_GATHER] = {"gather", 1, 1, 4, 0, false, true, true, 0, 0.5, 0.75, 3, 3},
	[FB_SCATTER] = {"scatter", 4, 0, 1, 1, false, true, true, 0, 0.5, 0.75, 3, 3},
	[FB_SEND_RECV] = {"send_recv", 1, 1, 1, 1, false, false, true, 1, 1, 1, 4, 4},
	[FB_BARRIER] = {"barrier", 1, 1, 1, 1, true, false, false, 0, 0, 0, 0, 0},
};

static void check_one(enum fb_collective c)
{
	const struct fb_collective_info *info = fb_collective_info(c);
	const struct expected *e = &expected[c];
	uint64_t elements[16] = {9, 1, [4] = 2, [6] = 4, [15] = 9};
	const struct fb_counts counts = {.nranks = 4, .elements = elements, .max = 9};
	struct fb_bound_work work;
	struct fb_operation op;

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
	op = (struct fb_operation){
		.collective = c, .datatype = FB_F32, .count = 10, .counts = &counts};
	work = fb_bound_work(&op, 4);
	if (!info->unequal) {
		CHECK_NEAR(work.read, 40 * e->read, 0);
		CHECK_NEAR(work.written, 40 * e->written, 0);
	} else if (c == FB_ALL_TO_ALL_V) {
		CHECK_NEAR(work.read, 28, 0);
		CHECK_NEAR(work.written, 28, 0);
	}
}

/* Blocks of 9, 1, 0 and 2 elements: to be read and written once, by three others or by all. */
static void test_unequal_work(void)
{
	uint64_t elements[16] = {9, 1, 0, 2};
	const struct fb_counts counts = {.nranks = 4, .elements = elements, .max = 9};
	struct fb_operation op = {.datatype = FB_F32, .count = 9, .counts = &counts};
	struct fb_bound_work work;

	op.collective = FB_ALL_GATHER_V;
	fb_traffic_spread(op.collective, 4, elements);
	work = fb_bound_work(&op, 4);
	CHECK_NEAR(work.read, 48, 0);
	CHECK_NEAR(work.written, 144, 0);
	op.collective = FB_REDUCE_SCATTER_V;
	memcpy(elements, (const uint64_t[]){9, 1, 0, 2}, 4 * sizeof(*elements));
	fb_traffic_spread(op.collective, 4, elements);
	work = fb_bound_work(&op, 4);
	CHECK_NEAR(work.read, 192, 0);
	CHECK_NEAR(work.written, 48, 0);
}

/* Rates of all ranks together, by the size of a rank's share; a larger one goes more slowly. */
static void test_bound(void)
{
	const struct fb_group world = {.nranks = 4};
	struct fb_bound bound = {
		.world = &world,
		.known = true,
		.alpha_us = 0.5,
		.bytes = {4 << 10, 16 << 10, 256 << 10, 4 << 20},
		.per_us = {{400, 400, 400, 400}, {200, 200, 200, 200}, {100, 100, 100, 10}},
	};
	struct fb_operation op = {.collective = FB_GATHER, .datatype = FB_F32, .count = 1000};
	struct fb_bound_work work = fb_bound_work(&op, 4);

	/* Any rank may write into the root's buffer: 3 blocks at the rate of all. */
	CHECK_NEAR(fb_bound_us(&bound, &op, &work, true), 120, 1e-9);
	op.count = 10 << 20;
	work = fb_bound_work(&op, 4);
	CHECK_NEAR(fb_bound_us(&bound, &op, &work, true), 12.0 * (10 << 20) / 10, 1e-3);
	/* One read serves three writes. */
	op = (struct fb_operation){.collective = FB_BROADCAST, .datatype = FB_F32, .count = 1000};
	work = fb_bound_work(&op, 4);
	CHECK_NEAR(fb_bound_us(&bound, &op, &work, true), 60, 1e-9);
	/* Small: the way to another rank, unless several calls are on their way. */
	op.count = 1;
	work = fb_bound_work(&op, 4);
	CHECK_NEAR(fb_bound_us(&bound, &op, &work, true), 0.5, 1e-9);
	CHECK_NEAR(fb_bound_us(&bound, &op, &work, false), 0.06, 1e-9);
	op.collective = FB_ALL_REDUCE;
	CHECK_NEAR(fb_bound_us(&bound, &op, &work, false), 0.5, 1e-9);
	/* Ranks that were never seen at work together tell nothing. */
	bound.alpha_us = 100;
	CHECK_NEAR(fb_bound_us(&bound, &op, &work, true), 0.06, 1e-9);
	op.collective = FB_BARRIER;
	work = fb_bound_work(&op, 4);
	CHECK(isnan(fb_bound_us(&bound, &op, &work, true)));
}

int main(void)
{
	test_bound();
	for (int c = 0; c < FB_COLLECTIVES; c++)
		check_one((enum fb_collective)c);
	test_unequal_work();
	CHECK_INT(fb_collective_parse("all_to_al"), -1);
	CHECK_INT(fb_collective_parse("all_to_all_"), -1);
	CHECK_INT(fb_collective_parse(""), -1);
	CHECK_NEAR(fb_collective_bus_factor(FB_ALL_REDUCE, 8), 1.75, 0);
	CHECK_NEAR(fb_collective_bus_factor(FB_ALL_GATHER, 100000), 0.99999, 1e-15);
	return check_done("collective");
}
