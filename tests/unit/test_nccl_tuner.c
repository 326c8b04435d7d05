/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuner plugin: calls as NCCL of each version makes them get the table's cells. */
#include <stdlib.h>
#include <unistd.h>

#include "common/library/nccl/tuner.h"
#include "tests/unit/check.h"

extern const struct fb_nccl_tuner ncclTunerPlugin_v2, ncclTunerPlugin_v3, ncclTunerPlugin_v4,
	ncclTunerPlugin_v5, ncclTunerPlugin_v6, ncclTunerPlugin_v7;

enum { RING = 1, NVLS = 4, LL = 0, SIMPLE = 2, ALL_REDUCE = 4, ALL_GATHER = 2 };

static char file[] = "/tmp/fabricbench-table-XXXXXX";

static void write_table(const char *text)
{
	FILE *f = fopen(file, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void test_2(void)
{
	const fb_nccl_choose_2 choose = (fb_nccl_choose_2)ncclTunerPlugin_v2.choose;
	void *context = NULL;
	int algorithm = -1, protocol = -1, channels = 0;

	CHECK_INT(((fb_nccl_tuner_init_2)ncclTunerPlugin_v2.init)(8, 1, NULL, &context), 0);
	CHECK_INT(choose(context, ALL_REDUCE, 65536, 0, 0, 1, &algorithm, &protocol, &channels), 0);
	CHECK(algorithm == RING && protocol == LL && channels == 4);
	/* Nothing for that; NVLS only where there is such. */
	algorithm = -1;
	CHECK_INT(choose(context, ALL_GATHER, 8, 0, 0, 1, &algorithm, &protocol, &channels), 0);
	CHECK_INT(choose(context, ALL_REDUCE, 1 << 20, 0, 0, 1, &algorithm, &protocol,
			 &channels), 0);
	CHECK_INT(algorithm, -1);
	CHECK_INT(choose(context, ALL_REDUCE, 1 << 20, 0, 1, 1, &algorithm, &protocol,
			 &channels), 0);
	CHECK(algorithm == NVLS && protocol == SIMPLE);
	/* Cells that no version with this interface has stay NCCL's choice: pat, tree, nvls ll. */
	algorithm = -1;
	for (size_t bytes = 1000; bytes <= 3000; bytes += 1000)
		CHECK_INT(choose(context, ALL_GATHER, bytes, 1, 1, 1, &algorithm, &protocol,
				 &channels), 0);
	CHECK_INT(algorithm, -1);
	CHECK_INT(ncclTunerPlugin_v2.destroy(context), 0);
}

/* Costs as NCCL passes them; `with_registered`: from version 4 on. */
static void test_costs(const struct fb_nccl_tuner *tuner, void *context, bool with_registered)
{
	float costs[7][3];
	int channels = 0;

	for (int a = 0; a < 7; a++)
		for (int p = 0; p < 3; p++)
			costs[a][p] = a == NVLS ? -1 : 5;
	for (int bytes = 65536; bytes <= 65537; bytes++) {
		if (with_registered)
			CHECK_INT(((fb_nccl_choose_4)tuner->choose)(
				context, ALL_REDUCE, (size_t)bytes, 1, (float **)(void *)costs, 7,
				3, 0, &channels), 0);
		else
			CHECK_INT(((fb_nccl_choose_3)tuner->choose)(
				context, ALL_REDUCE, (size_t)bytes, 1, (float **)(void *)costs, 7,
				3, &channels), 0);
	}
	/* The first call's cell; the second one's is not possible. */
	for (int a = 0; a < 7; a++)
		for (int p = 0; p < 3; p++)
			CHECK_INT((int)costs[a][p],
				  a == RING && p == LL ? 0 : a == NVLS ? -1 : 5);
	CHECK_INT(channels, 4);
	CHECK_INT(tuner->destroy(context), 0);
}

/* What a program forces: all other cells are ruled out, unless that leaves none. */
static void test_forced(void)
{
	const fb_nccl_choose_4 choose = (fb_nccl_choose_4)ncclTunerPlugin_v5.choose;
	static const struct {
		const char *algorithm, *protocol;
		unsigned obeyed;
		int possible; /* cells of an algorithm without NVLS */
	} cases[] = {{"ring", "ll", 1, 1}, {"ring", NULL, 1, 3}, {"nvls", "simple", 0, 18},
		     {NULL, NULL, 0, 18}};
	void *context = file;
	int channels = 0;

	CHECK_INT(fb_nccl_tuner_force("circle", NULL), -1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		float costs[7][3];
		int possible = 0;

		for (int a = 0; a < 7; a++)
			for (int p = 0; p < 3; p++)
				costs[a][p] = a == NVLS ? -1 : 5;
		CHECK_INT(fb_nccl_tuner_force(cases[i].algorithm, cases[i].protocol), 0);
		CHECK_INT(choose(NULL, ALL_GATHER, 8, 1, (float **)(void *)costs, 7, 3, 0,
				 &channels), 0);
		for (int a = 0; a < 7; a++)
			for (int p = 0; p < 3; p++)
				possible += costs[a][p] >= 0;
		CHECK_INT(possible, cases[i].possible);
		CHECK_INT((int)fb_nccl_tuner_obeyed(), (int)cases[i].obeyed);
		CHECK(cases[i].obeyed == 0 || costs[RING][LL] >= 0);
	}
	CHECK_INT(channels, 0);
	/* It needs no table then. */
	unsetenv("FB_NCCL_TABLE");
	CHECK_INT(((fb_nccl_tuner_init_2)ncclTunerPlugin_v4.init)(8, 1, NULL, &context), 0);
	CHECK(!context);
	setenv("FB_NCCL_TABLE", file, 1);
}

int main(void)
{
	const struct fb_nccl_tuner *const since_5[] = {&ncclTunerPlugin_v5, &ncclTunerPlugin_v6,
						       &ncclTunerPlugin_v7};
	void *context = NULL;
	int fd = mkstemp(file);

	if (!CHECK(fd >= 0))
		return check_done("nccl_tuner");
	close(fd);
	setenv("FB_NCCL_TABLE", file, 1);
	write_table("# small, then large\n\nallreduce 0 65536 ring ll 4\n"
		    "allreduce 65537 1073741824 nvls simple 0 # the rest\n"
		    "allgather 1000 1000 pat simple 0\nallgather 2000 2000 tree simple 0\n"
		    "allgather 3000 3000 nvls ll 0\n");
	test_2();
	CHECK_INT(((fb_nccl_tuner_init_2)ncclTunerPlugin_v3.init)(8, 1, NULL, &context), 0);
	test_costs(&ncclTunerPlugin_v3, context, false);
	CHECK_INT(((fb_nccl_tuner_init_2)ncclTunerPlugin_v4.init)(8, 1, NULL, &context), 0);
	test_costs(&ncclTunerPlugin_v4, context, true);
	for (size_t i = 0; i < sizeof(since_5) / sizeof(since_5[0]); i++) {
		CHECK_INT(((fb_nccl_tuner_init_5)since_5[i]->init)(&context, 1, 8, 1, NULL, NULL,
								   NULL), 0);
		/* NCCL's chunks stay; version 5 does not look for it. */
		CHECK(since_5[i]->chunk == NULL);
		test_costs(since_5[i], context, true);
	}
	test_forced();
	/* Wrong lines and no file are errors. */
	write_table("allreduce 0 64K ring ll 4\n");
	CHECK_INT(((fb_nccl_tuner_init_2)ncclTunerPlugin_v4.init)(8, 1, NULL, &context), 4);
	write_table("allreduce 0 64 circle ll 4\n");
	CHECK_INT(((fb_nccl_tuner_init_2)ncclTunerPlugin_v4.init)(8, 1, NULL, &context), 4);
	(void)unlink(file);
	CHECK_INT(((fb_nccl_tuner_init_2)ncclTunerPlugin_v4.init)(8, 1, NULL, &context), 2);
	CHECK(!context);
	return check_done("nccl_tuner");
}
