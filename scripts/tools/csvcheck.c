/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csvcheck: checks result files against the schema; common/record/csv_check.h has the rules.
 *
 * It uses the project's own reader and not a CSV library, so that the programs, --resume and
 * this tool agree on what a file says.
 */
#include "common/base/error.h"
#include "common/record/csv_check.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"

#include <inttypes.h>
#include <string.h>

static int usage(FILE *out, int code)
{
	fputs("Usage: csvcheck DIR|FILE...\n"
	      "Checks result files (PROGRAM.csv, samples.csv, ranks.csv, environment.csv,\n"
	      "launches.csv), of a folder all, against the schema of docs/csv.md and prints what\n"
	      "is wrong as FILE:LINE: COLUMN: MESSAGE. Warnings break no rule, but make rows\n"
	      "doubtful: a launch that began and did not end, a time below its bound.\n"
	      "Exit code: 0 all good, 2 a rule is broken, 3 a file is unreadable or of no kind.\n",
	      out);
	return code;
}

/* Adds to files[0] where the file could be read, to files[1] where not. */
static void check_file(struct fb_csv_check *check, const char *path, int files[2])
{
	int err = fb_csv_check_file(check, path);

	if (err != FB_EUNSUPPORTED)
		files[err != FB_OK]++;
}

/* The files of a folder, which may have CSV files of other kinds beside them. */
static void check_folder(struct fb_csv_check *check, const char *path, int files[2])
{
	struct fb_names names;
	int before = files[0] + files[1];

	check->found = true;
	files[1] += fb_folder_names(path, ".csv", &names) != FB_OK;
	for (size_t i = 0; i < names.count; i++)
		check_file(check, fb_new_text("%s/%s", path, names.name[i]), files);
	check->found = false;
	if (files[0] + files[1] == before)
		files[1] += fb_error(1, "%s: no result file in this folder", path);
}

int main(int argc, char **argv)
{
	struct fb_csv_check check = {.out = stdout};
	int files[2] = {0};

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout, FB_EXIT_OK);
	if (argc < 2)
		return usage(stderr, FB_EXIT_INPUT);
	for (int i = 1; i < argc; i++)
		if (argv[i][0] == '-')
			return fb_exit_code(fb_error(
				FB_EINPUT, "unknown option %s: csvcheck takes folders and files "
				"only, as --help says", argv[i]));
	for (int i = 1; i < argc; i++)
		if (fb_is_folder(argv[i]))
			check_folder(&check, argv[i], files);
		else
			check_file(&check, argv[i], files);
	printf("%d files, %" PRIu64 " rows, %" PRIu64 " problems, %" PRIu64 " warnings\n",
	       files[0], check.rows, check.problems, check.warnings);
	fb_memory_end();
	if (files[1])
		return FB_EXIT_INPUT;
	return check.problems ? FB_EXIT_WRONG : FB_EXIT_OK;
}
