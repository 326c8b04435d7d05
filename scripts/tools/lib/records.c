/* SPDX-License-Identifier: BSD-3-Clause */
/* Streaming records through libcsv; see records.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/records.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 18 };

/* The file that is being read; libcsv calls back with it. */
struct stream {
	struct fb_record record;
	fb_record_fn use;
	void *arg;
	char *text; /* the fields of the record, each ended by NUL */
	size_t used, capacity;
	size_t start[FB_RECORD_FIELDS]; /* of each field, in text: it moves while it grows */
	size_t nfields, header_fields;
	int err; /* or FB_RECORDS_STOP */
};

static int grow(struct stream *s, size_t bytes)
{
	size_t capacity = 2 * (s->used + bytes) + 1024;
	char *text = realloc(s->text, capacity);

	if (!text)
		return fb_error(FB_ENOMEM, "%s: out of memory", s->record.path);
	s->text = text;
	s->capacity = capacity;
	return FB_OK;
}

static void on_field(void *bytes, size_t n, void *arg)
{
	struct stream *s = arg;

	if (s->err)
		return;
	if (s->nfields == FB_RECORD_FIELDS) {
		s->err = fb_error(FB_EINPUT, "%s: record %llu has more than %d fields",
				  s->record.path, (unsigned long long)s->record.number + 1,
				  FB_RECORD_FIELDS);
		return;
	}
	if (s->used + n + 1 > s->capacity)
		s->err = grow(s, n + 1);
	if (s->err)
		return;
	if (n)
		memcpy(s->text + s->used, bytes, n);
	s->text[s->used + n] = '\0';
	s->start[s->nfields++] = s->used;
	s->used += n + 1;
}

/* `end` is the character that ended the record, or -1 for the end of the file. */
static void on_record(int end, void *arg)
{
	struct stream *s = arg;
	struct fb_record *record = &s->record;

	if (s->err)
		return;
	record->number++;
	if (record->number == 1)
		s->header_fields = s->nfields;
	if (end >= 0 && s->nfields != s->header_fields) {
		s->err = fb_error(FB_EINPUT, "%s: record %llu has %zu fields, the header %zu",
				  record->path, (unsigned long long)record->number, s->nfields,
				  s->header_fields);
	} else if (end >= 0) {
		for (size_t i = 0; i < s->nfields; i++)
			record->field[i] = s->text + s->start[i];
		record->count = s->nfields;
		s->err = s->use(s->arg, record);
	}
	s->used = s->nfields = 0;
}

/* A blank belongs to its field: RFC 4180, and our writer, say so. */
static int no_space(unsigned char c)
{
	(void)c;
	return 0;
}

static int parse(struct stream *s, FILE *file, char *block)
{
	const char *path = s->record.path;
	struct csv_parser parser;
	size_t n;

	if (csv_init(&parser, CSV_STRICT))
		return fb_error(FB_ENOMEM, "%s: out of memory", path);
	csv_set_space_func(&parser, no_space);
	while (!s->err && (n = fread(block, 1, BLOCK_BYTES, file)) > 0)
		if (csv_parse(&parser, block, n, on_field, on_record, s) != n && !s->err)
			s->err = fb_error(FB_EINPUT, "%s: record %llu: %s", path,
					  (unsigned long long)s->record.number + 1,
					  csv_strerror(csv_error(&parser)));
	if (!s->err && ferror(file))
		s->err = fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	csv_free(&parser);
	return s->err == FB_RECORDS_STOP ? FB_OK : s->err;
}

int fb_records_read(const char *path, fb_record_fn use, void *arg)
{
	struct stream *s = calloc(1, sizeof(*s));
	char *block = malloc(BLOCK_BYTES);
	FILE *file = fopen(path, "r");
	int err;

	if (!file) {
		err = fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	} else if (!s || !block) {
		err = fb_error(FB_ENOMEM, "%s: out of memory", path);
	} else {
		s->record.path = path;
		s->use = use;
		s->arg = arg;
		err = parse(s, file, block);
		free(s->text);
	}
	if (file)
		fclose(file);
	free(block);
	free(s);
	return err;
}

int fb_record_find(const struct fb_record *header, const char *name)
{
	for (size_t i = 0; i < header->count; i++)
		if (!strcmp(header->field[i], name))
			return (int)i;
	return -1;
}
