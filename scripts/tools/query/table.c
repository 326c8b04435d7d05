/* SPDX-License-Identifier: BSD-3-Clause */
/* The table and its columns; see query.h. */
#include "common/base/error.h"
#include "common/base/near.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/axis.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/query/query.h"

#include <string.h>

enum { NAME_CHARS = 64, CLOSE = 3, SHOWN = 4 };

static size_t find(const struct fb_query_table *table, const char *name)
{
	size_t i = 0;

	while (i < table->ncolumns && strcmp(table->column[i], name))
		i++;
	return i;
}

static void add_column(struct fb_query_table *table, const char *name, bool number)
{
	size_t columns = table->ncolumns;

	*FB_ADD(table->column, columns) = name;
	*FB_ADD(table->number, table->ncolumns) = number;
}

static void add_variants(struct fb_query_table *table, const char *variant)
{
	struct fb_span_text key, value;

	while (fb_variant_next(&variant, &key, &value)) {
		char name[NAME_CHARS];

		snprintf(name, sizeof(name), "%.*s", (int)key.length, key.text);
		if (find(table, name) == table->ncolumns)
			add_column(table, fb_new_copy(name), false);
	}
}

static void collect_columns(struct fb_query_table *table, const struct fb_sheets *sheets)
{
	for (size_t i = 0; i < fb_columns_count; i++)
		add_column(table, fb_columns[i].name, fb_columns[i].type != FB_COLUMN_TEXT);
	for (size_t s = 0; s < sheets->count; s++) {
		const struct fb_sheet *sheet = &sheets->sheet[s];

		for (size_t i = 0; i < sheet->ncolumns; i++)
			if (sheet->kind == FB_CSV_RESULTS &&
			    find(table, sheet->column[i]) == table->ncolumns)
				add_column(table, sheet->column[i], true);
	}
	for (size_t s = 0; s < sheets->count; s++) {
		const struct fb_sheet *sheet = &sheets->sheet[s];
		int variant = fb_sheet_column(sheet, "variant");

		for (size_t i = 0; sheet->kind == FB_CSV_RESULTS && i < sheet->nrows; i++)
			add_variants(table, sheet->row[i].cell[variant]);
		table->nrows += sheet->kind == FB_CSV_RESULTS ? sheet->nrows : 0;
	}
}

/* `to` is a new row; from[i] is the sheet's column of the table's i-th, or -1. */
static void fill_row(const struct fb_query_table *table, const char **to, const int *from,
		     char **cell, const char *variant)
{
	struct fb_span_text key, value;

	for (size_t i = 0; i < table->ncolumns; i++)
		to[i] = from[i] < 0 ? "" : cell[from[i]];
	while (fb_variant_next(&variant, &key, &value)) {
		char name[NAME_CHARS];
		size_t column;

		snprintf(name, sizeof(name), "%.*s", (int)key.length, key.text);
		column = find(table, name);
		if (column < table->ncolumns && from[column] < 0)
			to[column] = fb_new_text("%.*s", (int)value.length, value.text);
	}
}

static void fill_sheet(struct fb_query_table *table, const struct fb_sheet *sheet)
{
	int *from = fb_new(table->ncolumns, sizeof(*from));
	int variant = fb_sheet_column(sheet, "variant");

	for (size_t i = 0; i < table->ncolumns; i++)
		from[i] = fb_sheet_column(sheet, table->column[i]);
	for (size_t i = 0; i < sheet->nrows; i++) {
		const char **row = fb_new(table->ncolumns, sizeof(*row));

		table->row[table->nrows++] = row;
		fill_row(table, row, from, sheet->row[i].cell, sheet->row[i].cell[variant]);
	}
}

void fb_query_load(struct fb_query_table *table, const struct fb_sheets *sheets)
{
	collect_columns(table, sheets);
	table->row = fb_new(table->nrows, sizeof(*table->row));
	table->nrows = 0;
	for (size_t i = 0; i < sheets->count; i++)
		if (sheets->sheet[i].kind == FB_CSV_RESULTS)
			fill_sheet(table, &sheets->sheet[i]);
}

int fb_query_find(const struct fb_query_table *table, const char *name, size_t *column)
{
	char close[256] = "";
	size_t shown = 0, length = strlen(name);

	*column = find(table, name);
	if (*column == table->ncolumns) {
		/* A variable of the environment is a key env.NAME. */
		snprintf(close, sizeof(close), "env.%.*s", NAME_CHARS, name);
		*column = find(table, close);
		*close = '\0';
	}
	if (*column < table->ncolumns)
		return FB_OK;
	for (size_t limit = 1; limit <= CLOSE && shown == 0; limit++)
		for (size_t i = 0; i < table->ncolumns && shown < SHOWN; i++) {
			const char *other = table->column[i];

			if ((fb_near_distance(name, length, other) > limit || 2 * limit > length) &&
			    !(limit == CLOSE && length > 2 && strstr(other, name)))
				continue;
			fb_append(close, sizeof(close), "%s%s", shown++ ? ", " : "", other);
		}
	return fb_error(FB_EINPUT, "no column '%.60s'%s%s%s", name,
			shown ? ": did you mean " : "; the first line of the files names them",
			close, shown ? "?" : "");
}

int fb_query_list(const struct fb_query_table *table, const char *names, size_t **list,
		  size_t *count)
{
	char name[NAME_CHARS];
	int err = FB_OK;

	*list = NULL;
	*count = 0;
	while (!err && fb_list_next(&names, name, sizeof(name)))
		err = fb_query_find(table, name, FB_ADD(*list, *count));
	return err;
}
