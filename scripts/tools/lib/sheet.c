/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading files as sheets of text cells; see sheet.h. */
#include "common/base/error.h"
#include "common/record/csv_read.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const samples_columns[] = {"run", "launch_index", "program",
					      "row", "repetition",   "time_us"};
static const char *const ranks_columns[] = {
	"run", "launch_index", "program", "row", "repetition", "rank", "begin_us", "end_us"};
static const char *const facts_columns[] = {"scope", "host", "rank", "key", "value"};

enum {
	SAMPLES_COLUMNS = sizeof(samples_columns) / sizeof(samples_columns[0]),
	RANKS_COLUMNS = sizeof(ranks_columns) / sizeof(ranks_columns[0]),
	FACTS_COLUMNS = sizeof(facts_columns) / sizeof(facts_columns[0]),
};

static int no_memory(const char *path)
{
	return fb_error(FB_ENOMEM, "no memory to hold '%s'", path);
}

/* One allocation: the pointers, then the texts. NULL where memory is out. */
static char **copy_fields(const struct fb_csv_reader *r)
{
	size_t pointers = r->nfields * sizeof(char *);
	char **copy = malloc(pointers + r->bytes);

	if (!copy)
		return NULL;
	memcpy((char *)copy + pointers, r->text, r->bytes);
	for (size_t i = 0; i < r->nfields; i++)
		copy[i] = (char *)copy + pointers + (r->fields[i] - r->text);
	return copy;
}

static bool header_is(const struct fb_csv_reader *r, const char *const *names, size_t n)
{
	if (r->nfields != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(r->fields[i], names[i]))
			return false;
	return true;
}

static bool header_has(const struct fb_csv_reader *r, const char *name)
{
	for (size_t i = 0; i < r->nfields; i++)
		if (!strcmp(r->fields[i], name))
			return true;
	return false;
}

static enum fb_sheet_kind kind_of(const struct fb_csv_reader *r)
{
	if (r->torn)
		return FB_SHEET_OTHER;
	if (header_is(r, samples_columns, SAMPLES_COLUMNS))
		return FB_SHEET_SAMPLES;
	if (header_is(r, ranks_columns, RANKS_COLUMNS))
		return FB_SHEET_RANKS;
	if (header_is(r, facts_columns, FACTS_COLUMNS))
		return FB_SHEET_FACTS;
	if (r->nfields >= 2 && !strcmp(r->fields[0], "schema") && !strcmp(r->fields[1], "run"))
		return FB_SHEET_RESULTS;
	if (header_has(r, "launch_index") && header_has(r, "flags"))
		return FB_SHEET_LAUNCHES;
	return FB_SHEET_OTHER;
}

static int check_columns(const struct fb_sheet *sheet)
{
	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_sheet_column(sheet, fb_columns[i].name) < 0)
			return fb_error(FB_EINPUT, "%s:1: no column %s, which schema %d has",
					sheet->path, fb_columns[i].name, FB_SCHEMA_VERSION);
	for (size_t i = 0; i < sheet->ncolumns; i++)
		if ((size_t)fb_sheet_column(sheet, sheet->column[i]) != i)
			return fb_error(FB_EINPUT, "%s:1: two columns are called '%s'", sheet->path,
					sheet->column[i]);
	return FB_OK;
}

/* The header: sets kind and columns. */
static int read_header(struct fb_sheet *sheet, const struct fb_csv_reader *r)
{
	sheet->kind = kind_of(r);
	sheet->column = copy_fields(r);
	if (!sheet->column)
		return no_memory(sheet->path);
	sheet->ncolumns = r->nfields;
	return sheet->kind == FB_SHEET_RESULTS ? check_columns(sheet) : FB_OK;
}

static int check_version(const struct fb_sheet *sheet, const struct fb_csv_reader *r)
{
	const char *version = r->fields[fb_sheet_column(sheet, "schema")];
	char expected[16];

	snprintf(expected, sizeof(expected), "%d", FB_SCHEMA_VERSION);
	if (strcmp(version, expected))
		return fb_error(FB_EINPUT, "%s:%" PRIu64 ": schema '%s': accepted is %s",
				sheet->path, r->line, version, expected);
	return FB_OK;
}

static int add_row(struct fb_sheet *sheet, const struct fb_csv_reader *r)
{
	char **cell;

	if (r->nfields != sheet->ncolumns)
		return fb_error(FB_EINPUT, "%s:%" PRIu64 ": %zu fields where the header has %zu",
				sheet->path, r->line, r->nfields, sheet->ncolumns);
	if (sheet->kind == FB_SHEET_RESULTS && check_version(sheet, r))
		return FB_EINPUT;
	if (sheet->nrows == sheet->capacity) {
		size_t larger = sheet->capacity ? 2 * sheet->capacity : 256;
		struct fb_sheet_row *row = realloc(sheet->row, larger * sizeof(*row));

		if (!row)
			return no_memory(sheet->path);
		sheet->row = row;
		sheet->capacity = larger;
	}
	cell = copy_fields(r);
	if (!cell)
		return no_memory(sheet->path);
	sheet->row[sheet->nrows++] = (struct fb_sheet_row){.cell = cell, .line = r->line};
	return FB_OK;
}

static int read_rows(struct fb_sheet *sheet, struct fb_csv_reader *r)
{
	int more = fb_csv_reader_next(r), ret = FB_OK;

	if (more == 1)
		ret = read_header(sheet, r);
	if (ret || more == 0 || (more == 1 && sheet->kind == FB_SHEET_OTHER))
		return ret;
	while (more == 1 && (more = fb_csv_reader_next(r)) == 1 && !r->torn) {
		ret = add_row(sheet, r);
		if (ret)
			return ret;
	}
	if (r->torn && (more == 1 || more == FB_EDATA)) {
		fb_warn("%s:%" PRIu64 ": the last line has no end and is left out", sheet->path,
			r->line);
		return FB_OK;
	}
	if (more == FB_EDATA)
		return fb_error(FB_EINPUT, "%s:%" PRIu64 ": %s", sheet->path, r->line, r->problem);
	return more;
}

int fb_sheet_read(struct fb_sheet *sheet, const char *path)
{
	struct fb_csv_reader reader = {.file = NULL};
	int ret;

	*sheet = (struct fb_sheet){.path = strdup(path)};
	if (!sheet->path)
		return no_memory(path);
	ret = fb_csv_reader_open(&reader, path);
	if (!ret)
		ret = read_rows(sheet, &reader);
	fb_csv_reader_close(&reader);
	return ret;
}

void fb_sheet_free(struct fb_sheet *sheet)
{
	for (size_t i = 0; i < sheet->nrows; i++)
		free(sheet->row[i].cell);
	free(sheet->row);
	free(sheet->column);
	free(sheet->path);
	*sheet = (struct fb_sheet){.path = NULL};
}

int fb_sheet_column(const struct fb_sheet *sheet, const char *name)
{
	for (size_t i = 0; i < sheet->ncolumns; i++)
		if (!strcmp(sheet->column[i], name))
			return (int)i;
	return -1;
}
