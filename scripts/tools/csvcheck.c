/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csvcheck: holds result files to the schema; see common/record/csv_check.h for the rules.
 *
 * It uses the project's own reader and not a CSV library, so that the programs, --resume and
 * this tool agree on what a file says.
 */
#include "common/base/error.h"
#include "common/record/csv_check.h"

#include <inttypes.h>
#include <string.h>

static int usage(FILE *out, int code)
{
	fputs("Usage: csvcheck FILE...\n"
	      "Checks result files (PROGRAM.csv, samples.csv, ranks.csv, environment.csv,\n"
	      "launches.csv) against the schema of docs/csv.md and prints what is wrong as\n"
	      "FILE:LINE: COLUMN: MESSAGE. Warnings break no rule, but make rows doubtful: a\n"
	      "launch that environment.csv says began and did not end, a time below its bound.\n"
	      "Exit code: 0 all good, 2 a rule is broken, 3 a file is unreadable or of no kind.\n",
	      out);
	return code;
}

int main(int argc, char **argv)
{
	struct fb_csv_check check = {.out = stdout};
	int unusable = 0;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout, FB_EXIT_OK);
	if (argc < 2)
		return usage(stderr, FB_EXIT_INPUT);
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-') {
			fb_error(FB_EINPUT,
				 "unknown option %s: csvcheck takes files only, as --help "
				 "says",
				 argv[i]);
			return FB_EXIT_INPUT;
		}
	}
	for (int i = 1; i < argc; i++)
		unusable += fb_csv_check_file(&check, argv[i]) != FB_OK;
	printf("%d files, %" PRIu64 " rows, %" PRIu64 " problems, %" PRIu64 " warnings\n",
	       argc - 1 - unusable, check.rows, check.problems, check.warnings);
	if (unusable)
		return FB_EXIT_INPUT;
	return check.problems ? FB_EXIT_WRONG : FB_EXIT_OK;
}
