/* SPDX-License-Identifier: BSD-3-Clause */
/* See samples.h. */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/csv_read.h"
#include "scripts/tools/plot/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 4 };

struct reading {
	struct fb_csv_reader csv;
	size_t fields;
	int fixed[FB_SAMPLE_FIXED]; /* index of the column */
	int value[VALUES_MAX];
	/* The join of the last line, which is that of most lines. */
	char *key[FB_SAMPLE_REPETITION];
	const struct fb_result *row;
};

const struct fb_result *fb_sample_row(const struct fb_results *results, const char *run,
				      const char *launch, const char *program, uint64_t row)
{
	for (size_t i = 0; i < results->count; i++) {
		const struct fb_result *r = &results->row[i];

		if (strcmp(fb_result_text(r, "program"), program) ||
		    strcmp(fb_result_text(r, "launch_index"), launch) ||
		    strcmp(fb_result_text(r, "run"), run))
			continue;
		if (row-- == 0)
			return r;
	}
	return NULL;
}

static int find(const struct fb_csv_reader *csv, const char *name)
{
	for (size_t i = 0; i < csv->nfields; i++)
		if (!strcmp(csv->fields[i], name))
			return (int)i;
	return -1;
}

static int read_header(struct reading *r, const char *const *names, size_t count)
{
	static const char *const fixed[] = {"run", "launch_index", "program", "row", "repetition"};
	const char *missing = NULL;

	if (fb_csv_reader_next(&r->csv) <= 0)
		return fb_error(FB_EINPUT, "%s: empty: expected samples", r->csv.path);
	r->fields = r->csv.nfields;
	for (size_t i = 0; i < FB_SAMPLE_FIXED; i++) {
		r->fixed[i] = find(&r->csv, fixed[i]);
		missing = r->fixed[i] < 0 ? fixed[i] : missing;
	}
	for (size_t i = 0; i < count; i++) {
		r->value[i] = find(&r->csv, names[i]);
		missing = r->value[i] < 0 ? names[i] : missing;
	}
	if (missing)
		return fb_error(FB_EINPUT, "%s: no column %s", r->csv.path, missing);
	return FB_OK;
}

/* Finds the row of the current line. Most lines belong to the same one as the line before. */
static int join(struct reading *r, const struct fb_results *results)
{
	bool same = true;

	for (size_t i = 0; i < FB_SAMPLE_REPETITION; i++)
		same = same && r->key[i] && !strcmp(r->key[i], r->csv.fields[r->fixed[i]]);
	if (same)
		return FB_OK;
	for (size_t i = 0; i < FB_SAMPLE_REPETITION; i++) {
		free(r->key[i]);
		r->key[i] = strdup(r->csv.fields[r->fixed[i]]);
		if (!r->key[i])
			return fb_error(FB_ENOMEM, "%s: out of memory", r->csv.path);
	}
	r->row =
		fb_sample_row(results, r->key[FB_SAMPLE_RUN], r->key[FB_SAMPLE_LAUNCH],
			      r->key[FB_SAMPLE_PROGRAM], strtoull(r->key[FB_SAMPLE_ROW], NULL, 10));
	return FB_OK;
}

static int read_lines(struct reading *r, const struct fb_results *results, size_t count,
		      fb_sample_fn each, void *arg)
{
	double value[VALUES_MAX];
	int err = FB_OK, more = 0;

	while (!err && (more = fb_csv_reader_next(&r->csv)) > 0 && !r->csv.torn) {
		char **field = r->csv.fields;

		if (r->csv.nfields != r->fields)
			return fb_error(FB_EINPUT, "%s:%llu: %zu fields, the header has %zu",
					r->csv.path, (unsigned long long)r->csv.line,
					r->csv.nfields, r->fields);
		for (size_t i = 0; i < count; i++) {
			char *end;

			value[i] = strtod(field[r->value[i]], &end);
			if (end == field[r->value[i]] || *end || !isfinite(value[i]))
				return fb_error(FB_EINPUT, "%s:%llu: '%s' is no number",
						r->csv.path, (unsigned long long)r->csv.line,
						field[r->value[i]]);
		}
		err = join(r, results);
		if (!err)
			err = each(arg, r->row,
				   strtoull(field[r->fixed[FB_SAMPLE_REPETITION]], NULL, 10),
				   value);
	}
	if (!err && more < 0)
		err = fb_error(FB_EINPUT, "%s:%llu: %s", r->csv.path,
			       (unsigned long long)r->csv.line,
			       more == FB_EDATA ? r->csv.problem : fb_strerror(more));
	return err;
}

int fb_samples_each(const char *path, const struct fb_results *results, const char *const *names,
		    size_t count, fb_sample_fn each, void *arg)
{
	struct reading r = {.row = NULL};
	int err = fb_csv_reader_open(&r.csv, path);

	if (!err)
		err = read_header(&r, names, count);
	if (!err)
		err = read_lines(&r, results, count, each, arg);
	for (size_t i = 0; i < FB_SAMPLE_REPETITION; i++)
		free(r.key[i]);
	fb_csv_reader_close(&r.csv);
	return err;
}

int fb_doubles_add(struct fb_doubles *list, double x)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 256;
		double *grown = realloc(list->x, capacity * sizeof(*grown));

		if (!grown)
			return fb_error(FB_ENOMEM, "out of memory for %zu samples", capacity);
		list->x = grown;
		list->capacity = capacity;
	}
	list->x[list->count++] = x;
	return FB_OK;
}

int fb_doubles_sort(struct fb_doubles *list)
{
	double *scratch = malloc((list->count + 1) * sizeof(*scratch));

	if (!scratch)
		return fb_error(FB_ENOMEM, "out of memory for %zu samples", list->count);
	if (list->count)
		fb_sort(list->x, list->count, scratch);
	free(scratch);
	return FB_OK;
}
