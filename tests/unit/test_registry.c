/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of algorithms: what algorithms.def lists is what the table and the folder hold,
 * and each reason for refusing a shape is given. That the algorithms are right is test_plans'.
 */
#include "tests/unit/check.h"

#include <dirent.h>
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"

static const char folder[] = "collectives/algorithm";

static const struct line {
	const char *collective, *name, *file;
} lines[] = {
#define FB_ALGORITHM(collective, name) {#collective, #name, #collective "_" #name ".c"},
#include "collectives/algorithm/algorithms.def"
#undef FB_ALGORITHM
};

enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static void test_table(void)
{
	bool seen[FB_COLLECTIVES] = {false};

	if (!CHECK_INT(fb_algorithm_count, LINES))
		return;
	for (int i = 0; i < LINES; i++) {
		const struct fb_algorithm *a = fb_algorithms[i];

		CHECK_STR(fb_collective_info(a->collective)->name, lines[i].collective);
		CHECK_STR(a->name, lines[i].name);
		CHECK(a->source && *a->source);
		CHECK(a->build);
		CHECK(!a->in_place || fb_collective_info(a->collective)->in_place);
		CHECK(fb_algorithm_find(a->collective, a->name) == a);
		/* A group is left once, so its collective must not come back. */
		if (i == 0 || a->collective != fb_algorithms[i - 1]->collective)
			CHECK(!seen[a->collective]);
		seen[a->collective] = true;
	}
	for (int c = 0; c < FB_COLLECTIVES; c++)
		CHECK(seen[c]);
	CHECK(!fb_algorithm_find(FB_BARRIER, "ring"));
	CHECK(!fb_algorithm_find(FB_ALL_REDUCE, ""));
	CHECK(!fb_algorithm_find(FB_ALL_REDUCE, "rin"));
}

/* Whether the file's name says that it holds an algorithm: <collective>_<something>.c. */
static bool named_as_algorithm(const char *file)
{
	size_t n = strlen(file);

	for (int c = 0; c < FB_COLLECTIVES; c++) {
		const char *name = fb_collective_info((enum fb_collective)c)->name;
		size_t prefix = strlen(name);

		if (!strncmp(file, name, prefix) && file[prefix] == '_' && n > 2 &&
		    !strcmp(file + n - 2, ".c"))
			return true;
	}
	return false;
}

/* Every line has its file and every algorithm's file its line. */
static void test_folder(DIR *dir)
{
	bool found[LINES] = {false};
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		int i = 0;

		while (i < LINES && strcmp(lines[i].file, entry->d_name))
			i++;
		if (i < LINES)
			found[i] = true;
		else if (!CHECK(!named_as_algorithm(entry->d_name)))
			printf("\t%s/%s has no line in algorithms.def\n", folder, entry->d_name);
	}
	for (int i = 0; i < LINES; i++)
		if (!CHECK(found[i]))
			printf("\t%s/%s does not exist\n", folder, lines[i].file);
}

static bool refuse(const struct fb_shape *shape, char *why, size_t n)
{
	if (shape->nranks % 2)
		snprintf(why, n, "odd");
	return shape->nranks % 2 == 0;
}

static void check_can(const struct fb_algorithm *a, struct fb_shape shape, const char *want)
{
	char why[128] = "";
	bool can = fb_algorithm_can(a, &shape, why, sizeof(why));

	CHECK_INT(can, !*want);
	CHECK_STR(why, want);
}

static void test_can(void)
{
	static const struct fb_algorithm a = {
		.name = "a", .collective = FB_REDUCE, .channels = 2, .can = refuse,
	};
	static const struct fb_algorithm v = {
		.name = "v", .collective = FB_ALL_TO_ALL_V, .in_place = true,
	};
	struct fb_shape good = {.collective = FB_REDUCE, .nranks = 4, .nchannels = 4}, bad;

	check_can(&a, good, "");
	bad = good;
	bad.nranks = 3;
	check_can(&a, bad, "odd");
	bad = good;
	bad.collective = FB_GATHER;
	check_can(&a, bad, "a is an algorithm for reduce, not for gather");
	bad = good;
	bad.root = 4;
	check_can(&a, bad, "root 4 is not one of 4 ranks");
	bad = good;
	bad.in_place = true;
	check_can(&a, bad, "a has no in-place form of reduce");
	bad = good;
	bad.nchannels = 3;
	check_can(&a, bad, "a needs a multiple of 2 channels, not 3");
	bad = (struct fb_shape){.collective = FB_ALL_TO_ALL_V, .nranks = 2, .in_place = true};
	check_can(&v, bad, "all_to_all_v has no in-place form");
}

int main(void)
{
	DIR *dir = opendir(folder);

	test_table();
	test_can();
	if (dir) {
		test_folder(dir);
		closedir(dir);
	} else {
		CHECK(named_as_algorithm("all_to_all_v_direct.c"));
		printf("%s not found: run from the root of the source tree\n", folder);
		return check_failures ? check_done("registry") : CHECK_SKIP;
	}
	CHECK(named_as_algorithm("barrier_x.c") && !named_as_algorithm("tree.c"));
	CHECK(!named_as_algorithm("barrier_x.h"));
	return check_done("registry");
}
