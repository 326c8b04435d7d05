/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which times of the GPU's timer are taken for those of a call: stamps as NCCL's profiler gives
 * them, of the calls themselves and of other ones, and a time that is longer than the call.
 */
#include "collectives/engine/nccl/gpu_time.h"
#include "collectives/program.h"
#include "tests/unit/check.h"

enum { CALLS = 9 };

/* Calls, each a little later than the one before; the kernel works from the 9th us on. */
static void fill_calls(struct fb_nccl_stamps *calls, double call_us, double kernel_us)
{
	double host_us = 5e9;
	uint64_t gpu_ahead = 1700000000000000000ull;

	for (int i = 0; i < CALLS; i++) {
		host_us += call_us + 1000 + 300 * i;
		calls[i].host_begin = 1e3 * host_us;
		calls[i].host_end = 1e3 * (host_us + call_us);
		calls[i].gpu_begin = gpu_ahead + (uint64_t)(1e3 * (host_us + 9));
		calls[i].gpu_end = calls[i].gpu_begin + (uint64_t)(1e3 * kernel_us);
	}
}

static void fill(struct fb_nccl_stamps *calls, double kernel_us)
{
	fill_calls(calls, 20, kernel_us);
}

static void take_gpu(struct fb_nccl_stamps *to, const struct fb_nccl_stamps *from)
{
	to->gpu_begin = from->gpu_begin;
	to->gpu_end = from->gpu_end;
}

/* A timer that counts microseconds, and runs faster by so many of a million. */
static void run_faster(struct fb_nccl_stamps *calls, uint64_t by, double kernel_us)
{
	for (int i = 0; i < CALLS; i++) {
		uint64_t since = calls[i].gpu_begin - calls[0].gpu_begin;

		calls[i].gpu_begin = (calls[i].gpu_begin + since * by / 1000000) / 1000 * 1000;
		calls[i].gpu_end = calls[i].gpu_begin + (uint64_t)(1e3 * kernel_us);
	}
}

static void test_fit(void)
{
	struct fb_nccl_stamps calls[CALLS];

	fill(calls, 8);
	CHECK(fb_nccl_stamps_fit(calls, CALLS));
	run_faster(calls, 100, 8);
	CHECK(fb_nccl_stamps_fit(calls, CALLS));
	/* The longer the calls are, the further the clocks drift apart. */
	fill_calls(calls, 50000, 49985);
	CHECK(fb_nccl_stamps_fit(calls, CALLS));
	run_faster(calls, 90, 49985);
	CHECK(fb_nccl_stamps_fit(calls, CALLS));
	fill_calls(calls, 50000, 49985);
	run_faster(calls, 500, 49985);
	CHECK(!fb_nccl_stamps_fit(calls, CALLS));
}

static void test_of_other_calls(void)
{
	struct fb_nccl_stamps calls[CALLS], right[CALLS];

	/* All of the call before, the last call of an earlier one, and all of the same call. */
	fill(right, 8);
	fill(calls, 8);
	for (int i = 1; i < CALLS; i++)
		take_gpu(&calls[i], &right[i - 1]);
	CHECK(!fb_nccl_stamps_fit(calls + 1, CALLS - 1));
	fill(calls, 8);
	take_gpu(&calls[CALLS - 1], &right[2]);
	CHECK(!fb_nccl_stamps_fit(calls, CALLS));
	for (int i = 0; i < CALLS; i++)
		take_gpu(&calls[i], &right[0]);
	CHECK(!fb_nccl_stamps_fit(calls, CALLS));
	/* The begin of one call and the end of another one. */
	fill(calls, 8);
	calls[4].gpu_begin = right[3].gpu_begin;
	CHECK(!fb_nccl_stamps_fit(calls, CALLS));
}

static void test_too_long(void)
{
	struct fb_nccl_stamps calls[CALLS];

	fill(calls, 47);
	CHECK(!fb_nccl_stamps_fit(calls, CALLS));
	/* Not told, and an end before its begin. */
	fill(calls, 8);
	calls[3].gpu_begin = calls[3].gpu_end = 0;
	CHECK(!fb_nccl_stamps_fit(calls, CALLS));
	fill(calls, 8);
	calls[3].gpu_end = calls[3].gpu_begin - 1000;
	CHECK(!fb_nccl_stamps_fit(calls, CALLS));
}

/* Whether a row of 20 us has the flag. */
static bool is_flagged(double gpu_us)
{
	const struct fb_collective_program all_reduce = {.collective = FB_ALL_REDUCE};
	const double samples_us[] = {19, 20, 300};
	struct fb_collective_settings own = {0};
	struct fb_program program = fb_collective_describe(&all_reduce, &own);
	double extra[FB_COLLECTIVE_COLUMNS] = {0};
	struct fb_traits traits = {.extra = extra};

	extra[FB_GPU_US] = gpu_us;
	program.summarise(NULL, samples_us, 3, &traits);
	return !strcmp(traits.flags, "gpu-time-long");
}

int main(void)
{
	test_fit();
	test_of_other_calls();
	test_too_long();
	CHECK(!is_flagged((double)NAN));
	CHECK(!is_flagged(29));
	CHECK(is_flagged(31));
	return check_done("nccl_gpu_time");
}
