/* SPDX-License-Identifier: BSD-3-Clause */
/* An option table with one option of each type, and a way to parse a line; for option tests. */
#ifndef FB_TESTS_UNIT_OPTION_EXAMPLE_H
#define FB_TESTS_UNIT_OPTION_EXAMPLE_H

#include "common/base/error.h"
#include "common/option/option.h"

#include <string.h>

enum { ARGS_MAX = 16 };

struct values {
	struct fb_sizes bytes;
	bool raw, quiet;
	int root, engine;
	uint64_t samples, engines;
	double factor, ci, max_time_s;
	const char *csv, *even;
};

struct own {
	int depth;
	const char *pattern;
};

static const char *const engines[] = {"host", "mpi", "nccl", NULL};

static int check_even(const char *value, char *accepted, size_t n)
{
	if (*value && strlen(value) % 2 == 0)
		return 0;
	snprintf(accepted, n, "an even number of characters");
	return FB_EINPUT;
}

static const struct fb_option common[] = {
	FB_OPTION_GROUP("Sweep"),
	FB_OPTION_SIZES(struct values, bytes, 'b', "bytes", "8:64:2", "message sizes"),
	FB_OPTION_CHOICES(struct values, engines, 'e', "engines", "all", engines, "engines to run"),
	FB_OPTION_CHOICE(struct values, engine, 0, "engine", "mpi", engines, "the one engine"),
	FB_OPTION_INT(struct values, root, 'r', "root", "RANK", "0", -1, 100, "root rank"),
	FB_OPTION_GROUP("Measurement"),
	FB_OPTION_U64(
		struct values, samples, 'n', "max-samples", "N", "2000", 5, 1048576,
		"stop after so many repetitions, whatever the confidence interval is by then, "
		"as a row has to end at some point"),
	FB_OPTION_DOUBLE(struct values, factor, 0, "factor", "X", "1.5", 0.5, 8, "growth factor"),
	FB_OPTION_RATIO(struct values, ci, 0, "ci", "1%", 1e-4, 0.5, "confidence wanted"),
	FB_OPTION_TIME(struct values, max_time_s, 0, "max-time", "1s", 1e-3, 3600, "time of a row"),
	FB_OPTION_FLAG(struct values, raw, 0, "raw", "write every repetition"),
	FB_OPTION_FLAG(struct values, quiet, 'q', "quiet", "say nothing"),
	FB_OPTION_STRING(struct values, csv, 0, "csv", "DIR", NULL, NULL, "folder for results"),
	FB_OPTION_STRING(struct values, even, 0, "even", "TEXT", "ab", check_even,
			 "a checked text"),
	FB_OPTION_END,
};

static const struct fb_option own[] = {
	FB_OPTION_GROUP("This program"),
	FB_OPTION_INT(struct own, depth, 'd', "depth", "N", "4", 1, 64, "messages in flight"),
	FB_OPTION_STRING(struct own, pattern, 0, "a-name-that-is-rather-long", "TEXT", "x", NULL,
			 "an option whose name leaves no room"),
	FB_OPTION_END,
};

/* Splits at blanks ("_" stands for an empty argument) and parses; the message goes to text. */
static inline int parse(const struct fb_option_chain *chain, const char *line, char *text, size_t n)
{
	char copy[512], program[] = "all_reduce", empty[] = "", *save = NULL;
	char *argv[ARGS_MAX + 2] = {program};
	FILE *errors = fmemopen(text, n, "w");
	int argc = 1, ret;

	text[0] = '\0';
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *arg = strtok_r(copy, " ", &save); arg && argc <= ARGS_MAX;
	     arg = strtok_r(NULL, " ", &save))
		argv[argc++] = strcmp(arg, "_") ? arg : empty;
	ret = fb_option_parse(chain, argc, argv, errors);
	fclose(errors);
	return ret;
}

#endif
