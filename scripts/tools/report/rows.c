/* SPDX-License-Identifier: BSD-3-Clause */
/* Every row of the result files, in the columns that page.js knows how to show. */
#include "scripts/tools/lib/text.h"
#include "scripts/tools/report/page.h"

#include <jansson.h>

void fb_page_rows(const struct fb_page *page, json_t *data)
{
	static const char *const columns[] = {
		"program", "operation", "engine", "algorithm", "protocol", "bytes", "median_us",
		"busbw_GBps", "efficiency", "status", "median_low_us", "median_high_us", "p95_us",
		"skew_us", "samples", "transport", "datatype", "redop", "root", "in_place", "ranks",
		"nodes", "memory", "registration", "launch", "cadence", "variant", "launch_index",
		"utc", "flags", "traffic", "counters", "reason"};
	const struct fb_results *results = &page->set->results;
	json_t *made = fb_json_object(data, "rows"), *list = fb_json_array(made, "columns");
	json_t *rows = fb_json_array(made, "rows");

	for (size_t i = 0; i < FB_COUNT_OF(columns); i++) {
		const struct fb_column *column = &fb_columns[fb_column_find(columns[i])];
		json_t *description = fb_json_object(list, NULL);

		fb_json_set(description, "name", fb_json_string(column->name));
		fb_json_set(description, "help", fb_json_string(column->help));
		fb_json_set(description, "key", json_boolean(column->kind == FB_COLUMN_KEY));
		fb_json_set(description, "number", json_boolean(column->type != FB_COLUMN_TEXT));
	}
	for (size_t r = 0; r < results->count; r++) {
		json_t *row = fb_json_array(rows, NULL);

		for (size_t i = 0; i < FB_COUNT_OF(columns); i++) {
			const struct fb_result *result = &results->row[r];
			const char *name = columns[i];
			bool text = fb_columns[fb_column_find(name)].type == FB_COLUMN_TEXT;

			fb_json_add(row, text ? fb_json_string(fb_result_text(result, name))
					      : fb_json_real(fb_result_number(result, name)));
		}
	}
}
