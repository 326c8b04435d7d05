/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ways to tell what an element of a page is: the host's, which goes through pages by rows
 * and writes test data, and that of the GPU's kernels, which asks fb_kv_locate and makes elements
 * one by one. Both have to say the same of every byte. And single wrong bytes, which have to be
 * found, wherever they are.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"
#include "kvtransfer/pages.h"
#include "tests/unit/check.h"

static struct fb_segment segment;
static char *part;
static int part_of;

static void open_job(struct fb_kv_job *job, const struct fb_kv_shape *shape,
		     enum fb_datatype type)
{
	if (fb_kv_job_open(job, shape, FB_KV_PACK, 0, 1, 0))
		abort();
	job->type = type;
	job->seed = 3;
	part = malloc(job->part_bytes);
	if (!part)
		abort();
	segment = (struct fb_segment){.nparts = 1, .part_of = &part_of, .parts = &part,
				      .ops = &fb_memory_host};
	job->segment = &segment;
}

static void close_job(struct fb_kv_job *job)
{
	free(part);
	fb_kv_job_close(job);
}

/* How many elements are not what the kernels would write. */
static uint64_t differ(const struct fb_kv_job *job, enum fb_kv_side side)
{
	const struct fb_data data = {.seed = job->seed, .type = job->type, .op = FB_SUM,
				     .nranks = 1};
	const struct fb_element_recipe recipe = fb_element_prepare(&data);
	const struct fb_kv_locator locator = fb_kv_locator_of(job, side);
	const struct fb_element_source source = {0, 0};
	uint32_t size = job->plan.shape.element_bytes;
	const char *at = fb_kv_region_of(job, 0, side, 0);
	uint64_t n = fb_kv_area_bytes(&job->plan.shape, side) / size, errors = 0;

	for (uint64_t i = 0; i < n; i++, at += size) {
		const struct fb_kv_place place = fb_kv_locate(&locator, i);
		uint64_t bits = (uint64_t)fb_kv_canary(side) * UINT64_C(0x0101010101010101);

		if (place.used)
			bits = fb_element_make(&recipe, source, place.index);
		errors += memcmp(at, &bits, size) != 0; /* little endian, as GPUs are */
	}
	return errors;
}

static const struct fb_kv_shape shapes[] = {
	{.layers = 2, .kv_heads = 4, .head_dim = 8, .tokens = 11, .block_tokens = 4, .page_run = 1,
	 .layout = {FB_KV_HND, FB_KV_PAIRED_NHD}, .tp = {2, 4}},
	{.layers = 3, .kv_heads = 6, .head_dim = 16, .tokens = 8, .block_tokens = 4, .page_run = 0,
	 .layout = {FB_KV_NHD, FB_KV_BLOCK_HND}, .tp = {3, 1}},
	{.layers = 1, .kv_heads = 1, .head_dim = 24, .tokens = 5, .block_tokens = 16, .page_run = 1,
	 .layout = {FB_KV_BLOCK_NHD, FB_KV_NHD}, .tp = {4, 2}},
};

static const enum fb_datatype types[] = {FB_BF16, FB_U8, FB_F32, FB_F64, FB_F8E4M3};

static void test_both_ways(void)
{
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			struct fb_kv_shape shape = shapes[s];
			struct fb_mismatch bad = {.errors = 0};
			struct fb_kv_job job;

			shape.element_bytes = (uint32_t)fb_datatype_size(types[t]);
			open_job(&job, &shape, types[t]);
			for (int side = 0; side < FB_KV_SIDES; side++) {
				fb_kv_pages_host.fill(&job, (enum fb_kv_side)side, false);
				CHECK_INT(differ(&job, (enum fb_kv_side)side), 0);
				fb_kv_pages_host.check(&job, (enum fb_kv_side)side, &bad);
			}
			CHECK_INT(bad.errors, 0);
			close_job(&job);
		}
}

/* Any single byte, in every place, is one error at the place where it is. */
static void test_wrong_bytes(void)
{
	struct fb_kv_shape shape = shapes[0];
	struct fb_kv_job job;
	char *pages;
	uint64_t n;

	shape.element_bytes = 2;
	open_job(&job, &shape, FB_BF16);
	pages = fb_kv_region_of(&job, 0, FB_KV_DECODE, 0);
	n = fb_kv_area_bytes(&shape, FB_KV_DECODE);
	fb_kv_pages_host.fill(&job, FB_KV_DECODE, false);
	for (uint64_t i = 0; i < n; i += 7) {
		const struct fb_kv_locator locator = fb_kv_locator_of(&job, FB_KV_DECODE);
		const struct fb_kv_place place = fb_kv_locate(&locator, i / 2);
		struct fb_mismatch bad = {.errors = 0};

		pages[i] ^= 1;
		fb_kv_pages_host.check(&job, FB_KV_DECODE, &bad);
		CHECK_INT(bad.errors, 1);
		if (place.used)
			CHECK_INT(bad.index, place.index);
		pages[i] ^= 1;
	}
	/* Pages that nobody wrote are wrong in each element that is the request's. */
	fb_kv_pages_host.fill(&job, FB_KV_DECODE, true);
	{
		struct fb_mismatch bad = {.errors = 0};

		fb_kv_pages_host.check(&job, FB_KV_DECODE, &bad);
		CHECK_INT(bad.errors, UINT64_C(4) * 11 * 8);
	}
	close_job(&job);
}

int main(void)
{
	int quiet = dup(STDERR_FILENO);

	test_both_ways();
	if (quiet < 0 || !freopen("/dev/null", "w", stderr))
		abort();
	test_wrong_bytes();
	dup2(quiet, STDERR_FILENO);
	close(quiet);
	return check_done("kv_pages");
}
