/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer of result files: columns from schema.h, whole rows from append.h; see csv.h. */
#include "common/record/csv.h"

#include "common/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *fb_utc_now(char buf[FB_UTC_CHARS])
{
	time_t now = time(NULL);
	struct tm parts;

	if (!gmtime_r(&now, &parts) || !strftime(buf, FB_UTC_CHARS, "%Y-%m-%dT%H:%M:%SZ", &parts))
		snprintf(buf, FB_UTC_CHARS, "1970-01-01T00:00:00Z");
	return buf;
}

void fb_csv_put_field(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

char *fb_csv_header(const struct fb_column *extra, size_t nextra)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < fb_columns_count; i++)
		fprintf(out, "%s%s", i ? "," : "", fb_columns[i].name);
	for (size_t i = 0; i < nextra; i++)
		fprintf(out, ",%s", extra[i].name);
	fputc('\n', out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

int fb_csv_open(struct fb_csv *csv, const char *dir, const char *program,
		const struct fb_column *extra, size_t nextra, bool sync_rows)
{
	struct fb_csv opened = {.extra = extra, .nextra = nextra};
	char *header = fb_csv_header(extra, nextra), *name = NULL;
	int ret;

	if (!header || asprintf(&name, "%s.csv", program) < 0) {
		ret = fb_error(FB_ENOMEM, "no memory for the header of the result file");
		goto free_header;
	}
	ret = fb_append_open(&opened.file, dir, name, header, sync_rows);
	free(name);
	if (!ret)
		*csv = opened;
free_header:
	free(header);
	return ret;
}

static void put_row(FILE *out, const struct fb_csv *csv, const struct fb_row *row)
{
	char field[FB_FIELD_CHARS];

	for (size_t i = 0; i < fb_columns_count; i++) {
		if (i)
			fputc(',', out);
		fb_csv_put_field(out, fb_column_text(&fb_columns[i], row, 0, field, sizeof(field)));
	}
	for (size_t i = 0; i < csv->nextra; i++) {
		fputc(',', out);
		fb_csv_put_field(out, fb_column_text(&csv->extra[i], row, i, field, sizeof(field)));
	}
	fputc('\n', out);
}

char *fb_csv_row_text(const struct fb_csv *csv, const struct fb_row *row, size_t *bytes)
{
	struct fb_row stamped = *row;
	char utc[FB_UTC_CHARS];
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out)
		return NULL;
	if (!stamped.utc)
		stamped.utc = fb_utc_now(utc);
	put_row(out, csv, &stamped);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

int fb_csv_append(struct fb_csv *csv, const struct fb_row *row)
{
	size_t bytes = 0;
	char *text = fb_csv_row_text(csv, row, &bytes);
	int ret;

	if (!text)
		return fb_error(FB_ENOMEM, "no memory for a row of '%s'", csv->file.path);
	ret = fb_append_write(&csv->file, text, bytes);
	free(text);
	return ret;
}

int fb_csv_close(struct fb_csv *csv)
{
	return fb_append_close(&csv->file);
}
