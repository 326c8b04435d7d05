/* SPDX-License-Identifier: BSD-3-Clause */
/* Records as rows of result files; see import.h. */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/csv.h"
#include "common/record/variant.h"
#include "scripts/tools/import/folder.h"
#include "scripts/tools/import/import.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH_SAMPLES = 5 };

struct keyed {
	char *key;
	size_t section, index;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	order = strcmp(x->key, y->key);
	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static int add_keys(const struct fb_import_section *section, struct fb_import_record *record,
		    const char *keys)
{
	char why[160];

	if (!*keys || !fb_variant_add(record->key.variant, keys, why, sizeof(why)))
		return FB_OK;
	return fb_error(FB_EINPUT, "%s:%zu: '%s' cannot become keys of this row: expected %s",
			section->file, record->line, keys, why);
}

/* Adds the run's configuration, as the log and the user give it, to the row's key. */
static int set_keys(const struct fb_import *import, struct fb_import_record *record)
{
	const struct fb_import_section *section = &import->section[record->section];
	char keys[4 * FB_VARIANT_CHARS] = "";
	int err;

	for (size_t i = 0; i < section->tags.count; i++)
		fb_append(keys, sizeof(keys), "%s%s=%s", i ? ";" : "", section->tags.item[i].key,
			  section->tags.item[i].value);
	err = add_keys(section, record, keys);
	if (!err && import->hints.tags)
		err = add_keys(section, record, import->hints.tags);
	return err;
}

/* Adds the times of the second record to the samples of the first. */
static int join_pair(const struct fb_import *import, struct fb_import_record *first,
		     struct fb_import_record *second)
{
	if (import->section[first->section].unmarked)
		return fb_error(FB_EINPUT,
				"%s:%zu: the same case as in line %zu, and no header lines that "
				"say whether another run began: expected a file for each run",
				import->section[second->section].file, second->line, first->line);
	if (!first->nsamples || !second->nsamples)
		return fb_error(FB_EINPUT, "%s:%zu: the same case as in line %zu, of one run of %s",
				import->section[second->section].file, second->line, first->line,
				import->section[second->section].program);
	for (size_t i = 0; i < second->nsamples; i++)
		fb_import_sample(first, second->sample[i]);
	first->row.errors += second->row.errors;
	if (second->row.status == FB_STATUS_WRONG)
		first->row.status = FB_STATUS_WRONG;
	second->section = SIZE_MAX;
	return FB_OK;
}

static int join(struct fb_import *import)
{
	struct keyed *list = fb_new(import->nrecords + 1, sizeof(*list));
	size_t first = 0;
	int err = FB_OK;

	for (size_t i = 0; i < import->nrecords && !err; i++) {
		struct fb_import_record *record = import->record[i];

		record->key.program = import->section[record->section].program;
		err = set_keys(import, record);
		if (err)
			break;
		list[i] = (struct keyed){fb_csv_key(&record->row, NULL), record->section, i};
	}
	if (!err)
		qsort(list, import->nrecords, sizeof(*list), by_key);
	for (size_t i = 1; i < import->nrecords && !err; i++) {
		if (list[i].section != list[first].section || strcmp(list[i].key, list[first].key))
			first = i;
		else
			err = join_pair(import, import->record[list[first].index],
					import->record[list[i].index]);
	}
	for (size_t i = 0; i < import->nrecords; i++)
		free(list[i].key);
	return err;
}

/* The tool's rates follow from the row's time, as everywhere in the schema. */
static void set_rates(struct fb_import_record *record)
{
	struct fb_row *row = &record->row;

	if (!(row->median_us > 0) || !(record->counted_bytes > 0))
		return;
	row->algbw_GBps = record->counted_bytes / row->median_us * 1e-3;
	row->busbw_GBps = row->algbw_GBps * record->bus_factor;
}

static void set_reason(struct fb_import_record *record)
{
	struct fb_row *row = &record->row;

	if (row->status == FB_STATUS_WRONG && !strstr(record->reason, "wrong"))
		snprintf(record->reason, sizeof(record->reason),
			 "%llu wrong elements, says the tool", (unsigned long long)row->errors);
	else if (row->status == FB_STATUS_FEW && record->nsamples > 1)
		snprintf(record->reason, sizeof(record->reason), "%zu means of iterations",
			 record->nsamples);
	row->reason = row->status == FB_STATUS_OK ? "" : record->reason;
}

/* Order statistics of the samples; a single mean has none but itself. */
static int summarise(struct fb_import_record *record)
{
	struct fb_summary s;
	struct fb_row *row = &record->row;
	double *scratch = fb_new(2 * (record->nsamples + 1), sizeof(*scratch));

	if (record->nsamples > 0 &&
	    fb_summarise(record->sample, record->nsamples, scratch, &s) == 0) {
		row->samples = record->nsamples;
		row->median_us = s.median;
		if (record->nsamples > 1) {
			row->min_us = s.min;
			row->max_us = s.max;
			row->mad_us = s.mad;
			row->median_low_us = s.median_low;
			row->median_high_us = s.median_high;
			row->p05_us = s.p05;
			row->p95_us = s.p95;
			row->p99_us = s.p99;
			row->outliers = s.outliers;
			row->rank_mean_us = row->rank_min_us = (double)NAN;
			record->extra[FB_EXTRA_RANK_MAX_US] = (double)NAN;
		}
	}
	if (row->status == FB_STATUS_FEW && row->samples >= ENOUGH_SAMPLES)
		row->status = FB_STATUS_OK;
	set_rates(record);
	set_reason(record);
	return FB_OK;
}

static int write_program(const struct fb_import *import, const char *program, const char *folder,
			 const char *run)
{
	struct fb_csv csv;
	size_t rows = 0;
	int err = fb_csv_open(&csv, folder, program, fb_import_extras, FB_EXTRAS, false), closed;

	if (err)
		return err;
	for (size_t i = 0; i < import->nrecords && !err; i++) {
		struct fb_import_record *record = import->record[i];
		const struct fb_import_section *section;

		if (record->section == SIZE_MAX)
			continue;
		section = &import->section[record->section];
		if (strcmp(section->program, program))
			continue;
		record->row.run = run;
		record->row.launch_index = section->launch;
		record->row.utc = section->utc;
		record->row.path = section->path;
		record->row.flags = record->flags;
		record->row.extra = record->extra;
		err = fb_csv_append(&csv, &record->row);
		rows++;
	}
	closed = fb_csv_close(&csv);
	if (!err && !closed)
		printf("%s/%s.csv: %zu rows\n", folder, program, rows);
	return err ? err : closed;
}

int fb_import_write(struct fb_import *import, const char *folder, const char *run, bool numbered,
		    uint64_t first)
{
	int err = join(import);

	for (size_t i = 0; i < import->nrecords && !err; i++)
		if (import->record[i]->section != SIZE_MAX)
			err = summarise(import->record[i]);
	if (!err)
		err = fb_import_number(import, folder, numbered, first);
	for (size_t i = 0; i < import->nsections && !err; i++) {
		bool done = import->section[i].side;

		for (size_t j = 0; j < i; j++)
			done |= !import->section[j].side &&
				!strcmp(import->section[j].program, import->section[i].program);
		if (!done)
			err = write_program(import, import->section[i].program, folder, run);
	}
	if (!err)
		err = fb_import_write_facts(import, folder, run);
	return err;
}
