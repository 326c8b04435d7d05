/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads rows into observations; see launches.h. folder.c reads folders, marks.c reads marks. */
#include "common/base/error.h"
#include "scripts/tools/compare/launches.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/compare/set.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/sheet.h"

#include <math.h>
#include <string.h>

enum { SCHEMA, RUN, LAUNCH, UTC, STATUS, REASON, TIME, PATH, FIXED };

/* The columns that are read beside the keys and the metric; which of them a file must have. */
static const struct {
	const char *name;
	bool needed;
} fixed[FIXED] = {
	[SCHEMA] = {"schema", true},	   [RUN] = {"run", true},
	[LAUNCH] = {"launch_index", true}, [UTC] = {"utc", false},
	[STATUS] = {"status", true},	   [REASON] = {"reason", false},
	[TIME] = {"median_us", true},	   [PATH] = {"path", false},
};

/* A result file that is being read. */
struct reader {
	struct fb_set *set;
	const struct fb_reading *reading;
	bool in_folder;
	int at[FIXED], metric; /* fields of the file; -1: none */
	int key[FB_KEY_COLUMNS];
	size_t keys;
	int launch; /* that of the record before: rows of a launch mostly follow each other */
};

static int bad(const struct fb_record *record, const char *column, const char *text,
	       const char *expected)
{
	return fb_error(FB_EINPUT, "%s:%llu: %s '%.40s': expected %s", record->path,
			(unsigned long long)record->line, column, text, expected);
}

static int read_header(struct reader *r, const struct fb_record *record)
{
	if (record->kind != FB_CSV_RESULTS) {
		if (r->in_folder)
			return FB_RECORDS_STOP;
		return fb_error(FB_EINPUT, "%s: " FB_NOT_RESULTS, record->path);
	}
	r->set->files++;
	r->keys = fb_keys_columns();
	for (size_t i = 0; i < FIXED; i++) {
		r->at[i] = fb_record_find(record, fixed[i].name);
		if (r->at[i] < 0 && fixed[i].needed)
			return fb_error(FB_EINPUT, "%s: no column %s", record->path, fixed[i].name);
	}
	fb_keys_locate(record->field, record->count, r->key);
	for (size_t i = 0; i < r->keys; i++)
		if (r->key[i] < 0)
			return fb_error(FB_EINPUT, "%s: no column %s", record->path,
					fb_key_column(i)->name);
	r->metric = fb_record_find(record, r->reading->metric->column);
	r->set->has_metric |= r->metric >= 0;
	return FB_OK;
}

/*
 * Sets a number above 0; NAN for an empty field or 0. Fields are of their columns' types already.
 */
static int read_value(const struct fb_record *record, int at, const char *name, double *value)
{
	const char *text = at < 0 ? "" : record->field[at];

	*value = fb_csv_number(text);
	if (*value < 0)
		return bad(record, name, text, "a number of at least 0");
	if (!(*value > 0))
		*value = (double)NAN;
	return FB_OK;
}

static bool is_launch(const struct fb_launch *launch, const char *run, uint64_t index)
{
	return launch->index == index && !strcmp(launch->run, run);
}

/* The launch of that name, which is added where it is new; NULL (printed): there are too many. */
static struct fb_launch *get_launch(struct fb_set *set, const char *run, uint64_t index)
{
	struct fb_launch *launch;

	for (size_t i = 0; set->launch && i < set->nlaunches; i++)
		if (is_launch(&set->launch[i], run, index))
			return &set->launch[i];
	if (set->nlaunches == FB_LAUNCHES_MAX) {
		fb_error(FB_EINPUT, "%s: more than %d launches", set->path, FB_LAUNCHES_MAX);
		return NULL;
	}
	launch = FB_ADD(set->launch, set->nlaunches);
	launch->run = fb_new_copy(run);
	launch->index = index;
	return launch;
}

/* Sets r->launch to the record's. */
static int find_launch(struct reader *r, const struct fb_record *record)
{
	struct fb_set *set = r->set;
	const char *run = record->field[r->at[RUN]], *text = record->field[r->at[LAUNCH]];
	const char *utc = r->at[UTC] < 0 ? "" : record->field[r->at[UTC]];
	struct fb_launch *launch = r->launch < 0 ? NULL : set->launch;
	uint64_t index;

	if (!fb_launch_index(text, &index))
		return bad(record, "launch_index", text, FB_LAUNCH_INDEX);
	if (launch)
		launch += r->launch;
	if (!launch || !is_launch(launch, run, index))
		launch = get_launch(set, run, index);
	if (!launch)
		return FB_EINPUT;
	r->launch = (int)(launch - set->launch);
	if (*utc && strlen(utc) < sizeof(launch->utc) &&
	    (!*launch->utc || strcmp(utc, launch->utc) < 0))
		snprintf(launch->utc, sizeof(launch->utc), "%s", utc);
	return FB_OK;
}

static int read_row(struct reader *r, const struct fb_record *record)
{
	const struct fb_reading *reading = r->reading;
	const char *text = record->field[r->at[STATUS]];
	int status = fb_status_parse(text), err;
	struct fb_observation row = {.marked = false};
	char *field[FB_KEY_COLUMNS];
	double time_us;

	if (!fb_schema_known(record->field[r->at[SCHEMA]]))
		return bad(record, "schema", record->field[r->at[SCHEMA]], "schema 1 to 3");
	if (status < 0)
		return bad(record, "status", text, "ok, wrong, skipped, few or fault");
	for (size_t i = 0; i < r->keys; i++)
		field[i] = record->field[r->key[i]];
	if (!fb_key_filter_match(reading->filter, field))
		return FB_OK;
	err = find_launch(r, record);
	if (!err)
		err = read_value(record, r->metric, reading->metric->column, &row.value);
	if (!err)
		err = read_value(record, r->at[TIME], "median_us", &time_us);
	if (err)
		return err;
	row.key = fb_keys_add(reading->keys, field);
	row.time_us = (float)time_us;
	row.launch = (uint16_t)r->launch;
	row.status = (uint8_t)status;
	*FB_ADD(r->set->row, r->set->count) = row;
	fb_set_note(r->set, row.key, status == FB_STATUS_OK || r->at[REASON] < 0
					     ? NULL : record->field[r->at[REASON]],
		    r->at[PATH] < 0 ? "" : record->field[r->at[PATH]]);
	return FB_OK;
}

static int use(void *arg, const struct fb_record *record)
{
	struct reader *r = arg;

	return record->number == 1 ? read_header(r, record) : read_row(r, record);
}

int fb_set_read_rows(struct fb_set *set, const struct fb_reading *reading, const char *path,
		     bool in_folder)
{
	struct reader r = {
		.set = set,
		.reading = reading,
		.in_folder = in_folder,
		.launch = -1,
	};
	size_t before = set->files;
	int err = fb_records_read(path, use, &r, NULL);

	if (!err && set->files == before && !in_folder)
		return fb_error(FB_EINPUT, "%s: empty: not a result file", path);
	return err;
}
