/* SPDX-License-Identifier: BSD-3-Clause */
/* See samples.h. */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/plot/samples.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 4 };

struct reading {
	const struct fb_results *results;
	const char *const *names;
	size_t count;
	fb_sample_fn each;
	void *arg;
	int fixed[FB_SAMPLE_FIXED]; /* index of the column */
	int value[VALUES_MAX];
	/* The join of the last line, which is that of most lines. */
	char *key[FB_SAMPLE_REPETITION];
	const struct fb_result *row;
	bool any; /* a record was read */
};

/* Returns the row-th row (from 0) of a launch of a program, borrowed, or NULL. */
static const struct fb_result *row_of(const struct fb_results *results, const char *run,
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

static int read_header(struct reading *r, const struct fb_record *record)
{
	static const char *const fixed[] = {"run", "launch_index", "program", "row", "repetition"};
	const char *missing = NULL;

	r->any = true;
	for (size_t i = 0; i < FB_SAMPLE_FIXED; i++) {
		r->fixed[i] = fb_record_find(record, fixed[i]);
		missing = r->fixed[i] < 0 ? fixed[i] : missing;
	}
	for (size_t i = 0; i < r->count; i++) {
		r->value[i] = fb_record_find(record, r->names[i]);
		missing = r->value[i] < 0 ? r->names[i] : missing;
	}
	if (missing)
		return fb_error(FB_EINPUT, "%s: no column %s", record->path, missing);
	return FB_OK;
}

/* Finds the row of the current line. Most lines belong to the same one as the line before. */
static void join(struct reading *r, const struct fb_record *record)
{
	bool same = true;

	for (size_t i = 0; i < FB_SAMPLE_REPETITION; i++)
		same = same && r->key[i] && !strcmp(r->key[i], record->field[r->fixed[i]]);
	if (same)
		return;
	for (size_t i = 0; i < FB_SAMPLE_REPETITION; i++)
		r->key[i] = fb_new_copy(record->field[r->fixed[i]]);
	r->row =
		row_of(r->results, r->key[FB_SAMPLE_RUN], r->key[FB_SAMPLE_LAUNCH],
		       r->key[FB_SAMPLE_PROGRAM], strtoull(r->key[FB_SAMPLE_ROW], NULL, 10));
}

static int use(void *arg, const struct fb_record *record)
{
	struct reading *r = arg;
	double value[VALUES_MAX];

	if (record->number == 1)
		return read_header(r, record);
	for (size_t i = 0; i < r->count; i++) {
		value[i] = fb_csv_number(record->field[r->value[i]]);
		if (!isfinite(value[i]))
			return fb_error(FB_EINPUT, "%s:%llu: '%.40s' is no number", record->path,
					(unsigned long long)record->line,
					record->field[r->value[i]]);
	}
	join(r, record);
	return r->each(r->arg, r->row,
		       strtoull(record->field[r->fixed[FB_SAMPLE_REPETITION]], NULL, 10), value);
}

int fb_samples_each(const char *path, const struct fb_results *results, const char *const *names,
		    size_t count, fb_sample_fn each, void *arg)
{
	struct reading r = {
		.results = results,
		.names = names,
		.count = count,
		.each = each,
		.arg = arg,
	};
	int err = fb_records_read(path, use, &r, NULL);

	if (!err && !r.any)
		err = fb_error(FB_EINPUT, "%s: empty: expected samples", path);
	return err;
}

void fb_doubles_sort(struct fb_doubles *list)
{
	double *scratch = fb_new(list->count + 1, sizeof(*scratch));

	if (list->count)
		fb_sort(list->x, list->count, scratch);
	fb_drop(scratch);
}
