/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * query: rows of result files that match, as a table for people or as CSV for programs; and one
 * row of many, by median, least, greatest or geometric mean. It changes no number and compares
 * nothing: that is the business of summary and compare.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/query/query.h"

#include <csv.h>

struct settings {
	const char *axis, *columns, *sort, *group, *share;
	int aggregate;
	bool csv;
};

static const char *const aggregates[] = {"median", "min", "max", "geomean", NULL};

static const struct fb_option table_of_options[] = {
	FB_OPTION_GROUP("What to show"),
	FB_OPTION_STRING(struct settings, axis, 'x', "axis", "KEY[,KEY]", NULL, NULL,
			 "first columns and order of the rows: any column, key or variable"),
	FB_OPTION_STRING(struct settings, columns, 0, "columns", "LIST", NULL, NULL,
			 "columns, in this order; by default keys that differ, the time and the "
			 "program's own columns that differ"),
	FB_OPTION_STRING(struct settings, sort, 's', "sort", "COLUMN", NULL, NULL,
			 "order of the rows; -COLUMN for the greatest first"),
	FB_OPTION_STRING(struct settings, group, 'g', "group", "LIST", NULL, NULL,
			 "one row for all that are equal in these columns"),
	FB_OPTION_STRING(struct settings, share, 0, "share", "LIST", NULL, NULL,
			 "a column share: the least median_us of the rows that are equal in these "
			 "columns, by that of the row"),
	FB_OPTION_CHOICE(struct settings, aggregate, 'a', "aggregate", "median", aggregates,
			 "what --group shows of --columns (by default median_us,busbw_GBps)"),
	FB_OPTION_FLAG(struct settings, csv, 0, "csv", "CSV instead of a table"),
	FB_OPTION_END,
};

static const char description[] =
	"query DIR|FILE... [COLUMN=VALUE[,VALUE]...] [COLUMN>NUMBER]...\n\n"
	"Prints the rows of result files that match all conditions. = and != take texts (with * "
	"and ?), numbers, sizes as 64K, and ranges as 1K:1M; <, <=, > and >= take a number. Keys "
	"of the column variant can be named like columns. Groups are made of rows with status ok "
	"or few.\n\n"
	"Exit code: 0 good, also where no row matches; 3 the input cannot be used.";

static int show(struct fb_query_table *table, const struct settings *settings)
{
	size_t *list = NULL, count = 0, column;
	int err = FB_OK;

	if (settings->axis)
		err = fb_query_list(table, settings->axis, &list, &count);
	for (size_t i = count; i-- > 0 && !err;)
		fb_query_sort(table, list[i], false);
	table->axes = count;
	table->axis = list;
	list = NULL;
	if (!err && settings->sort) {
		bool descending = *settings->sort == '-';

		err = fb_query_find(table, settings->sort + (descending ? 1 : 0), &column);
		if (!err)
			fb_query_sort(table, column, descending);
	}
	if (!err && settings->group) {
		count = table->ncolumns;
		list = fb_new(count, sizeof(*list));
		for (size_t i = 0; i < count; i++)
			list[i] = i;
	} else if (!err && settings->columns) {
		err = fb_query_list(table, settings->columns, &list, &count);
	} else if (!err) {
		fb_query_usual(table, &list, &count);
	}
	if (!err)
		fb_query_print(table, list, count, settings->csv, stdout);
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = fb_error(FB_EIO, "cannot write to standard output");
	return err;
}

static int share(struct fb_query_table *table, const struct settings *settings)
{
	size_t *keys = NULL, count;
	int err = fb_query_list(table, settings->share, &keys, &count);

	if (!err)
		fb_query_share(table, keys, count);
	return err;
}

static int group(struct fb_query_table *table, const struct settings *settings)
{
	size_t *keys = NULL, *values = NULL, nkeys, nvalues, left_out = 0;
	int err = fb_query_list(table, settings->group, &keys, &nkeys);

	if (!err)
		err = fb_query_list(table,
				    settings->columns ? settings->columns : "median_us,busbw_GBps",
				    &values, &nvalues);
	for (size_t i = 0; !err && i < nvalues; i++)
		if (!table->number[values[i]])
			err = fb_option_reject(stderr, "columns", table->column[values[i]],
					       "columns of numbers with --group");
	if (!err)
		fb_query_group(table, keys, nkeys, values, nvalues,
			       (enum fb_query_aggregate)settings->aggregate, &left_out);
	if (!err && left_out)
		fb_warn("%zu rows with a status other than ok and few are left out", left_out);
	return err;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	struct fb_sheets sheets = {.sheet = NULL};
	struct fb_query_table table = {.nrows = 0};
	size_t paths = fb_query_split(words, count);
	int err;

	if (paths == 0)
		err = fb_error(FB_EINPUT, "no input: expected " FB_TOOL_RESULTS "; see --help");
	else
		err = fb_sheets_read(&sheets, words, paths);
	if (!err)
		fb_query_load(&table, &sheets);
	for (size_t i = paths; i < count && !err; i++)
		err = fb_query_filter(&table, words[i]);
	if (!err && settings->share)
		err = share(&table, settings);
	if (!err && settings->group)
		err = group(&table, settings);
	if (!err)
		err = show(&table, settings);
	return fb_exit_code(err);
}

static const struct fb_tool tool = {
	.name = "query",
	.summary = "rows of result files that match",
	.description = description,
	.table = table_of_options,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
