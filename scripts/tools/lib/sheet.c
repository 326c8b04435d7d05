/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading files as sheets of text cells; see sheet.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/sheet.h"
#include "scripts/tools/lib/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What to read of a file. */
struct reader {
	struct fb_sheet *sheet;
	unsigned kinds; /* as bits; of others only the header */
	bool checked;	/* result files are held to the schema */
};

static int check_columns(const struct fb_sheet *sheet)
{
	for (size_t i = 0; i < fb_columns_of(FB_SCHEMA_OLDEST); i++)
		if (fb_sheet_column(sheet, fb_columns[i].name) < 0)
			return fb_error(FB_EINPUT, "%s:1: no column %s, which schema %d has",
					sheet->path, fb_columns[i].name, FB_SCHEMA_OLDEST);
	for (size_t i = 0; i < sheet->ncolumns; i++)
		if ((size_t)fb_sheet_column(sheet, sheet->column[i]) != i)
			return fb_error(FB_EINPUT, "%s:1: two columns are called '%s'", sheet->path,
					sheet->column[i]);
	return FB_OK;
}

static int check_version(const struct fb_sheet *sheet, const struct fb_record *record)
{
	const char *version = record->field[fb_sheet_column(sheet, "schema")];

	if (!fb_schema_known(version))
		return fb_error(FB_EINPUT, "%s:%" PRIu64 ": schema '%s': accepted is %d to %d",
				sheet->path, record->line, version, FB_SCHEMA_OLDEST,
				FB_SCHEMA_VERSION);
	return FB_OK;
}

static int use(void *arg, const struct fb_record *record)
{
	struct reader *r = arg;
	struct fb_sheet *sheet = r->sheet;
	bool checked = r->checked && record->kind == FB_CSV_RESULTS;

	if (record->number == 1) {
		sheet->kind = record->kind;
		sheet->column = fb_texts_copy(record->field, record->count);
		sheet->ncolumns = record->count;
		if (!(r->kinds & 1U << record->kind))
			return FB_RECORDS_STOP;
		return checked ? check_columns(sheet) : FB_OK;
	}
	if (checked && check_version(sheet, record))
		return FB_EINPUT;
	*FB_ADD(sheet->row, sheet->nrows) = (struct fb_sheet_row){
		.cell = fb_texts_copy(record->field, record->count), .line = record->line};
	return FB_OK;
}

static int read_sheet(struct fb_sheet *sheet, const char *path, unsigned kinds, bool checked,
		      uint64_t *torn)
{
	struct reader r = {.sheet = sheet, .kinds = kinds, .checked = checked};

	*sheet = (struct fb_sheet){.path = fb_new_copy(path)};
	return fb_records_read(path, use, &r, torn);
}

int fb_sheet_read(struct fb_sheet *sheet, const char *path)
{
	uint64_t torn = 0;
	int err = read_sheet(sheet, path, ~(1U << FB_CSV_OTHER), true, &torn);

	if (!err && torn)
		fb_warn("%s:%" PRIu64 ": the last line has no end and is left out", path, torn);
	return err;
}

int fb_sheet_read_kinds(struct fb_sheet *sheet, const char *path, unsigned kinds)
{
	return read_sheet(sheet, path, kinds, false, NULL);
}

int fb_sheet_read_any(struct fb_sheet *sheet, const char *path)
{
	int err = fb_sheet_read_kinds(sheet, path, ~0U);

	if (!err && !sheet->column)
		err = fb_error(FB_EINPUT, "%s: empty: expected a CSV file with a header", path);
	return err;
}

int fb_sheet_column(const struct fb_sheet *sheet, const char *name)
{
	for (size_t i = 0; i < sheet->ncolumns; i++)
		if (!strcmp(sheet->column[i], name))
			return (int)i;
	return -1;
}

int fb_sheet_columns(const struct fb_sheet *sheet, const char *const *names, int *index)
{
	char list[256] = "";

	for (size_t i = 0; names[i]; i++) {
		index[i] = fb_sheet_column(sheet, names[i]);
		if (index[i] >= 0)
			continue;
		for (size_t j = 0; names[j]; j++)
			fb_append(list, sizeof(list), "%s%s", j ? "," : "", names[j]);
		return fb_error(FB_EINPUT, "%s: no column %s: expected %s", sheet->path, names[i],
				list);
	}
	return FB_OK;
}

const char *fb_sheet_text(const struct fb_sheet *sheet, size_t row, int column)
{
	return column < 0 ? "" : sheet->row[row].cell[column];
}

double fb_sheet_number(const struct fb_sheet *sheet, size_t row, int column)
{
	return fb_csv_number(fb_sheet_text(sheet, row, column));
}

int fb_sheet_refuse(const struct fb_sheet *sheet, size_t row, int column, const char *expected)
{
	return fb_error(FB_EINPUT, "%s:%" PRIu64 ": %s '%.40s': expected %s", sheet->path,
			sheet->row[row].line, sheet->column[column],
			fb_sheet_text(sheet, row, column), expected);
}

bool fb_launch_index(const char *text, uint64_t *index)
{
	size_t digits = strspn(text, "0123456789");

	*index = strtoull(text, NULL, 10);
	return digits > 0 && digits <= 18 && !text[digits];
}
