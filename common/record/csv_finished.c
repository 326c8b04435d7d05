/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the keys of the finished rows of a result file, for --resume; see csv.h.
 *
 * A key is the text of all key columns, so a row is recognised by exactly what the file says,
 * and the set holds the texts themselves: a hash alone could skip a case that never ran.
 */
#include "common/base/error.h"
#include "common/record/csv.h"
#include "common/record/csv_read.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between the fields of a key: no field can hold it, as control characters become blanks. */
enum { SEPARATOR = '\x1f', FIRST_CAPACITY = 256 };

static uint64_t hash(const char *text)
{
	/* FNV-1a, 64 bit: public domain, G. Fowler, L. C. Noll, K.-P. Vo. */
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

/* The slot where the key is or would be; the table always has a free one. */
static size_t probe(char *const *slots, size_t capacity, const char *key)
{
	size_t i = (size_t)hash(key) & (capacity - 1);

	while (slots[i] && strcmp(slots[i], key))
		i = (i + 1) & (capacity - 1);
	return i;
}

static int grow(struct fb_finished *set)
{
	size_t capacity = set->capacity ? set->capacity * 2 : FIRST_CAPACITY;
	char **slots = calloc(capacity, sizeof(slots[0]));

	if (!slots)
		return fb_error(FB_ENOMEM, "no memory for the keys of %zu rows", set->count);
	for (size_t i = 0; i < set->capacity; i++)
		if (set->slots[i])
			slots[probe(slots, capacity, set->slots[i])] = set->slots[i];
	free(set->slots);
	set->slots = slots;
	set->capacity = capacity;
	return FB_OK;
}

int fb_finished_add(struct fb_finished *set, const char *key)
{
	size_t slot;

	if (2 * set->count >= set->capacity && grow(set))
		return FB_ENOMEM;
	slot = probe(set->slots, set->capacity, key);
	if (set->slots[slot])
		return 0;
	set->slots[slot] = strdup(key);
	if (!set->slots[slot])
		return fb_error(FB_ENOMEM, "no memory for the keys of %zu rows", set->count);
	set->count++;
	return 1;
}

void fb_finished_free(struct fb_finished *set)
{
	for (size_t i = 0; i < set->capacity; i++)
		free(set->slots[i]);
	free(set->slots);
	*set = (struct fb_finished){.slots = NULL};
}

char *fb_csv_key(const struct fb_row *row, char *const *fields)
{
	char *text = NULL, field[FB_FIELD_CHARS];
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < fb_columns_count; i++) {
		if (fb_columns[i].kind != FB_COLUMN_KEY)
			continue;
		fputs(fields ? fields[i]
			     : fb_column_text(&fb_columns[i], row, 0, field, sizeof(field)),
		      out);
		fputc(SEPARATOR, out);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

bool fb_finished_has(const struct fb_finished *set, const struct fb_row *row)
{
	char *key;
	bool found;

	if (!set->count)
		return false;
	key = fb_csv_key(row, NULL);
	if (!key)
		return false; /* measuring once more does no harm */
	found = set->slots[probe(set->slots, set->capacity, key)] != NULL;
	free(key);
	return found;
}

static bool has_schema(const struct fb_csv_reader *r)
{
	if (r->nfields < fb_columns_count || r->torn)
		return false;
	for (size_t i = 0; i < fb_columns_count; i++)
		if (strcmp(r->fields[i], fb_columns[i].name))
			return false;
	return true;
}

static bool is_of_launch(const struct fb_csv_reader *r, uint64_t launch_index)
{
	char expected[24];

	snprintf(expected, sizeof(expected), "%" PRIu64, launch_index);
	return !strcmp(r->fields[fb_column_find("launch_index")], expected);
}

/* Whether the current record needs no second run. */
static bool is_final(const struct fb_csv_reader *r)
{
	int status = fb_status_parse(r->fields[fb_column_find("status")]);

	return status >= 0 && status != FB_STATUS_FAULT;
}

/* Adds the current record's key where it belongs to the launch and needs no second run. */
static int add_record(struct fb_finished *set, const struct fb_csv_reader *r, uint64_t launch_index)
{
	char *key;
	int ret;

	if (!is_of_launch(r, launch_index))
		return FB_OK;
	set->rows++;
	if (!is_final(r))
		return FB_OK;
	key = fb_csv_key(NULL, r->fields);
	if (!key)
		return fb_error(FB_ENOMEM, "no memory for a key");
	ret = fb_finished_add(set, key);
	free(key);
	return ret < 0 ? ret : FB_OK;
}

static int read_records(struct fb_finished *set, struct fb_csv_reader *r, uint64_t launch_index)
{
	int more = fb_csv_reader_next(r);
	size_t nfields = r->nfields;

	if (more == 0 || (more == 1 && r->torn))
		return FB_OK; /* empty, or killed while the header was written */
	if (more == 1 && !has_schema(r))
		return fb_error(FB_EINPUT,
				"option --csv: '%s' is not a result file of schema %d: expected "
				"another folder",
				r->path, FB_SCHEMA_VERSION);
	while (more == 1 && (more = fb_csv_reader_next(r)) == 1) {
		int ret;

		if (r->torn)
			return FB_OK;
		if (r->nfields != nfields)
			return fb_error(FB_EINPUT,
					"%s:%" PRIu64 ": %zu fields where the header has %zu",
					r->path, r->line, r->nfields, nfields);
		ret = add_record(set, r, launch_index);
		if (ret)
			return ret;
	}
	if (more == FB_EDATA && !r->torn)
		return fb_error(FB_EINPUT, "%s:%" PRIu64 ": %s", r->path, r->line, r->problem);
	return more == FB_EDATA ? FB_OK : more;
}

int fb_csv_finished(struct fb_finished *set, const char *dir, const char *program,
		    uint64_t launch_index)
{
	struct fb_csv_reader reader = {.file = NULL};
	char *path;
	int ret;

	*set = (struct fb_finished){.slots = NULL};
	if (asprintf(&path, "%s/%s.csv", dir, program) < 0)
		return fb_error(FB_ENOMEM, "no memory for a path");
	if (access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR)) {
		ret = errno == ENOENT ? FB_OK
				      : fb_error(FB_EINPUT,
						 "option --csv: '%s' is not accepted: expected a "
						 "folder, or the name of a new one",
						 dir);
		free(path);
		return ret;
	}
	ret = fb_csv_reader_open(&reader, path);
	if (!ret)
		ret = read_records(set, &reader, launch_index);
	fb_csv_reader_close(&reader);
	if (ret)
		fb_finished_free(set);
	free(path);
	return ret;
}

/* A field as a number; NAN: it is empty. */
static double number(const struct fb_csv_reader *r, const char *column)
{
	const char *text = r->fields[fb_column_find(column)];

	return *text ? strtod(text, NULL) : (double)NAN;
}

bool fb_csv_times(const char *dir, const char *program, uint64_t launch_index,
		  const struct fb_row *row, struct fb_csv_median *median)
{
	struct fb_csv_reader r = {.file = NULL};
	char *path = NULL, *key = fb_csv_key(row, NULL);
	bool found = false;

	if (!key || asprintf(&path, "%s/%s.csv", dir, program) < 0 ||
	    fb_csv_reader_open(&r, path))
		goto free_texts;
	while (fb_csv_reader_next(&r) == 1 && !r.torn) {
		char *other;

		if (r.nfields < fb_columns_count || !is_of_launch(&r, launch_index) ||
		    !is_final(&r))
			continue;
		other = fb_csv_key(NULL, r.fields);
		if (other && !strcmp(key, other)) {
			found = true;
			*median = (struct fb_csv_median){number(&r, "median_us"),
							 number(&r, "median_low_us"),
							 number(&r, "median_high_us")};
		}
		free(other);
	}
	fb_csv_reader_close(&r);
free_texts:
	free(path);
	free(key);
	return found;
}
