/* SPDX-License-Identifier: BSD-3-Clause */
/* See table.h. */
#include "common/base/error.h"
#include "common/record/csv_read.h"
#include "scripts/tools/plot/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Copies of a record's fields; on failure none is left. */
static bool copy_fields(char **to, char *const *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = strdup(from[i]);
		if (to[i])
			continue;
		while (i-- > 0)
			free(to[i]);
		return false;
	}
	return true;
}

static int add_header(struct fb_table *table, const struct fb_csv_reader *reader)
{
	table->name = calloc(reader->nfields + 1, sizeof(*table->name));
	if (!table->name || !copy_fields(table->name, reader->fields, reader->nfields))
		return fb_error(FB_ENOMEM, "%s: out of memory", table->path);
	table->columns = reader->nfields;
	return FB_OK;
}

static int add_row(struct fb_table *table, const struct fb_csv_reader *reader)
{
	if (reader->nfields != table->columns)
		return fb_error(FB_EINPUT, "%s:%llu: %zu fields, the header has %zu", table->path,
				(unsigned long long)reader->line, reader->nfields, table->columns);
	if (table->rows == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 256;
		char **field = realloc(table->field, capacity * table->columns * sizeof(*field));

		if (!field)
			return fb_error(FB_ENOMEM, "%s: out of memory", table->path);
		table->field = field;
		table->capacity = capacity;
	}
	if (!copy_fields(table->field + table->rows * table->columns, reader->fields,
			 reader->nfields))
		return fb_error(FB_ENOMEM, "%s: out of memory", table->path);
	table->rows++;
	return FB_OK;
}

int fb_table_read(struct fb_table *table, const char *path)
{
	struct fb_csv_reader reader = {0};
	int err = fb_csv_reader_open(&reader, path), more = 0;

	*table = (struct fb_table){.path = strdup(path)};
	if (!err && !table->path)
		err = fb_error(FB_ENOMEM, "%s: out of memory", path);
	while (!err && (more = fb_csv_reader_next(&reader)) > 0) {
		if (reader.torn && table->columns)
			break;
		err = table->columns ? add_row(table, &reader) : add_header(table, &reader);
	}
	if (!err && more < 0)
		err = fb_error(FB_EINPUT, "%s:%llu: %s", path, (unsigned long long)reader.line,
			       more == FB_EDATA ? reader.problem : fb_strerror(more));
	if (!err && table->columns == 0)
		err = fb_error(FB_EINPUT, "%s: empty: expected a CSV file with a header", path);
	fb_csv_reader_close(&reader);
	if (err)
		fb_table_free(table);
	return err;
}

int fb_table_find(const struct fb_table *table, const char *name)
{
	for (size_t i = 0; i < table->columns; i++)
		if (!strcmp(table->name[i], name))
			return (int)i;
	return -1;
}

int fb_table_columns(const struct fb_table *table, const char *const *names, int *index)
{
	char list[256] = "";

	for (size_t i = 0; names[i]; i++) {
		index[i] = fb_table_find(table, names[i]);
		if (index[i] >= 0)
			continue;
		for (size_t j = 0; names[j]; j++)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 j ? "," : "", names[j]);
		return fb_error(FB_EINPUT, "%s: no column %s: expected %s", table->path, names[i],
				list);
	}
	return FB_OK;
}

const char *fb_table_text(const struct fb_table *table, size_t row, int column)
{
	return column < 0 ? "" : table->field[row * table->columns + (size_t)column];
}

double fb_table_number(const struct fb_table *table, size_t row, int column)
{
	const char *text = fb_table_text(table, row, column);
	char *end;
	double value = strtod(text, &end);

	return end == text || *end ? (double)NAN : value;
}

void fb_table_free(struct fb_table *table)
{
	for (size_t i = 0; i < table->rows * table->columns; i++)
		free(table->field[i]);
	for (size_t i = 0; i < table->columns; i++)
		free(table->name[i]);
	free(table->field);
	free(table->name);
	free(table->path);
	*table = (struct fb_table){0};
}
