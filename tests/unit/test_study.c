/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeout: 120
 *
 * Studies: words and options, the order of launches over many seeds, and that no file, however
 * wrong, does more than be refused.
 */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/study/plan.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_words(void)
{
	static const char *const good[] = {"A=1", "A=", "_a1=x,y", "A=1;B=2", "A=b=c;BA=;AB="};
	static const char *const bad[] = {"",	  "-",	     "A",     "=1",    "1A=2",	  "A=1;",
					  ";A=1", "A=1;A=2", "A=1;B", "A-B=1", "A=1;;B=2"};
	char name[16] = "";

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!CHECK(fb_word_is_assignments(good[i])))
			printf("\t%s\n", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(!fb_word_is_assignments(bad[i])))
			printf("\t%s\n", bad[i]);
	CHECK(fb_assignments_clash("A=1;BC=2", "B=1;BC=3", name, sizeof(name)));
	CHECK_STR(name, "BC");
	CHECK(!fb_assignments_clash("A=B=1", "B=1;AB=2", name, sizeof(name)));
	CHECK(!fb_assignments_clash("-", "A=1", name, sizeof(name)));
	CHECK(fb_word_is_option("--a"));
	CHECK(fb_word_is_option("--max-time=1 s=x"));
	CHECK(!fb_word_is_option("--"));
	CHECK(!fb_word_is_option("-a"));
	CHECK(!fb_word_is_option("--A"));
	CHECK(!fb_word_is_option("--a_b"));
	CHECK(fb_word_is_program("all_to_all_v2"));
	CHECK(!fb_word_is_program("2fast"));
	CHECK(!fb_word_is_program("../x"));
}

static void test_merge(void)
{
	static const struct {
		const char *options, *merged;
	} cases[] = {
		{"", ""},
		{"--a=1", "--a=1"},
		{"--a=1 --b=2 --a=3", "--a=3 --b=2"},
		{"--ab=1 --a=2 --a --ab=", "--ab= --a"},
		{"--x --x --x", "--x"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fb_word_list words = {0};

		fb_word_list_split(&words, cases[i].options);
		fb_word_list_merge_options(&words);
		CHECK_STR(fb_word_list_join(&words, " "), cases[i].merged);
	}
}

/* Options for all programs reach those that use them; names that nobody knows use all. */
static void test_used(void)
{
	static const struct {
		const char *program, *used;
	} cases[] = {
		{"all_reduce", "--bytes=8 --copy-direction=pull --rdma-odp --ci=1%"},
		{"latency", "--bytes=8 --rdma-odp --ci=1%"},
		{"kv_reshard", "--rdma-odp --ci=1%"},
		{"host_device", "--bytes=8 --ci=1%"},
		{"other", "--bytes=8 --copy-direction=pull --rdma-odp --ci=1%"},
	};
	struct fb_word_list all = {0};

	fb_word_list_split(&all, cases[0].used);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fb_word_list words = {0};

		fb_word_list_append_used(&words, &all, cases[i].program);
		CHECK_STR(fb_word_list_join(&words, " "), cases[i].used);
	}
}

/* Writes a study to a new file; the caller frees the name. NULL: could not. */
static char *write_study(const char *text)
{
	char *path = strdup("/tmp/fb-study-XXXXXX");
	int fd = path ? mkstemp(path) : -1;
	size_t bytes = strlen(text);

	if (fd < 0 || write(fd, text, bytes) != (ssize_t)bytes) {
		free(path);
		path = NULL;
	}
	if (fd >= 0)
		close(fd);
	return path;
}

/* Reads the text as a study and makes its plan; either may be refused. */
static int plan_of(const char *text, struct fb_study *study, struct fb_sweep_plan *plan,
		   uint64_t seed)
{
	static const struct fb_study_changes changes = {.folder = "/nowhere"};
	char *path = write_study(text);
	int err;

	fb_memory_end();
	*study = (struct fb_study){0};
	*plan = (struct fb_sweep_plan){0};
	if (!CHECK(path != NULL))
		return FB_ESYS;
	err = fb_study_read(study, path, &changes);
	if (!err)
		err = fb_sweep_plan_make(plan, study, 3, seed);
	unlink(path);
	free(path);
	return err;
}

/* Steady drift: in each block the places of the two sides have the same sum. */
static void check_balance(const struct fb_sweep_plan *plan, size_t launches)
{
	size_t per_block = 4;

	for (size_t at = 0; at + per_block <= plan->count; at += per_block) {
		const struct fb_sweep_launch *block = &plan->launch[at];
		long sum = 0;

		if (block->launch_index + 1 == launches && launches % 2)
			break; /* an odd last launch index is AB or BA */
		for (size_t i = 0; i < per_block; i++) {
			CHECK_INT(block[i].variant, block->variant);
			CHECK_INT(block[i].launch_index / 2, block->launch_index / 2);
			sum += block[i].side == FB_SIDE_A ? (long)i : -(long)i;
		}
		CHECK_INT(sum, 0);
		CHECK_INT(block[0].launch_index, block[1].launch_index);
		CHECK(block[0].side != block[1].side);
	}
}

static void test_order(struct fb_study *study)
{
	struct fb_sweep_plan plan;
	size_t first_a = 0, seeds = 200;

	for (size_t seed = 0; seed < seeds; seed++) {
		bool seen[5][6][FB_SIDES] = {{{false}}};

		CHECK_INT(plan_of("launches 5\nenv A=1 A=2 -\nenv B=1 -\nside b X=1\nbarrier\n",
				  study, &plan, seed),
			  FB_OK);
		CHECK_INT(plan.nvariants, 6);
		if (!CHECK_INT(plan.count, 60) || !plan.launch)
			return;
		for (size_t i = 0; i < plan.count; i++) {
			bool *there = &seen[plan.launch[i].launch_index][plan.launch[i].variant]
					   [plan.launch[i].side];

			CHECK(!*there);
			*there = true;
		}
		check_balance(&plan, 5);
		first_a += plan.launch[0].side == FB_SIDE_A ? 1 : 0;
	}
	/* 5 standard deviations of a fair coin. */
	CHECK(first_a > seeds / 2 - 36 && first_a < seeds / 2 + 36);
}

/* Lines put together from words that mean something, and some that do not. */
static void test_any_text(struct fb_study *study)
{
	static const char *const words[] = {
		"launches",
		"ranks",
		"nodes",
		"ranks-per-node",
		"env",
		"side",
		"canary",
		"*",
		"barrier",
		"?x",
		"--a=1",
		"--csv=x",
		"A=1",
		"A=2;B",
		"-",
		"a",
		"b",
		"2,4,8",
		"1:64:2",
		"0",
		"3",
		"none",
		"#",
		"\n",
		"\n",
		"--x",
		"B=",
		"canary-limit",
		"20%",
		"\t",
		"\xff",
		"=",
		"99999999999999999999",
		"--build=",
	};
	struct fb_sweep_plan plan;
	struct fb_rng rng;
	size_t accepted = 0;

	fb_rng_seed(&rng, 1);
	for (size_t n = 0; n < 3000; n++) {
		char text[512] = "";
		size_t used = 0, count = fb_rng_below(&rng, 16);

		for (size_t i = 0; i < count; i++) {
			size_t w = fb_rng_below(&rng, sizeof(words) / sizeof(words[0]));

			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ", words[w]);
		}
		snprintf(text + used, sizeof(text) - used, "\nbarrier\n");
		if (!plan_of(text, study, &plan, n)) {
			accepted++;
			CHECK(plan.count >= 1);
		}
	}
	CHECK(accepted > 30);
}

int main(void)
{
	struct fb_study *study = calloc(1, sizeof(*study));

	if (!study)
		return 1;
	test_words();
	test_merge();
	test_used();
	test_order(study);
	/* What is refused is said, thousands of times. */
	if (freopen("/dev/null", "w", stderr))
		test_any_text(study);
	free(study);
	return check_done("study");
}
