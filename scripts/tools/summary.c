/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * summary: what a results folder says, for people: for each operation and size the best of the
 * project's algorithms beside the library's own call.
 *
 * It compares within one set of launches and gives no verdict. `--plot` feeds plots/<name>.gp,
 * which is why the joining of rows is here and not in gnuplot.
 */
#include "common/base/fold.h"
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/rank_times.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/plot/matrix.h"
#include "scripts/tools/summary/summary.h"

#include <csv.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

struct settings {
	int metric;
	bool all, chosen, csv, plot, sections, crossings, asked, flags, contention;
	uint64_t section;
	const char *axis, *columns, *forest;
};

static const char *const metrics[] = {"time", "busbw", NULL};

#define FLAG(field, short_, name, help)                                                            \
	FB_OPTION_FLAG(struct settings, field, short_, name, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to show"),
	FB_OPTION_CHOICE(struct settings, metric, 'm', "metric", "time", metrics,
			 "what the table shows: median time, or bus bandwidth"),
	FLAG(all, 'a', "all", "every algorithm and protocol of each size, not only the best"),
	FLAG(chosen, 0, "chosen", "what engine auto chose: against the library, and its regret"),
	FB_OPTION_STRING(struct settings, axis, 'x', "axis", "KEY[,KEY]", NULL, NULL,
			 "what rows of a table run over beside sizes: any column, key or variable"),
	FB_OPTION_STRING(struct settings, columns, 0, "columns", "LIST", NULL, NULL,
			 "columns beside the usual ones; by default the program's own that differ"),
	FLAG(csv, 0, "csv", "CSV instead of a table"),
	FLAG(crossings, 0, "crossings",
	     "sizes where one way passes another, what NCCL's own choice loses, and what each "
	     "variable changes"),
	FB_OPTION_STRING(struct settings, forest, 0, "forest", "FILE", NULL, NULL,
			 "with --crossings: what variables change, as data of a forest plot"),
	FLAG(asked, 0, "asked", "what was asked of NCCL, and what ran"),
	FLAG(flags, 0, "flags", "what the flags of rows mean, their usual causes and remedies"),
	FLAG(contention, 0, "contention", "what communication takes from computing, of program "
	     "contention: multiprocessors, cache, memory, the link to the host"),
	FLAG(plot, 0, "plot", "gnuplot commands and data, of one section"),
	FB_OPTION_U64(struct settings, section, 0, "section", "N", "1", 1, 1000000,
		      "which section --plot is of"),
	FLAG(sections, 0, "sections", "how many sections there are"),
	FB_OPTION_END,
};

static const char description[] =
	"summary [option...] DIR|FILE...\n\n"
	"Reads the result files of folders, or single files, joins rows of several launches, "
	"and shows for each operation and size the best of the project's algorithms, its "
	"time, how near the bound it is, the library's own time, and the ratio of the two. With "
	"--axis tables run over other keys as well, in the order of their numbers: bucket, tokens, "
	"prefill,decode, NCCL_ALGO. With --chosen it says in a line for each operation how engine "
	"auto did: the geometric mean of the best library's time by auto's, the least with its "
	"cell, and auto's time by the best own one (regret).\n\n"
	"Exit code: 0 good; 2 a row had wrong data; 3 the input cannot be used; 5 a row ended "
	"in a fault. --chosen, --csv, --plot, --sections, --crossings, --asked, --flags and "
	"--contention ignore bad rows.";

/* Prints who is slow in each matrix of pairs. */
static void print_slow(const struct fb_report *report)
{
	size_t count = 0;

	for (size_t i = 1; i == 1 || i <= count; i++) {
		struct fb_matrix matrix = {0};
		char slow[FB_MATRIX_SLOW_CHARS] = "";

		fb_matrix_read_rows(&matrix, report->cells, i, &count);
		if (count)
			fb_matrix_name_slow(&matrix, report->results, slow, sizeof(slow));
		if (*slow)
			fprintf(report->out, "SLOW in %s:\n  %s\n", matrix.title, slow);
	}
}

static void print_late(void *arg, const char *sentence)
{
	fprintf(arg, "LATE in %s\n", sentence);
}

/* Prints who lags, by the times of single ranks beside each path, where there are such. */
static int print_laggards(const struct fb_report *report, char *const *paths, size_t count)
{
	int err = FB_OK;

	for (size_t i = 0; i < count && !err; i++) {
		struct fb_rank_times times = {.groups = 0};
		char *file = fb_beside(paths[i], "ranks.csv");

		if (access(file, R_OK) == 0)
			err = fb_rank_times_read(&times, file);
		if (!err && times.groups)
			fb_laggards(&times, report->results, print_late, report->out);
	}
	return err;
}

static int print_crossings(const struct fb_report *report, const char *path)
{
	FILE *forest = path ? fopen(path, "w") : NULL;

	if (path && !forest) {
		fb_error(FB_EINPUT, "--forest %s: %s", path, strerror(errno));
		return FB_EXIT_INPUT;
	}
	fb_summary_crossings(report);
	fb_summary_effects(report, forest);
	if (forest && fclose(forest))
		return fb_exit_code(fb_error(FB_EIO, "cannot write '%s'", path));
	return FB_EXIT_OK;
}

static int print_any(const struct fb_report *report, const struct settings *settings)
{
	size_t sections = report->cells->nsections;

	if (settings->sections) {
		fprintf(report->out, "%zu\n", sections);
	} else if (settings->plot && settings->section > sections) {
		fb_error(FB_EINPUT, "--section %llu: there are %zu sections",
			 (unsigned long long)settings->section, sections);
		return FB_EXIT_INPUT;
	} else if (settings->plot) {
		fb_report_plot(report, &report->cells->section[settings->section - 1]);
	} else if (settings->crossings) {
		return print_crossings(report, settings->forest);
	} else if (settings->asked) {
		fb_summary_asked(report);
	} else if (settings->flags) {
		fb_summary_flags(report);
	} else if (settings->contention) {
		fb_summary_contention(report);
	} else if (settings->csv) {
		fb_report_csv(report);
	} else if (settings->chosen) {
		fb_report_auto(report);
	} else {
		fb_report_text(report);
	}
	return FB_EXIT_OK;
}

/* Tables are folded, and followed by a line for each slow part, which scripts look for. */
static int print(struct fb_report *report, const struct settings *settings, char *const *paths,
		 size_t count)
{
	bool other = settings->chosen || settings->crossings || settings->asked ||
		     settings->flags || settings->contention;
	struct fb_tally tally = fb_report_tally(report->cells);
	struct fb_fold fold;
	int err, code;

	if (settings->sections || settings->plot || settings->csv)
		return print_any(report, settings);
	err = fb_fold_open(&fold);
	if (err)
		return fb_exit_code(err);
	report->out = fold.stream;
	code = print_any(report, settings);
	report->out = stdout;
	err = fb_fold_close(&fold, stdout);
	if (err || code || other)
		return err ? fb_exit_code(err) : code;
	print_slow(report);
	if (print_laggards(report, paths, count) || tally.status[FB_STATUS_FAULT])
		return FB_EXIT_FAULT;
	return tally.status[FB_STATUS_WRONG] ? FB_EXIT_WRONG : FB_EXIT_OK;
}

static int check_columns(const char *list, const struct fb_results *results)
{
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		char name[FB_AXIS_CHARS];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
		if (fb_results_column(results, name) < 0)
			return fb_error(FB_EINPUT, "--columns '%s': no column of that name", name);
	}
	return FB_OK;
}

static int run(void *values, char **paths, size_t count)
{
	const struct settings *settings = values;
	struct fb_results results = {0};
	struct fb_cells cells = {0};
	struct fb_axes axes;
	struct fb_report report = {
		.cells = &cells,
		.results = &results,
		.metric = (enum fb_metric)settings->metric,
		.all = settings->all,
		.columns = settings->columns,
		.out = stdout,
	};
	int err = FB_OK;

	if (settings->forest && !settings->crossings) {
		fb_option_reject(stderr, "forest", settings->forest, "a file, with --crossings");
		return FB_EXIT_INPUT;
	}
	for (size_t i = 0; i < count && !err; i++)
		err = fb_results_read(&results, paths[i]);
	if (!err)
		err = fb_axes_parse(&axes, settings->axis, &results);
	if (!err)
		err = check_columns(settings->columns, &results);
	if (err)
		return fb_exit_code(err);
	fb_cells_make(&cells, &results, &axes);
	return print(&report, settings, paths, count);
}

static const struct fb_tool tool = {
	.name = "summary",
	.summary = "what a results folder says",
	.description = description,
	.table = table,
	.input = FB_TOOL_RESULTS,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
