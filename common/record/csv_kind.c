/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of each kind of CSV file; see csv_kind.h. */
#include "common/record/csv_kind.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Longer ones, and those with an exponent, are converted to see how great they are. */
enum { PLAIN_DIGITS = 24 };

/* The files beside the result files: plain tables without keys. */
static const struct fb_column samples_columns[] = {
	{.name = "run", .type = FB_COLUMN_TEXT},
	{.name = "launch_index", .type = FB_COLUMN_U64},
	{.name = "program", .type = FB_COLUMN_TEXT},
	{.name = "row", .type = FB_COLUMN_U64},
	{.name = "repetition", .type = FB_COLUMN_U64},
	{.name = "time_us", .type = FB_COLUMN_TIME_US},
};
static const struct fb_column ranks_columns[] = {
	{.name = "run", .type = FB_COLUMN_TEXT},
	{.name = "launch_index", .type = FB_COLUMN_U64},
	{.name = "program", .type = FB_COLUMN_TEXT},
	{.name = "row", .type = FB_COLUMN_U64},
	{.name = "repetition", .type = FB_COLUMN_U64},
	{.name = "rank", .type = FB_COLUMN_U64},
	{.name = "begin_us", .type = FB_COLUMN_TIME_US}, /* empty: no common clock */
	{.name = "end_us", .type = FB_COLUMN_TIME_US},
};
static const struct fb_column environment_columns[] = {
	{.name = "scope", .type = FB_COLUMN_TEXT}, {.name = "host", .type = FB_COLUMN_TEXT},
	{.name = "rank", .type = FB_COLUMN_TEXT},  {.name = "key", .type = FB_COLUMN_TEXT},
	{.name = "value", .type = FB_COLUMN_TEXT},
};

/* Written by scripts/sweep; docs/studies.md. The last column is there where merge wrote it. */
static const struct fb_column launches_columns[] = {
	{.name = "index", .type = FB_COLUMN_U64},
	{.name = "launch_index", .type = FB_COLUMN_U64},
	{.name = "side", .type = FB_COLUMN_TEXT},
	{.name = "attempt", .type = FB_COLUMN_U64},
	{.name = "ranks", .type = FB_COLUMN_U64},
	{.name = "nodes", .type = FB_COLUMN_TEXT}, /* empty: as the launcher placed them */
	{.name = "status", .type = FB_COLUMN_TEXT},
	{.name = "exit", .type = FB_COLUMN_U64},
	{.name = "begin_utc", .type = FB_COLUMN_TEXT},
	{.name = "end_utc", .type = FB_COLUMN_TEXT},
	{.name = "seconds", .type = FB_COLUMN_F64},
	{.name = "canary_before_us", .type = FB_COLUMN_TIME_US},
	{.name = "canary_after_us", .type = FB_COLUMN_TIME_US},
	{.name = "flags", .type = FB_COLUMN_TEXT},
	{.name = "variant", .type = FB_COLUMN_TEXT},
	{.name = "run", .type = FB_COLUMN_TEXT},
};

static const struct {
	const struct fb_column *columns;
	size_t count;
} kinds[] = {
	[FB_CSV_OTHER] = {NULL, 0},
	[FB_CSV_SAMPLES] = {samples_columns, COUNT(samples_columns)},
	[FB_CSV_RANKS] = {ranks_columns, COUNT(ranks_columns)},
	[FB_CSV_FACTS] = {environment_columns, COUNT(environment_columns)},
	[FB_CSV_LAUNCHES] = {launches_columns, COUNT(launches_columns)},
};

const struct fb_column *fb_csv_columns(enum fb_csv_kind kind, size_t *count)
{
	*count = kind == FB_CSV_RESULTS ? fb_columns_count : kinds[kind].count;
	return kind == FB_CSV_RESULTS ? fb_columns : kinds[kind].columns;
}

static bool has(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

enum fb_csv_kind fb_csv_kind(char *const *names, size_t n)
{
	static const enum fb_csv_kind fixed[] = {FB_CSV_SAMPLES, FB_CSV_RANKS, FB_CSV_FACTS};

	for (size_t k = 0; k < COUNT(fixed); k++) {
		size_t i = 0;

		while (i < n && i < kinds[fixed[k]].count &&
		       !strcmp(names[i], kinds[fixed[k]].columns[i].name))
			i++;
		if (i == n && i == kinds[fixed[k]].count)
			return fixed[k];
	}
	if (n >= 2 && !strcmp(names[0], "schema") && !strcmp(names[1], "run"))
		return FB_CSV_RESULTS;
	return has(names, n, "launch_index") && has(names, n, "flags") ? FB_CSV_LAUNCHES
								       : FB_CSV_OTHER;
}

static const struct fb_column own = {.name = "", .type = FB_COLUMN_F64};

const struct fb_column *fb_csv_column(enum fb_csv_kind kind, const char *name)
{
	size_t count;
	const struct fb_column *columns = fb_csv_columns(kind, &count);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(columns[i].name, name))
			return &columns[i];
	return kind == FB_CSV_RESULTS ? &own : NULL;
}

bool fb_csv_field_good(const struct fb_column *column, const char *text)
{
	bool whole = column->type == FB_COLUMN_U64 || column->type == FB_COLUMN_I64;
	const char *at = text;
	bool plain;

	if (column->type == FB_COLUMN_TEXT || (!*text && !whole))
		return true;
	at += *at == '-' && column->type != FB_COLUMN_U64 && column->type != FB_COLUMN_TIME_US;
	if (!isdigit((unsigned char)*at))
		return false;
	at += strspn(at, "0123456789");
	if (!whole && *at == '.')
		at += 1 + strspn(at + 1, "0123456789");
	plain = !*at && at - text < PLAIN_DIGITS;
	if (!whole && (*at == 'e' || *at == 'E')) {
		at += 1 + (at[1] == '+' || at[1] == '-');
		if (!isdigit((unsigned char)*at))
			return false;
		at += strspn(at, "0123456789");
	}
	return !*at && (plain || fabs(strtod(text, NULL)) <= 1e30);
}

double fb_csv_number(const char *text)
{
	return *text && fb_csv_field_good(&own, text) ? strtod(text, NULL) : (double)NAN;
}
