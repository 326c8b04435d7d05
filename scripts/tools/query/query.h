/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of several files as one table of texts: choosing, grouping, sorting, printing. Private to
 * the query tool.
 */
#ifndef FB_SCRIPTS_TOOLS_QUERY_QUERY_H
#define FB_SCRIPTS_TOOLS_QUERY_QUERY_H

#include "scripts/tools/lib/sheet.h"

#include <stdbool.h>
#include <stdio.h>

struct fb_query_table {
	const char **column; /* [ncolumns] names */
	bool *number;	     /* [ncolumns] whether it holds numbers */
	size_t ncolumns;
	const char ***row; /* [nrows][ncolumns], never NULL */
	size_t nrows;
	size_t *axis; /* [axes] columns that come first */
	size_t axes;
};

/*
 * All rows of the result files. Columns are the fixed ones, then those of programs, then each
 * key that occurs in `variant` as a column of its own, unless its name is taken.
 */
void fb_query_load(struct fb_query_table *table, const struct fb_sheets *sheets);

/* Index of a column; FB_EINPUT (printed, with names that are close) where there is none. */
int fb_query_find(const struct fb_query_table *table, const char *name, size_t *column);

/* A comma-separated list of columns. Returns 0 or FB_EINPUT (printed). */
int fb_query_list(const struct fb_query_table *table, const char *names, size_t **list,
		  size_t *count);

/* Whether an argument has the form COLUMN=..., COLUMN!=..., COLUMN<... and the like. */
bool fb_query_is_filter(const char *argument);

/* Moves such arguments behind all others, in their order. Returns how many others there are. */
size_t fb_query_split(char **words, size_t count);

/*
 * Keeps the rows that match: = and != take a comma-separated list of texts (with * and ?),
 * numbers, sizes ("64K") or ranges ("1K:1M", either end may be missing); <, <=, > and >= take a
 * number. Returns 0 or FB_EINPUT (printed).
 */
int fb_query_filter(struct fb_query_table *table, const char *argument);

/* A number or a size ("1.5", "64K"); false where it is none. */
bool fb_query_number(const char *text, double *value);

/* Sorts by a column (fb_axis_compare); `descending` for the greatest first. Stable. */
void fb_query_sort(struct fb_query_table *table, size_t column, bool descending);

enum fb_query_aggregate {
	FB_QUERY_MEDIAN,
	FB_QUERY_MIN,
	FB_QUERY_MAX,
	FB_QUERY_GEOMEAN,
};

/*
 * Makes one row of all rows that are equal in keys[0 .. nkeys): the keys, `rows` (how many had a
 * usable status, ok or few) and the aggregate of each of values[0 .. nvalues) over these, empty
 * where none has a number. Replaces the table by the smaller one; *left_out is how many rows had
 * another status.
 */
void fb_query_group(struct fb_query_table *table, const size_t *keys, size_t nkeys,
		    const size_t *values, size_t nvalues, enum fb_query_aggregate aggregate,
		    size_t *left_out);

/*
 * Adds the column `share`: the least median_us of the rows that are equal in keys[0 .. nkeys),
 * divided by that of the row; 1 is the fastest. Empty in rows with a status other than ok and few.
 */
void fb_query_share(struct fb_query_table *table, const size_t *keys, size_t nkeys);

/* Columns worth showing where none were asked for: axes, keys that differ, times, own columns. */
void fb_query_usual(const struct fb_query_table *table, size_t **list, size_t *count);

/* Prints the columns aligned, or as CSV. */
void fb_query_print(const struct fb_query_table *table, const size_t *list, size_t count, bool csv,
		    FILE *out);

#endif
