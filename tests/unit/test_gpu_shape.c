/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of a GPU's call follows the user's tuning parameters. */
#include "collectives/algorithm/algorithm.h"
#include "collectives/engine/cuda/build.h"
#include "common/base/error.h"
#include "tests/unit/check.h"

static struct fb_gpu_shape striped(uint32_t slots, uint32_t slot_bytes)
{
	const struct fb_gpu_tuning tuning = {
		.slots = slots, .slot_bytes = slot_bytes, .striped = true};
	const struct fb_gpu_facts facts = {.lanes = 1};
	struct fb_gpu_shape shape = {
		.protocol = FB_GPU_SIMPLE, .nranks = 2, .nchannels = 1,
		.geometry = {.collective = FB_ALL_GATHER, .nranks = 2, .split = 1,
			     .count = 1 << 20, .element_bytes = 4}};

	fb_gpu_choose_slices(&tuning, &facts, true, &shape);
	return shape;
}

/* Eight loads under way from --slots 8 on and without it, though slots are powers of two. */
static void test_deep(void)
{
	static const struct {
		uint32_t slots;
		bool deep;
	} asked[] = {{0, true}, {4, false}, {5, false}, {7, false}, {8, true}, {9, true}};

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		CHECK_INT(striped(asked[i].slots, 0).deep, asked[i].deep);
}

/* As docs/gpu-engine.md says of --slot-bytes. */
static void test_stripe(void)
{
	CHECK_INT(striped(0, 0).geometry.stripe, 16 << 10);
	CHECK_INT(striped(0, 2 << 10).geometry.stripe, 0);
	CHECK_INT(striped(0, 3000).geometry.stripe, 4 << 10);
	CHECK_INT(striped(0, 20 << 10).geometry.stripe, 32 << 10);
	/* Four stripes of 1 MiB are the block. */
	CHECK_INT(striped(0, 4 << 20).geometry.stripe, 1 << 20);
}

static bool reach_each_other(int rank, int peer, const void *arg)
{
	(void)rank;
	(void)peer;
	(void)arg;
	return true;
}

enum { RANKS = 4 };

/* Rank 0's plan by `direct`, or NULL. */
static struct fb_plan *build(const struct fb_algorithm *algorithm, int channels, bool in_place)
{
	const struct fb_shape asked = {.collective = FB_ALL_REDUCE, .nranks = RANKS,
				       .nchannels = channels, .in_place = in_place};
	const struct fb_build_options options = {.slots = 8, .direct_with = reach_each_other};
	struct fb_plan *plan = NULL;

	CHECK_INT(fb_plan_build(algorithm, &asked, 0, &options, &plan), FB_OK);
	return plan;
}

/* The slices of an all_reduce of 16 MiB by `direct` on four ranks. */
static uint64_t slices(const struct fb_algorithm *algorithm, int channels, uint32_t slot_bytes)
{
	const struct fb_gpu_tuning tuning = {.slot_bytes = slot_bytes};
	struct fb_plan *plan = build(algorithm, channels, false);
	struct fb_gpu_facts facts = {0};
	struct fb_gpu_shape shape = {
		.protocol = FB_GPU_SIMPLE, .nranks = RANKS, .nchannels = channels,
		.geometry = {.collective = FB_ALL_REDUCE, .nranks = RANKS, .split = RANKS,
			     .count = 4 << 20, .element_bytes = 4}};

	if (!plan)
		return 0;
	fb_gpu_plan_facts(&plan, 1, &facts);
	fb_plan_free(plan);
	fb_gpu_choose_slices(&tuning, &facts, true, &shape);
	return shape.slices;
}

/* The steps of two_shot that store into peers' memory. */
static int pushing_steps(bool in_place)
{
	struct fb_plan *plan = build(&fb_all_reduce_two_shot, 1, in_place);
	int n = 0;

	for (uint32_t i = 0; plan && i < plan->lanes[0].nsteps; i++) {
		const struct fb_step *s = &plan->lanes[0].steps[i];
		bool pushes = false;

		for (int k = s->nsrc; s->kind == FB_RUN && k < s->nsrc + s->ndst; k++)
			pushes |= plan->ends[s->first_end + (uint32_t)k].kind == FB_PUSH;
		n += pushes;
	}
	if (plan)
		fb_plan_free(plan);
	return n;
}

/*
 * The sum goes to all peers at once: by the step that makes it, and in place by one step behind
 * it, since peers give their memory free when it has been read.
 */
static void test_pushes(void)
{
	CHECK_INT(pushing_steps(false), 1);
	CHECK_INT(pushing_steps(true), 1);
}

/*
 * A ring forwards what arrives, and is cut. two_shot reads all peers' memory and stores the sums:
 * with few channels it is cut only if the user gives the size of a slice.
 */
static void test_slices(void)
{
	CHECK(slices(&fb_all_reduce_ring, 4, 0) > 1);
	CHECK_INT(slices(&fb_all_reduce_two_shot, 4, 0), 1);
	CHECK(slices(&fb_all_reduce_two_shot, 4, 64 << 10) > 1);
	CHECK(slices(&fb_all_reduce_two_shot, 16, 0) > 1);
}

int main(void)
{
	test_pushes();
	test_slices();
	test_deep();
	test_stripe();
	return check_done("gpu_shape");
}
