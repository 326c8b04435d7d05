/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import: turns the output of other benchmarks into result files, so that it can be compared,
 * plotted and merged like the suite's own results. docs/import.md describes each format.
 *
 * All files are read before anything is written. Otherwise an error in the last file would leave
 * half of the import behind, and a second try would add the same data as further launches.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "common/record/schema.h"
#include "common/record/variant.h"
#include "scripts/tools/import/import.h"
#include "scripts/tools/lib/tool.h"

#include <csv.h>
#include <string.h>

struct settings {
	const char *csv, *run, *format, *operation, *tag;
	uint64_t ranks, nodes, bytes;
	int launch_index;
};

#define STRING(field, short_, name, placeholder, help)                                             \
	FB_OPTION_STRING(struct settings, field, short_, name, placeholder, NULL, NULL, help)
#define U64(field, name, help)                                                                     \
	FB_OPTION_U64(struct settings, field, 0, name, "N", NULL, 0, UINT64_C(1000000000), help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to read"),
	STRING(format, 'f', "format", "NAME", "do not detect the format (list below)"),
	STRING(operation, 0, "operation", "NAME",
	       "what nccl-tests before 2.17 ran, which its text does not say"),
	U64(ranks, "ranks", "ranks that took part, where the files do not say"),
	U64(nodes, "nodes", "hosts that they ran on, where the files do not say"),
	FB_OPTION_U64(struct settings, bytes, 0, "bytes", "SIZE", NULL, 0, UINT64_C(1) << 50,
		      "buffer size of nvbandwidth; by default that of its version"),
	FB_OPTION_STRING(struct settings, tag, 0, "tag", "KEYS", NULL, fb_variant_check,
			 "keys that the files do not say, as k=v;k=v, for the column `variant`"),
	FB_OPTION_GROUP("What to write"),
	STRING(csv, 'c', "csv", "DIR", "folder of the result files; rows are added to those there"),
	STRING(run, 0, "run", "NAME", "name of the study; by default the folder's"),
	FB_OPTION_INT(struct settings, launch_index, 0, "launch-index", "N", "-1", -1, 1000000,
		      "number of the first launch; -1: behind those that are there"),
	FB_OPTION_END,
};

static const char description[] =
	"import --csv DIR FILE...\n\n"
	"Turns output of other benchmarks into result files: one PROGRAM.csv for each of their "
	"programs, and environment.csv. Each run of a program in a file is a launch. What a tool "
	"does not say stays empty; a mean over many iterations is one sample, and the row few.\n\n"
	"Exit code: 0 good; 3 a file cannot be used (nothing is written); 5 the folder could not "
	"be written.";

static void show_formats(void)
{
	printf("\nFormats:\n");
	for (size_t i = 0; i < fb_import_formats_count; i++)
		printf("  %-18s %s%s\n", fb_import_formats[i].name, fb_import_formats[i].what,
		       fb_import_formats[i].read ? "" : " (built without: no libjansson)");
}

static int check_format(const char *name)
{
	char names[256] = "";

	for (size_t i = 0; i < fb_import_formats_count; i++) {
		size_t used = strlen(names);

		if (!name || !strcmp(name, fb_import_formats[i].name))
			return FB_OK;
		snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
			 fb_import_formats[i].name);
	}
	return fb_option_reject(stderr, "format", name, names);
}

/* The folder's last part; that of "." and the like has no name. */
static const char *name_of(const char *folder, char *buf, size_t n)
{
	size_t end = strlen(folder), start;

	while (end > 1 && folder[end - 1] == '/')
		end--;
	for (start = end; start > 0 && folder[start - 1] != '/';)
		start--;
	for (; start < end && strchr(FB_CSV_SIGNS, folder[start]); start++)
		;
	snprintf(buf, n, "%.*s", (int)(end - start), folder + start);
	return *buf && *buf != '.' && *buf != '/' ? buf : "import";
}

static int import_files(const struct settings *settings, char *const *paths, size_t count)
{
	struct fb_import import = {
		.folder = settings->csv,
		.hints =
			{
				.operation = settings->operation,
				.tags = settings->tag,
				.ranks = settings->ranks,
				.nodes = settings->nodes,
				.bytes = settings->bytes,
			},
	};
	bool numbered = settings->launch_index >= 0;
	char name[128];
	int err = FB_OK;

	if (settings->run && (!*settings->run || strchr(FB_CSV_SIGNS, *settings->run)))
		return fb_exit_code(fb_option_reject(stderr, "run", settings->run,
						     "a name that does not begin with = + - or @"));
	for (size_t i = 0; i < count && !err; i++)
		err = fb_import_file(&import, paths[i], settings->format);
	if (!err)
		err = fb_import_write(&import, settings->csv,
				      settings->run ? settings->run
						    : name_of(settings->csv, name, sizeof(name)),
				      numbered, numbered ? (uint64_t)settings->launch_index : 0);
	fb_import_free(&import);
	return fb_exit_code(err);
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;

	if (check_format(settings->format))
		return FB_EXIT_INPUT;
	if (!settings->csv) {
		fb_error_print("no --csv DIR: expected the folder to write to");
		return FB_EXIT_INPUT;
	}
	return import_files(settings, words, count);
}

static const struct fb_tool tool = {
	.name = "import",
	.summary = "other benchmarks' output as result files",
	.description = description,
	.table = table,
	.more_help = show_formats,
	.input = "files",
	.run = run,
};

FB_TOOL_MAIN(struct settings)
