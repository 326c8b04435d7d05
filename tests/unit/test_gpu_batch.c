/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of the GPU engine's records go side by side, before which threads meet, and which tables
 * the fused exchange carries out. That the results are right is test_gpu_plans' part.
 */
#include "tests/cuda/job.h"
#include "tests/unit/check.h"

enum { THREADS = 64 }; /* eight warps of the emulator's */

static struct job j;

static struct job_case small(const struct fb_algorithm *algorithm, int nranks)
{
	return (struct job_case){.algorithm = algorithm, .protocol = FB_GPU_LL16,
				 .nranks = nranks, .channels = 1, .datatype = FB_F32, .count = 2,
				 .threads = THREADS};
}

/* Sizes of the batches of rank 1, and where threads meet: "2 3+1", + for meeting. */
static const char *batches(const struct job_case *c)
{
	static char text[256];
	size_t used = 0;
	const struct fb_gpu_record *r;
	uint32_t n;

	*text = 0;
	if (!CHECK_INT(job_open(&j, c), FB_OK))
		return text;
	n = j.ranks[1].table.blocks[0].nrecords;
	r = (const void *)(uintptr_t)j.ranks[1].table.blocks[0].records;
	for (uint32_t i = 0; i < n && used < sizeof(text);) {
		uint32_t batch = r->batch;

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u",
					 r->flags & FB_GPU_SYNC ? "+" : i ? " " : "", batch);
		for (uint32_t k = 0; k < batch; k++, i++)
			r = (const void *)((const char *)r + r->size);
	}
	job_close(&j);
	return text;
}

static bool fused(const struct job_case *c)
{
	bool all = true;

	if (!CHECK_INT(job_open(&j, c), FB_OK))
		return false;
	for (int r = 0; r < c->nranks; r++)
		all = all && j.ranks[r].is_fused;
	job_close(&j);
	return all;
}

static void test_batches(void)
{
	struct job_case c = small(&fb_all_to_all_direct, 4);

	/* Three sent, the own one, three got. */
	CHECK_STR(batches(&c), "7");
	/* Each has to be done in one pass by its warp: of 8 threads, 8 bytes each. */
	c.count = 65;
	CHECK_STR(batches(&c), "4 3");
	c.count = 1000;
	CHECK_STR(batches(&c), "1 1 1 1 1 1 1");
	/* Fewer warps than records. */
	c.count = 2;
	c.threads = 16;
	CHECK_STR(batches(&c), "2 2 2 1");
	c.threads = 8;
	CHECK_STR(batches(&c), "1 1 1 1 1 1 1");
	/* What comes is not sent on before it is there. */
	c = small(&fb_all_gather_ring, 3);
	c.count = 8;
	CHECK(strchr(batches(&c), '+') == NULL);
	c = small(&fb_all_reduce_two_shot, 4);
	CHECK_STR(batches(&c), "7");
	c = small(&fb_all_reduce_halving_doubling, 4);
	c.count = 150;
	CHECK(strchr(batches(&c), '+') != NULL);
	/* Nor is it told of who has entered a barrier, before it is known. */
	c = small(&fb_barrier_dissemination, 8);
	c.count = 0;
	CHECK_STR(batches(&c), "2+1 1");
	/* Credits are posted by threads that have met. */
	c = small(&fb_broadcast_chain, 3);
	CHECK_STR(batches(&c), "1");
}

static void check_fused(const struct job_case *c, bool expected)
{
	if (!CHECK_INT(fused(c), expected))
		printf("\t%s, %d ranks, in place %d, %llu elements\n", c->algorithm->name,
		       c->nranks, c->in_place, (unsigned long long)c->count);
}

static void test_fused(void)
{
	static const struct {
		const struct fb_algorithm *algorithm;
		bool in_place, ll, ll128;
	} table[] = {
		{&fb_all_reduce_one_shot, false, true, true},
		{&fb_all_reduce_one_shot, true, true, true},
		{&fb_all_gather_direct, false, true, true},
		{&fb_all_gather_direct, true, true, true},
		{&fb_reduce_scatter_direct, false, true, true},
		{&fb_reduce_scatter_direct, true, true, true},
		{&fb_all_to_all_direct, false, true, true},
		{&fb_all_reduce_two_shot, false, false, true},
		{&fb_all_reduce_two_shot, true, false, true},
		{&fb_all_gather_ring, false, false, false},
		{&fb_all_reduce_halving_doubling, false, false, false},
		{&fb_all_to_all_v_direct, false, false, true},
		{&fb_broadcast_star, false, false, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (int nranks = 3; nranks <= 4; nranks++) {
			struct job_case c = small(table[i].algorithm, nranks);

			c.in_place = table[i].in_place;
			/* Parts that differ, and such as are no multiples of 8 bytes. */
			for (c.count = 2; c.count < 100; c.count += 19) {
				c.protocol = FB_GPU_LL16;
				check_fused(&c, table[i].ll);
				c.protocol = FB_GPU_LL128;
				check_fused(&c, table[i].ll128);
			}
		}
}

int main(void)
{
	test_batches();
	test_fused();
	return check_done("gpu_batch");
}
