/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CSV reader; see csv_read.h. A small state machine over stdio's buffer: one character at a
 * time is fast enough for result files (some tens of MB a second), and easy to check by eye.
 */
#include "common/record/csv_read.h"

#include "common/base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The state of the reader before the next character of a field. */
enum state {
	AT_START, /* nothing of the field was read yet */
	PLAIN,	  /* inside an unquoted field */
	QUOTED,	  /* inside quotes */
	AFTER,	  /* behind a quote that either ends the field or is doubled */
	CR,	  /* behind a carriage return that must be followed by a newline */
};

int fb_csv_reader_open(struct fb_csv_reader *reader, const char *path)
{
	struct fb_csv_reader opened = {.next_line = 1};

	opened.path = strdup(path);
	opened.fields = malloc(FB_CSV_FIELDS_MAX * sizeof(opened.fields[0]));
	if (!opened.path || !opened.fields) {
		fb_csv_reader_close(&opened);
		return fb_error(FB_ENOMEM, "no memory to read '%s'", path);
	}
	opened.file = fopen(path, "re");
	if (!opened.file) {
		fb_csv_reader_close(&opened);
		return fb_error(FB_EINPUT, "cannot read '%s': %s", path, strerror(errno));
	}
	*reader = opened;
	return FB_OK;
}

void fb_csv_reader_close(struct fb_csv_reader *reader)
{
	if (reader->file)
		fclose(reader->file);
	free(reader->path);
	free(reader->text);
	free(reader->fields);
	*reader = (struct fb_csv_reader){.file = NULL};
}

static int problem(struct fb_csv_reader *r, const char *what)
{
	snprintf(r->problem, sizeof(r->problem), "%s", what);
	return FB_EDATA;
}

static int put(struct fb_csv_reader *r, int c)
{
	if (r->bytes == r->capacity) {
		size_t larger = r->capacity ? r->capacity * 2 : 4096;
		char *text;

		if (larger > FB_CSV_RECORD_MAX)
			return problem(r, "a record is longer than 1 MiB");
		text = realloc(r->text, larger);
		if (!text)
			return fb_error(FB_ENOMEM, "no memory to read '%s'", r->path);
		r->text = text;
		r->capacity = larger;
	}
	r->text[r->bytes++] = (char)c;
	return FB_OK;
}

/* Ends the current field. Addresses are set when the record is complete: text may still move. */
static int end_field(struct fb_csv_reader *r)
{
	if (r->nfields == FB_CSV_FIELDS_MAX)
		return problem(r, "a record has more than 1024 fields");
	r->nfields++;
	return put(r, '\0');
}

static void set_addresses(struct fb_csv_reader *r)
{
	char *field = r->text;

	for (size_t i = 0; i < r->nfields; i++) {
		r->fields[i] = field;
		field += strlen(field) + 1;
	}
}

/* Handles a character outside of quotes, or behind a closing quote. Sets *state. */
static int take_plain(struct fb_csv_reader *r, int c, enum state *state)
{
	if (*state == CR)
		return problem(r, "a carriage return stands alone");
	if (c == ',') {
		*state = AT_START;
		return end_field(r);
	}
	if (c == '\r') {
		*state = CR;
		return FB_OK;
	}
	if (*state == AFTER)
		return problem(r, "text follows a closing quote");
	if (c == '"')
		return problem(r, "a quote stands inside an unquoted field");
	*state = PLAIN;
	return put(r, c);
}

static int take(struct fb_csv_reader *r, int c, enum state *state)
{
	if (c == '\0')
		return problem(r, "there is a NUL byte");
	if (*state == QUOTED) {
		if (c == '"') {
			*state = AFTER;
			return FB_OK;
		}
		r->next_line += c == '\n';
		return put(r, c);
	}
	if (*state == AFTER && c == '"') {
		*state = QUOTED;
		return put(r, c);
	}
	if (*state == AT_START && c == '"') {
		*state = QUOTED;
		return FB_OK;
	}
	return take_plain(r, c, state);
}

/* The file ended: with nothing begun, or inside a record. */
static int end_file(struct fb_csv_reader *r, enum state state)
{
	int ret;

	if (ferror(r->file))
		return fb_error(FB_EIO, "cannot read '%s': %s", r->path, strerror(errno));
	if (state == AT_START && !r->nfields)
		return 0;
	r->torn = true;
	if (state == QUOTED)
		return problem(r, "the file ends inside a quoted field");
	ret = end_field(r);
	if (ret)
		return ret;
	set_addresses(r);
	return 1;
}

int fb_csv_reader_next(struct fb_csv_reader *reader)
{
	enum state state = AT_START;
	int c, ret;

	reader->bytes = 0;
	reader->nfields = 0;
	reader->line = reader->next_line;
	while ((c = getc_unlocked(reader->file)) != EOF) {
		if (c == '\n' && state != QUOTED) {
			reader->next_line++;
			ret = end_field(reader);
			if (ret)
				return ret;
			set_addresses(reader);
			return 1;
		}
		ret = take(reader, c, &state);
		if (ret)
			return ret;
	}
	return end_file(reader, state);
}
