/* SPDX-License-Identifier: BSD-3-Clause */
/* The noise file, which holds what a self-test learnt about every row; see limits.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/limits.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/sheet.h"

#include <math.h>
#include <string.h>

int fb_limits_read_noise(struct fb_limits *limits, const char *path, const char *metric)
{
	int err, at_metric, at_noise, key[FB_KEY_COLUMNS];
	size_t keys = fb_keys_columns(), found;
	struct fb_sheet sheet;

	err = fb_sheet_read_any(&sheet, path);
	if (err)
		return err;
	at_metric = fb_sheet_column(&sheet, "metric");
	at_noise = fb_sheet_column(&sheet, "noise");
	found = fb_keys_locate(sheet.column, sheet.ncolumns, key);
	if (at_metric < 0 || at_noise < 0 || found < keys)
		return fb_error(FB_EINPUT,
				"%s: not a noise file: expected what compare --self-test writes",
				path);
	for (size_t row = 0; row < sheet.nrows; row++) {
		double noise = fb_sheet_number(&sheet, row, at_noise);
		char *field[FB_KEY_COLUMNS];
		uint32_t index;

		if (strcmp(fb_sheet_text(&sheet, row, at_metric), metric) != 0)
			return fb_error(FB_EINPUT, "%s: noise of %s: expected that of %s", path,
					fb_sheet_text(&sheet, row, at_metric), metric);
		if (!(noise >= 0))
			return fb_sheet_refuse(&sheet, row, at_noise, "a number of at least 0");
		for (size_t i = 0; i < keys; i++)
			field[i] = sheet.row[row].cell[key[i]];
		index = fb_keys_add(&limits->keys, field);
		while (limits->nnoise <= index)
			*FB_ADD(limits->noise, limits->nnoise) = (double)NAN;
		limits->noise[index] = noise;
	}
	return FB_OK;
}

void fb_noise_write(FILE *out, const struct fb_keys *keys, const uint32_t *row_key, size_t rows,
		    const double *noise, const char *metric, size_t launches)
{
	fb_keys_put_header(out);
	fputs("metric,launches,noise\n", out);
	for (size_t i = 0; i < rows; i++) {
		if (isnan(noise[i]))
			continue;
		fb_key_put(&keys->key[row_key[i]], out);
		fprintf(out, "%s,%zu,%.6f\n", metric, launches, noise[i]);
	}
}
