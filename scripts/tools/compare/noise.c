/* SPDX-License-Identifier: BSD-3-Clause */
/* The noise file: what a self-test learnt of every row; see limits.h. */
#include "common/base/error.h"
#include "common/record/csv.h"
#include "scripts/tools/compare/limits.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct fb_limits *limits;
	const char *metric;
	int at_metric, at_noise, key[FB_KEY_COLUMNS];
};

static int read_header(struct reader *r, const struct fb_record *record)
{
	size_t keys = fb_keys_columns();
	bool whole;

	r->at_metric = fb_record_find(record, "metric");
	r->at_noise = fb_record_find(record, "noise");
	whole = r->at_metric >= 0 && r->at_noise >= 0;
	for (size_t i = 0; i < keys; i++) {
		r->key[i] = fb_record_find(record, fb_columns[fb_keys_column(i)].name);
		whole = whole && r->key[i] >= 0;
	}
	if (!whole)
		return fb_error(FB_EINPUT,
				"%s: not a noise file: expected what compare --self-test writes",
				record->path);
	return FB_OK;
}

static int use(void *arg, const struct fb_record *record)
{
	struct reader *r = arg;
	struct fb_limits *limits = r->limits;
	size_t keys = fb_keys_columns();
	char *field[FB_KEY_COLUMNS], *end;
	const char *text;
	uint32_t index;
	double noise;

	if (record->number == 1)
		return read_header(r, record);
	if (strcmp(record->field[r->at_metric], r->metric) != 0)
		return fb_error(FB_EINPUT, "%s: noise of %s: expected that of %s", record->path,
				record->field[r->at_metric], r->metric);
	text = record->field[r->at_noise];
	noise = strtod(text, &end);
	if (end == text || *end || !(noise >= 0) || !isfinite(noise))
		return fb_error(FB_EINPUT, "%s: record %llu: noise '%.40s': expected a number",
				record->path, (unsigned long long)record->number, text);
	for (size_t i = 0; i < keys; i++)
		field[i] = record->field[r->key[i]];
	index = fb_keys_add(&limits->keys, field);
	while (limits->nnoise <= index)
		*FB_ADD(limits->noise, limits->nnoise) = (double)NAN;
	limits->noise[index] = noise;
	return FB_OK;
}

int fb_limits_read_noise(struct fb_limits *limits, const char *path, const char *metric)
{
	struct reader r = {.limits = limits, .metric = metric};

	return fb_records_read(path, use, &r, NULL);
}

void fb_noise_write(FILE *out, const struct fb_keys *keys, const uint32_t *row_key, size_t rows,
		    const double *noise, const char *metric, size_t launches)
{
	size_t columns = fb_keys_columns();

	for (size_t i = 0; i < columns; i++)
		fprintf(out, "%s,", fb_columns[fb_keys_column(i)].name);
	fputs("metric,launches,noise\n", out);
	for (size_t i = 0; i < rows; i++) {
		const char *field[FB_KEY_COLUMNS];

		if (isnan(noise[i]))
			continue;
		fb_key_fields(&keys->key[row_key[i]], field);
		for (size_t k = 0; k < columns; k++) {
			fb_csv_put_field(out, field[k]);
			fputc(',', out);
		}
		fprintf(out, "%s,%zu,%.6f\n", metric, launches, noise[i]);
	}
}
