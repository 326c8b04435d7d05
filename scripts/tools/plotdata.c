/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plotdata: joins and reduces files to what one figure of plots/ draws, as commands for gnuplot.
 *
 * It is separate from `summary --plot`, because here a figure may span several numbers of ranks, or
 * show files without result rows.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/plot/plot.h"

#include <csv.h>
#include <jansson.h>
#include <string.h>

struct settings {
	uint64_t figure, bytes;
	const char *axis, *columns;
	bool count;
};

#define FLAG(field, short_, name, help) FB_OPTION_FLAG(struct settings, field, short_, name, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("Which figure"),
	FB_OPTION_U64(struct settings, figure, 'f', "figure", "N", "1", 1, 1000000,
		      "of several that the input holds, the N-th"),
	FLAG(count, 0, "count", "how many figures the input holds"),
	FB_OPTION_U64(struct settings, bytes, 'b', "bytes", "SIZE", "0", 0, UINT64_C(1) << 50,
		      "distribution: the size shown (0: the smallest)"),
	FB_OPTION_STRING(struct settings, axis, 'x', "axis", "KEY[,KEY]", NULL, NULL,
			 "axis, heat: what the figure runs over: any column, key or variable"),
	FB_OPTION_STRING(struct settings, columns, 0, "columns", "NAME", NULL, NULL,
			 "axis: the column of the second panel (exposed_us, else busbw_GBps)"),
	FB_OPTION_END,
};

static const struct kind {
	const char *name;
	int (*put)(const struct fb_plot *plot);
	bool rows; /* made of result rows */
} kinds[] = {
	{"axis", fb_plot_axis, true},
	{"heat", fb_plot_heat, true},
	{"stack", fb_plot_stack, true},
	{"map", fb_plot_map, true},
	{"scaling", fb_plot_scaling, true},
	{"matrix", fb_plot_matrix, false},
	{"distribution", fb_plot_distribution, false},
	{"skew", fb_plot_skew, true},
	{"ranks", fb_plot_ranks, false},
	{"timeline", fb_plot_timeline, false},
	{"forest", fb_plot_forest, false},
	{"history", fb_plot_history, false},
};

enum { KINDS = FB_COUNT_OF(kinds) };

static const char description[] =
	"plotdata KIND [option...] DIR|FILE...\n\n"
	"Writes what one figure of a kind shows as commands for gnuplot's load. Kinds of result "
	"rows (folders or files of any number of launches and ranks): map, scaling, matrix, skew, "
	"and with --axis KEY axis (curves over a key), heat (two keys) and stack (steps). "
	"distribution takes a folder with samples.csv; ranks a ranks.csv; timeline spans as CSV or "
	"a Chrome trace; forest and history the tables of `compare`; matrix also a text written by "
	"nvbandwidth. docs/plots.md says what each of them holds.\n\n"
	"Exit code: 0 good; 3 the input cannot be used.";

static int put(const struct kind *kind, const struct settings *settings, char *const *paths,
	       size_t count)
{
	struct fb_results results = {0};
	struct fb_cells cells = {0};
	struct fb_axes axes;
	struct fb_plot plot = {
		.results = &results,
		.cells = &cells,
		.path = paths,
		.npaths = count,
		.bytes = settings->bytes,
		.columns = settings->columns,
		.figure = settings->figure,
		.count = settings->count,
		.out = stdout,
	};
	int err = FB_OK;

	for (size_t i = 0; i < count && !err && kind->rows; i++)
		err = fb_results_read(&results, paths[i]);
	if (!err)
		err = fb_axes_parse(&axes, settings->axis, &results);
	if (!err) {
		fb_cells_make(&cells, &results, &axes);
		err = kind->put(&plot);
	}
	return fb_exit_code(err);
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static void say_kinds(FILE *out)
{
	for (size_t i = 0; i < KINDS; i++)
		fprintf(out, "%s%s", i ? ", " : "", kinds[i].name);
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;

	if (count < 2 || !find_kind(words[0])) {
		fprintf(stderr, "fabricbench: plotdata %s: expected a kind (",
			count ? words[0] : "");
		say_kinds(stderr);
		fputs(") and files\n", stderr);
		return FB_EXIT_INPUT;
	}
	return put(find_kind(words[0]), settings, words + 1, count - 1);
}

static const struct fb_tool tool = {
	.name = "plotdata",
	.summary = "data for one figure of plots/",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
