/* SPDX-License-Identifier: BSD-3-Clause */
/* Streaming records through libcsv; see records.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 18 };

/* The file that is being read; libcsv calls back with it. */
struct stream {
	struct fb_record record;
	fb_record_fn use;
	void *arg;
	char *block; /* of the file */
	char *text; /* the fields of the record, each ended by NUL */
	size_t used, capacity;
	size_t start[FB_RECORD_FIELDS]; /* of each field, in text: it moves while it grows */
	size_t nfields, header_fields;
	const struct fb_column *column[FB_RECORD_FIELDS]; /* NULL: any text */
	uint64_t breaks; /* line ends within the fields of the record */
	uint64_t torn; /* line of the last record, where it has no end */
	int err; /* or FB_RECORDS_STOP */
};

static int complain(const struct stream *s, const char *what)
{
	return fb_error(FB_EINPUT, "%s:%llu: %s", s->record.path,
			(unsigned long long)s->record.line, what);
}

static void on_field(void *bytes, size_t n, void *arg)
{
	struct stream *s = arg;

	if (s->err)
		return;
	if (s->nfields == FB_RECORD_FIELDS) {
		s->err = complain(s, "a record has more than 1024 fields");
		return;
	}
	if (n && memchr(bytes, 0, n)) {
		s->err = complain(s, "there is a NUL byte");
		return;
	}
	if (s->used + n + 1 > s->capacity) {
		s->capacity = 2 * (s->used + n + 1) + 1024;
		s->text = fb_resize(s->text, s->capacity, 1);
	}
	if (n)
		memcpy(s->text + s->used, bytes, n);
	s->text[s->used + n] = '\0';
	s->start[s->nfields++] = s->used;
	s->used += n + 1;
	for (size_t i = 0; i < n; i++)
		s->breaks += ((const char *)bytes)[i] == '\n';
}

static void take_header(struct stream *s)
{
	struct fb_record *record = &s->record;

	record->kind = fb_csv_kind(record->field, record->count);
	s->header_fields = record->count;
	for (size_t i = 0; i < record->count; i++)
		s->column[i] = fb_csv_column(record->kind, record->field[i]);
}

static int check(const struct stream *s)
{
	const struct fb_record *record = &s->record;

	if (record->count != s->header_fields)
		return fb_error(FB_EINPUT, "%s:%llu: %zu fields where the header has %zu",
				record->path, (unsigned long long)record->line, record->count,
				s->header_fields);
	for (size_t i = 0; i < record->count; i++)
		if (s->column[i] && !fb_csv_field_good(s->column[i], record->field[i]))
			return fb_error(FB_EINPUT, "%s:%llu: %s: '%.40s' is not of type %s",
					record->path, (unsigned long long)record->line,
					*s->column[i]->name ? s->column[i]->name
							    : "a program's own column",
					record->field[i], fb_column_type_name(s->column[i]->type));
	return FB_OK;
}

/* `end` is the character that ended the record, or -1 for the end of the file. */
static void on_record(int end, void *arg)
{
	struct stream *s = arg;
	struct fb_record *record = &s->record;

	if (s->err)
		return;
	record->number++;
	record->count = s->nfields;
	for (size_t i = 0; i < s->nfields; i++)
		record->field[i] = s->text + s->start[i];
	s->torn = end < 0 ? record->line : 0;
	if (record->number == 1)
		take_header(s);
	else if (!s->torn)
		s->err = check(s);
	if (!s->torn && !s->err)
		s->err = s->use(s->arg, record);
	s->used = s->nfields = 0;
	record->line += 1 + s->breaks;
	s->breaks = 0;
}

/* A blank belongs to its field: RFC 4180, and our writer, say so. */
static int no_space(unsigned char c)
{
	(void)c;
	return 0;
}

/*
 * Bytes of a byte order mark at the beginning of a file, which is no part of its first field. Excel
 * puts one before a text that it saves as UTF-8.
 */
static size_t mark_bytes(const char *block, size_t n)
{
	static const char mark[3] = "\xef\xbb\xbf";

	return n >= sizeof(mark) && !memcmp(block, mark, sizeof(mark)) ? sizeof(mark) : 0;
}

bool fb_records_are_rows(const char *path)
{
	static const char rows[] = "schema,run,";
	char begin[sizeof(rows) + 2];
	FILE *file = fopen(path, "r");
	size_t n, skipped;

	if (!file)
		return false;
	n = fread(begin, 1, sizeof(begin), file);
	fclose(file);
	skipped = mark_bytes(begin, n);
	return n >= skipped + strlen(rows) && !memcmp(begin + skipped, rows, strlen(rows));
}

static int parse(struct stream *s, FILE *file)
{
	const char *path = s->record.path;
	struct csv_parser parser;
	bool begins = true;
	size_t n, skipped;

	if (csv_init(&parser, CSV_STRICT))
		return fb_error(FB_ENOMEM, "%s: out of memory", path);
	csv_set_space_func(&parser, no_space);
	while (!s->err && (n = fread(s->block, 1, BLOCK_BYTES, file)) > 0) {
		skipped = begins ? mark_bytes(s->block, n) : 0;
		n -= skipped;
		begins = false;
		if (csv_parse(&parser, s->block + skipped, n, on_field, on_record, s) != n &&
		    !s->err)
			s->err = complain(s, csv_strerror(csv_error(&parser)));
	}
	if (!s->err && ferror(file))
		s->err = fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	if (!s->err)
		csv_fini(&parser, on_field, on_record, s);
	csv_free(&parser);
	return s->err == FB_RECORDS_STOP ? FB_OK : s->err;
}

int fb_records_read(const char *path, fb_record_fn use, void *arg, uint64_t *torn)
{
	FILE *file = fopen(path, "r");
	struct stream *s;
	int err;

	if (!file)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	s = fb_new(1, sizeof(*s));
	*s = (struct stream){.record = {.path = path, .line = 1}, .use = use, .arg = arg,
			     .block = fb_new(BLOCK_BYTES, 1)};
	err = parse(s, file);
	fclose(file);
	if (torn)
		*torn = s->torn;
	fb_drop(s->text);
	fb_drop(s->block);
	fb_drop(s);
	return err;
}

int fb_record_find(const struct fb_record *header, const char *name)
{
	for (size_t i = 0; i < header->count; i++)
		if (!strcmp(header->field[i], name))
			return (int)i;
	return -1;
}
