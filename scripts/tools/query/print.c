/* SPDX-License-Identifier: BSD-3-Clause */
/* The table on paper; see query.h. */
#include "common/record/csv.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/query/query.h"

#include <string.h>

/* Shown wherever there is a value, because a query without them answers nothing. */
static const char *const main_values[] = {"median_us", "busbw_GBps"};
/* Shown where they differ between rows. */
static const char *const further[] = {"status", "reason"};
/* Shown in any case. */
static const char *const always[] = {"program", "bytes"};

static bool differs(const struct fb_query_table *table, size_t column)
{
	for (size_t i = 1; i < table->nrows; i++)
		if (strcmp(table->row[i][column], table->row[0][column]))
			return true;
	return false;
}

static bool has_value(const struct fb_query_table *table, size_t column)
{
	for (size_t i = 0; i < table->nrows; i++)
		if (*table->row[i][column])
			return true;
	return false;
}

static bool is_axis(const struct fb_query_table *table, size_t column)
{
	for (size_t i = 0; i < table->axes; i++)
		if (table->axis[i] == column)
			return true;
	return false;
}

void fb_query_usual(const struct fb_query_table *table, size_t **list, size_t *count)
{
	size_t *found = fb_new(2 * table->ncolumns + 1, sizeof(*found)), n = 0;

	for (; n < table->axes; n++)
		found[n] = table->axis[n];
	for (size_t i = 0; i < table->ncolumns; i++) {
		const char *name = table->column[i];
		int fixed = fb_column_find(name);
		/* A program's own column; keys of its own are in `variant`. */
		bool own = fixed < 0 && table->number[i];
		bool key = fixed >= 0 && fb_columns[fixed].kind == FB_COLUMN_KEY;

		if (is_axis(table, i))
			continue;
		if (FB_AMONG(name, always) ||
		    (FB_AMONG(name, main_values) && has_value(table, i)) ||
		    ((key || own || FB_AMONG(name, further) || !strcmp(name, "launch_index")) &&
		     differs(table, i)))
			found[n++] = i;
	}
	*list = found;
	*count = n;
}

static void print_csv(const struct fb_query_table *table, const size_t *list, size_t count,
		      FILE *out)
{
	for (size_t c = 0; c < count; c++) {
		if (c)
			fputc(',', out);
		fb_csv_put_field(out, table->column[list[c]]);
	}
	fputc('\n', out);
	for (size_t i = 0; i < table->nrows; i++)
		for (size_t c = 0; c < count; c++) {
			fb_csv_put_field(out, table->row[i][list[c]]);
			fputc(c + 1 < count ? ',' : '\n', out);
		}
}

static int width_of(const struct fb_query_table *table, size_t column)
{
	size_t width = strlen(table->column[column]);

	for (size_t i = 0; i < table->nrows; i++)
		if (strlen(table->row[i][column]) > width)
			width = strlen(table->row[i][column]);
	return (int)width;
}

/* Numbers stand on the right, so that their digits do; the last text needs no blanks behind. */
static void print_cell(const struct fb_query_table *table, size_t column, int width, bool last,
		       const char *text, FILE *out)
{
	if (table->number[column])
		fprintf(out, "%*s", width, text);
	else if (last)
		fputs(text, out);
	else
		fprintf(out, "%-*s", width, text);
	fputs(last ? "\n" : "  ", out);
}

void fb_query_print(const struct fb_query_table *table, const size_t *list, size_t count, bool csv,
		    FILE *out)
{
	int *width = fb_new(count, sizeof(*width));

	if (csv) {
		print_csv(table, list, count, out);
		return;
	}
	for (size_t c = 0; c < count; c++)
		width[c] = width_of(table, list[c]);
	for (size_t c = 0; c < count; c++)
		print_cell(table, list[c], width[c], c + 1 == count, table->column[list[c]], out);
	for (size_t i = 0; i < table->nrows; i++)
		for (size_t c = 0; c < count; c++)
			print_cell(table, list[c], width[c], c + 1 == count, table->row[i][list[c]],
				   out);
}
