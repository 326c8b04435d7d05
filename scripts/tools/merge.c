/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * merge: joins results of several folders, above all of the parts of a job array, into one.
 *
 * A launch is the unit of replication, so the worst that merging could do is to make two launches
 * out of one copied twice, or one out of two. Hence it drops only rows that are the same in every
 * column, and refuses rows that have one key and launch but differ, unless an option says that they
 * are different launches.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/merge/merge.h"

#include <csv.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	const char *csv;
	bool renumber;
};

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to write"),
	FB_OPTION_STRING(struct settings, csv, 'c', "csv", "DIR", NULL, NULL,
			 "the joined folder; it must not exist yet, or be empty"),
	FB_OPTION_FLAG(struct settings, renumber, 0, "renumber",
		       "a launch that contradicts another path's of the same number is another "
		       "launch and gets the next free number"),
	FB_OPTION_END,
};

static const char description[] =
	"merge --csv DIR DIR|FILE...\n\n"
	"Joins result folders, or single files, of one or of several programs. Rows of a program "
	"go to one file, with the further columns of all; rows that are there twice are kept "
	"once; environments and the launches.csv of sweeps are joined such that each fact and "
	"each mark can be told which launch it belongs to (docs/csv.md). The "
	"result is held to the schema before it gets its name. Launches that were started with "
	"the same --seed and --launch-index are joined with a warning, because their rows have the "
	"same order.\n\n"
	"Exit code: 0 good; 3 the input cannot be used; 5 the folder could not be written. "
	"Unless it is 0, nothing is left.";

/* Said before much is read; rename(2) is what really keeps a folder from being written over. */
static int check_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int err = FB_OK;

	if (!dir)
		return errno == ENOENT
			       ? FB_OK
			       : fb_error(FB_EINPUT, "--csv %s: %s", folder, strerror(errno));
	while (!err && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = fb_error(FB_EINPUT,
				       "--csv %s: expected a new folder, or an empty "
				       "one",
				       folder);
	closedir(dir);
	return err;
}

static int run(void *values, char **paths, size_t count)
{
	const struct settings *settings = values;
	struct fb_sheets sheets = {.sheet = NULL};
	struct fb_merge merge = {.sheets = &sheets, .paths = paths, .nsources = count};
	int err;

	if (!settings->csv)
		err = fb_error(FB_EINPUT, "no --csv DIR: expected the folder to write to");
	else
		err = check_folder(settings->csv);
	if (!err)
		err = fb_sheets_read(&sheets, paths, count);
	if (!err)
		err = fb_merge_collect(&merge, settings->renumber);
	if (!err && !merge.rows.count)
		err = fb_error(FB_EINPUT, "%s: no result file with rows", paths[0]);
	if (!err)
		err = fb_merge_write(&merge, settings->csv);
	return fb_exit_code(err);
}

static const struct fb_tool tool = {
	.name = "merge",
	.summary = "joins results of several folders",
	.description = description,
	.table = table,
	.input = FB_TOOL_RESULTS,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
