/* SPDX-License-Identifier: BSD-3-Clause */
/* The table and its columns; see query.h. */
#include "common/base/error.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/axis.h"
#include "scripts/tools/query/query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS = 64, CLOSE = 3, SHOWN = 4 };

static int no_memory(void)
{
	return fb_error(FB_ENOMEM, "no memory for the table");
}

static size_t find(const struct fb_query_table *table, const char *name)
{
	size_t i = 0;

	while (i < table->ncolumns && strcmp(table->column[i], name))
		i++;
	return i;
}

static int add_column(struct fb_query_table *table, const char *name, bool number)
{
	size_t n = table->ncolumns + 1;
	const char **columns = realloc(table->column, n * sizeof(*columns));
	bool *numbers;

	if (columns)
		table->column = columns;
	numbers = realloc(table->number, n * sizeof(*numbers));
	if (numbers)
		table->number = numbers;
	if (!columns || !numbers)
		return no_memory();
	columns[n - 1] = name;
	numbers[n - 1] = number;
	table->ncolumns = n;
	return FB_OK;
}

/* A copy that the table owns; NULL where memory is out (printed). */
static const char *own(struct fb_query_table *table, const char *text, size_t n)
{
	char **texts = realloc(table->text, (table->ntexts + 1) * sizeof(*texts));
	char *copy = strndup(text, n);

	if (texts)
		table->text = texts;
	if (!texts || !copy) {
		free(copy);
		no_memory();
		return NULL;
	}
	texts[table->ntexts++] = copy;
	return copy;
}

static int add_variants(struct fb_query_table *table, const char *variant)
{
	struct fb_span_text key, value;

	while (fb_variant_next(&variant, &key, &value)) {
		char name[NAME_CHARS];
		const char *copy;

		snprintf(name, sizeof(name), "%.*s", (int)key.length, key.text);
		if (find(table, name) < table->ncolumns)
			continue;
		copy = own(table, name, strlen(name));
		if (!copy || add_column(table, copy, false))
			return FB_ENOMEM;
	}
	return FB_OK;
}

static int collect_columns(struct fb_query_table *table, const struct fb_sheets *sheets)
{
	int err = FB_OK;

	for (size_t i = 0; i < fb_columns_count && !err; i++)
		err = add_column(table, fb_columns[i].name, fb_columns[i].type != FB_COLUMN_TEXT);
	for (size_t s = 0; s < sheets->count; s++) {
		const struct fb_sheet *sheet = &sheets->sheet[s];

		for (size_t i = 0; i < sheet->ncolumns && !err; i++)
			if (sheet->kind == FB_CSV_RESULTS &&
			    find(table, sheet->column[i]) == table->ncolumns)
				err = add_column(table, sheet->column[i], true);
	}
	for (size_t s = 0; s < sheets->count; s++) {
		const struct fb_sheet *sheet = &sheets->sheet[s];
		int variant = fb_sheet_column(sheet, "variant");

		for (size_t i = 0; sheet->kind == FB_CSV_RESULTS && i < sheet->nrows && !err; i++)
			err = add_variants(table, sheet->row[i].cell[variant]);
		table->nrows += sheet->kind == FB_CSV_RESULTS ? sheet->nrows : 0;
	}
	return err;
}

/* `to` is a new row; from[i] is the sheet's column of the table's i-th, or -1. */
static int fill_row(struct fb_query_table *table, const char **to, const int *from, char **cell,
		    const char *variant)
{
	struct fb_span_text key, value;

	for (size_t i = 0; i < table->ncolumns; i++)
		to[i] = from[i] < 0 ? "" : cell[from[i]];
	while (fb_variant_next(&variant, &key, &value)) {
		char name[NAME_CHARS];
		size_t column;

		snprintf(name, sizeof(name), "%.*s", (int)key.length, key.text);
		column = find(table, name);
		if (column == table->ncolumns || from[column] >= 0)
			continue;
		to[column] = own(table, value.text, value.length);
		if (!to[column])
			return FB_ENOMEM;
	}
	return FB_OK;
}

static int fill_sheet(struct fb_query_table *table, const struct fb_sheet *sheet)
{
	int *from = malloc((table->ncolumns + 1) * sizeof(*from));
	int variant = fb_sheet_column(sheet, "variant"), err = from ? FB_OK : no_memory();

	for (size_t i = 0; i < table->ncolumns && !err; i++)
		from[i] = fb_sheet_column(sheet, table->column[i]);
	for (size_t i = 0; i < sheet->nrows && !err; i++) {
		const char **row = malloc(table->ncolumns * sizeof(*row));

		if (!row) {
			err = no_memory();
			break;
		}
		table->row[table->nrows++] = row;
		err = fill_row(table, row, from, sheet->row[i].cell, sheet->row[i].cell[variant]);
	}
	free(from);
	return err;
}

int fb_query_load(struct fb_query_table *table, const struct fb_sheets *sheets)
{
	int err = collect_columns(table, sheets);

	table->row = calloc(table->nrows + 1, sizeof(*table->row));
	table->nrows = 0;
	if (!err && !table->row)
		err = no_memory();
	for (size_t i = 0; i < sheets->count && !err; i++)
		if (sheets->sheet[i].kind == FB_CSV_RESULTS)
			err = fill_sheet(table, &sheets->sheet[i]);
	return err;
}

void fb_query_free(struct fb_query_table *table)
{
	for (size_t i = 0; table->row && i < table->nrows; i++)
		free(table->row[i]);
	for (size_t i = 0; i < table->ntexts; i++)
		free(table->text[i]);
	free(table->row);
	free(table->text);
	free(table->column);
	free(table->number);
	free(table->axis);
	*table = (struct fb_query_table){.nrows = 0};
}

/*
 * Insertions, deletions and exchanges of single characters that make one name of the other
 * (Levenshtein, 1966), whatever the case. Names are short.
 */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_CHARS + 1], n = strlen(b) < NAME_CHARS ? strlen(b) : NAME_CHARS;

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= n; j++) {
			size_t change = corner + (tolower((unsigned char)a[i]) !=
						  tolower((unsigned char)b[j - 1]));
			size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			corner = row[j];
			row[j] = change < least ? change : least;
		}
	}
	return row[n];
}

int fb_query_find(const struct fb_query_table *table, const char *name, size_t *column)
{
	char close[256] = "";
	size_t shown = 0;

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
			size_t used = strlen(close);

			if (distance(name, other) > limit &&
			    !(limit == CLOSE && strlen(name) > 2 && strstr(other, name)))
				continue;
			snprintf(close + used, sizeof(close) - used, "%s%s", shown ? ", " : "",
				 other);
			shown++;
		}
	return fb_error(FB_EINPUT, "no column '%.60s'%s%s", name,
			shown ? ": did you mean " : "; the first line of the files names them",
			close);
}

int fb_query_list(const struct fb_query_table *table, const char *names, size_t **list,
		  size_t *count)
{
	size_t *found = NULL, n = 0;

	for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t *more = realloc(found, (n + 1) * sizeof(*more));
		char name[NAME_CHARS];
		int err = more ? FB_OK : no_memory();

		if (more)
			found = more;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
		if (!err)
			err = fb_query_find(table, name, &found[n++]);
		if (err) {
			free(found);
			return err;
		}
	}
	*list = found;
	*count = n;
	return FB_OK;
}
