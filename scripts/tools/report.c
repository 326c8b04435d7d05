/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report: one HTML page about a run, or about two. It needs no other file and no network, so it can
 * be mailed, archived and opened anywhere.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/report/page.h"

#include <csv.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	const char *output, *verdicts, *axis;
};

#define TEXT(field, short_, name, placeholder, help)                                               \
	FB_OPTION_STRING(struct settings, field, short_, name, placeholder, NULL, NULL, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to write"),
	TEXT(output, 'o', "output", "FILE", "the page, instead of standard output"),
	TEXT(axis, 'x', "axis", "KEY[,KEY]",
	     "what tables run over beside sizes: any column, key or variable"),
	TEXT(verdicts, 0, "verdicts", "FILE", "what `compare --csv` wrote about the two runs"),
	FB_OPTION_END,
};

static const char description[] =
	"report [option...] RUN [NEWER] [FIGURE.svg...]\n\n"
	"Writes one HTML page about a run (a folder, or a result file): summary, findings, charts, "
	"all rows to be sorted and filtered, and the environment. With two runs the page is about "
	"the second one, compared with the first. Names that end in .svg are figures that become "
	"part of the page. scripts/report finds those, and the verdicts, by itself.\n\n"
	"Exit code: 0 good; 3 the input cannot be used.";

static bool is_figure(const char *word)
{
	size_t n = strlen(word);

	return n > 4 && !strcmp(word + n - 4, ".svg");
}

/* Writes the whole page to memory first, so that an error leaves no incomplete page. */
static int write_page(const struct fb_page *page, const char *output)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes), *file;
	int err;

	err = fb_page_write(page, memory);
	if (fclose(memory) && !err)
		err = fb_error(FB_ENOMEM, "out of memory for the page");
	file = err ? NULL : output ? fopen(output, "w") : stdout;
	if (!err && !file)
		err = fb_error(FB_EINPUT, "--output %s: %s", output, strerror(errno));
	if (!err && (fwrite(text, 1, bytes, file) != bytes || fflush(file)))
		err = fb_error(FB_EIO, "%s: %s", output ? output : "standard output",
			       strerror(errno));
	if (file && file != stdout && fclose(file) && !err)
		err = fb_error(FB_EIO, "%s: %s", output, strerror(errno));
	free(text);
	return err;
}

/* words[0 .. runs) are runs, the base first, the others figures. */
static int report(const struct settings *settings, char *const *words, size_t runs, size_t count)
{
	struct fb_page_set sets[2] = {{.npaths = 0}, {.npaths = 0}};
	struct fb_sheet verdicts = {0};
	struct fb_page page = {
		.set = &sets[runs - 1],
		.base = runs == 2 ? &sets[0] : NULL,
		.verdicts = settings->verdicts ? &verdicts : NULL,
		.figure = words + runs,
		.nfigures = count - runs,
	};
	int err = FB_OK;

	for (size_t i = 0; i < runs && !err; i++)
		err = fb_page_set_read(&sets[i], &words[i], 1, settings->axis);
	if (!err && settings->verdicts)
		err = fb_sheet_read_any(&verdicts, settings->verdicts);
	if (!err)
		err = write_page(&page, settings->output);
	return fb_exit_code(err);
}

static int refuse(const char *what)
{
	fb_error(FB_EINPUT, "%s; see --help", what);
	return FB_EXIT_INPUT;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	size_t runs = 0;

	while (runs < count && !is_figure(words[runs]))
		runs++;
	for (size_t i = runs; i < count; i++)
		if (!is_figure(words[i]))
			return refuse("runs come before figures");
	if (runs < 1 || runs > 2)
		return refuse(runs ? "more than two runs" : "no input: expected a run or two");
	if (settings->verdicts && runs == 1)
		return refuse("--verdicts needs two runs");
	return report(settings, words, runs, count);
}

static const struct fb_tool tool = {
	.name = "report",
	.summary = "one HTML page about a run",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV ", jansson " JANSSON_VERSION,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
