/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare: whether two result sets differ, row by row, and what else differs between them.
 *
 * The unit is the launch: a confidence interval inside of one start of a program says nothing of
 * the next start, so results are compared by launches, all rows together, and a row that has not
 * been shown to be the same is not called the same. docs/compare.md explains what is printed.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/compare/modes.h"
#include "scripts/tools/lib/tool.h"

#include <csv.h>
#include <stdlib.h>

#define FLAG(field, short_, name, help)                                                            \
	FB_OPTION_FLAG(struct fb_compare_settings, field, short_, name, help)
#define TEXT(field, short_, name, placeholder, fallback, check, help)                              \
	FB_OPTION_STRING(struct fb_compare_settings, field, short_, name, placeholder, fallback,   \
			 check, help)

static int check_metric(const char *value, char *accepted, size_t n)
{
	struct fb_metric_name metric;

	fb_metric_accepted(accepted, n);
	return fb_metric_parse(value, &metric);
}

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to compare"),
	TEXT(metric, 'm', "metric", "COLUMN", "median_us", check_metric,
	     "the column that is compared"),
	TEXT(filter, 0, "filter", "KEY=PATTERN,...", NULL, NULL,
	     "only rows whose key columns match; patterns of one key are alternatives"),
	FLAG(paired, 0, "paired",
	     "launches of equal index are blocks that ran next to each other (A B, A B B A)"),
	FLAG(keep_marked, 0, "keep-marked", "use launches that launches.csv marks as disturbed"),
	FLAG(force, 0, "force", "compare different machines as well"),
	FB_OPTION_GROUP("How to judge"),
	FB_OPTION_RATIO(struct fb_compare_settings, threshold, 't', "threshold", "5%", 1e-4, 10,
			"the least change that matters"),
	TEXT(thresholds, 0, "thresholds", "FILE", NULL, NULL,
	     "thresholds of single rows: CSV of key columns and threshold"),
	TEXT(noise, 0, "noise", "FILE", NULL, NULL,
	     "noise of rows, which --self-test writes: changes below 3 times that do not matter"),
	FB_OPTION_RATIO(struct fb_compare_settings, alpha, 0, "alpha", "0.05", 1e-6, 0.5,
			"probability of any false alarm in the whole comparison"),
	FB_OPTION_U64(struct fb_compare_settings, seed, 0, "seed", "N", "20150815", 0, UINT64_MAX,
		      "of the random assignments"),
	FLAG(strict, 0, "strict",
	     "exit code 4 where a row is UNSURE, missing in NEW, or ran another way (path)"),
	FB_OPTION_GROUP("What to write"),
	FLAG(all, 'a', "all", "rows that are SAME as well, and lists in full"),
	TEXT(csv, 0, "csv", "FILE", NULL, NULL, "verdicts as CSV"),
	TEXT(junit, 0, "junit", "FILE", NULL, NULL, "verdicts as JUnit XML"),
	TEXT(forest, 0, "forest", "FILE", NULL, NULL, "data of the forest plot"),
	FB_OPTION_GROUP("Other modes"),
	FLAG(self_test, 0, "self-test",
	     "split the launches of one set, where nothing changed, and count false alarms"),
	FLAG(history, 0, "history", "change points over many sets in order of time"),
	FB_OPTION_END,
};

static const char description[] =
	"compare [option...] BASE NEW | STUDY\n"
	"compare --self-test [option...] SET\n"
	"compare --history [option...] SET...\n\n"
	"Each of them is a folder with result files of several launches, or a single file; STUDY "
	"has the folders a and b. Rows are joined by their key columns, and every row is called "
	"REGRESSED, IMPROVED, SAME or UNSURE, so that in 95% of comparisons where nothing changed "
	"no row at all is called changed. Beside that it says what differs between the "
	"environments, the likely cause first.\n\n"
	"Exit code: 0 no regression; 1 a regression; 2 NEW has wrong data; 3 the input cannot be "
	"used, or the machines differ; 4 with --strict, a row is UNSURE, missing in NEW, or ran "
	"another way, or the self-test failed; 5 NEW has faults; 6 nothing could be judged (every "
	"row is UNSURE, or most launches are left out).";

static int run(void *values, char **paths, size_t count)
{
	struct fb_compare_settings *settings = values;
	char why[128] = "", accepted[256];
	int code;

	if (settings->self_test && settings->history) {
		fb_option_reject(stderr, "history", NULL, "one of --history and --self-test");
		return FB_EXIT_INPUT;
	}
	if (fb_key_filter_parse(settings->filter, &settings->key_filter, why, sizeof(why))) {
		snprintf(accepted, sizeof(accepted), "KEY=PATTERN[,KEY=PATTERN...]: %s", why);
		fb_option_reject(stderr, "filter", settings->filter, accepted);
		return FB_EXIT_INPUT;
	}
	/* It was checked while options were parsed. */
	if (fb_metric_parse(settings->metric, &settings->metric_name))
		return FB_EXIT_INPUT;
	if (settings->self_test)
		code = fb_mode_self_test(settings, paths, count);
	else if (settings->history)
		code = fb_mode_history(settings, paths, count);
	else
		code = fb_mode_compare(settings, paths, count);
	if (fflush(stdout) || ferror(stdout))
		code = FB_EXIT_FAULT;
	return code;
}

static const struct fb_tool tool = {
	.name = "compare",
	.summary = "whether two result sets differ",
	.description = description,
	.table = table,
	.input = FB_TOOL_RESULTS,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct fb_compare_settings)
