/* SPDX-License-Identifier: BSD-3-Clause */
/* What the shape of a GPU's call becomes by the user's wishes. */
#include "collectives/engine/cuda/build.h"
#include "tests/unit/check.h"

static struct fb_gpu_shape striped(uint32_t slots, uint32_t slot_bytes)
{
	const struct fb_gpu_wishes wishes = {
		.slots = slots, .slot_bytes = slot_bytes, .striped = true};
	const struct fb_gpu_facts facts = {.lanes = 1};
	struct fb_gpu_shape shape = {
		.protocol = FB_GPU_SIMPLE, .nranks = 2, .nchannels = 1,
		.geometry = {.collective = FB_ALL_GATHER, .nranks = 2, .split = 1,
			     .count = 1 << 20, .element_bytes = 4}};

	fb_gpu_choose_slices(&wishes, &facts, true, &shape);
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

int main(void)
{
	test_deep();
	test_stripe();
	return check_done("gpu_shape");
}
