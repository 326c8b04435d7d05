/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every row of the result files, to be searched, filtered and sorted. Key columns in which no two
 * rows differ are said once above the table instead.
 */
#include "common/base/error.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Value columns are always shown; key columns where they differ. */
static const struct fb_page_column columns[] = {
	{"program", "program", "text", "program that measured the row", true, false, false},
	{"operation", "operation", "text", "what was timed", true, false, false},
	{"engine", "engine", "text", "what carried the operation out", true, false, false},
	{"algorithm", "algorithm", "text", "library: the library chose", true, false, false},
	{"protocol", "protocol", "text", "how bytes cross a link", true, false, false},
	{"bytes", "bytes", "bytes", "message size", true, false, false},
	{"median_us", "median us", "number",
	 "median over repetitions of the time until the last rank is through", false, false, false},
	{"busbw_GBps", "GB/s", "number", "bus bandwidth", false, false, false},
	{"efficiency", "of bound", "percent", "least possible time by the median", false, false,
	 false},
	{"status", "status", "text", "ok, wrong (data), skipped, few (samples), fault", true, true,
	 false},
	{"median_low_us", "low us", "number", "lower end of the median's 95% interval", false,
	 false, false},
	{"median_high_us", "high us", "number", "upper end", false, false, false},
	{"p95_us", "p95 us", "number", "95th percentile", false, false, false},
	{"skew_us", "skew us", "number", "how far apart ranks began", false, false, false},
	{"samples", "samples", "number", "repetitions", false, false, false},
	{"transport", "transport", "text", "what links are made of", true, false, false},
	{"datatype", "type", "text", "", true, false, false},
	{"redop", "reduction", "text", "", true, false, false},
	{"root", "root", "number", "root rank; -1 where there is none", false, false, false},
	{"in_place", "in place", "text", "", true, false, false},
	{"ranks", "ranks", "number", "", true, false, false},
	{"nodes", "nodes", "number", "", true, false, false},
	{"memory", "memory", "text", "", true, false, false},
	{"registration", "registration", "text", "", true, false, false},
	{"launch", "launch", "text", "how the operation is started", true, false, false},
	{"cadence", "cadence", "text", "", true, false, false},
	{"variant", "variant", "text", "the program's own keys", false, false, false},
	{"launch_index", "start", "number", "which start of the program", false, false, false},
	{"flags", "flags", "text", "remarks on the quality", false, false, false},
	{"reason", "reason", "text", "why the status is not ok", false, false, false},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static bool is_key(const char *name)
{
	return fb_columns[fb_column_find(name)].kind == FB_COLUMN_KEY;
}

/* Whether all rows say the same; then there is nothing to see in the column. */
static bool is_constant(const struct fb_results *results, const char *name)
{
	for (size_t i = 1; i < results->count; i++)
		if (strcmp(fb_result_text(&results->row[i], name),
			   fb_result_text(&results->row[0], name)))
			return false;
	return true;
}

/* Most programs time one operation, which has their name. */
static bool is_program(const struct fb_results *results, const char *name)
{
	if (strcmp(name, "operation"))
		return false;
	for (size_t i = 0; i < results->count; i++)
		if (strcmp(fb_result_text(&results->row[i], "program"),
			   fb_result_text(&results->row[i], "operation")))
			return false;
	return true;
}

static bool is_empty(const struct fb_results *results, const char *name)
{
	return results->count && is_constant(results, name) &&
	       !*fb_result_text(&results->row[0], name);
}

/* The columns that are shown; the constant keys are said in a line. Returns how many. */
static size_t choose(const struct fb_page *page, struct fb_page_column shown[COLUMNS])
{
	const struct fb_results *results = &page->set->results;
	size_t count = 0, said = 0;
	FILE *out = page->out;

	for (size_t i = 0; i < COLUMNS; i++) {
		const char *name = columns[i].name;
		bool constant = results->count > 1 && is_constant(results, name);

		if (is_program(results, name))
			continue;
		if (!strcmp(name, "status") || !strcmp(name, "median_us") ||
		    (is_key(name) || !strcmp(name, "launch_index") ? !constant
								   : !is_empty(results, name))) {
			shown[count++] = columns[i];
			continue;
		}
		if (!is_key(name) || !strcmp(fb_result_text(&results->row[0], name), "-") ||
		    is_empty(results, name))
			continue;
		fb_html(out,
			said++ ? ", %s <b>%s</b>"
			       : "<p class=\"soft\">The same in all rows: %s "
				 "<b>%s</b>",
			columns[i].label, fb_result_text(&results->row[0], name));
	}
	if (said)
		fputs(".</p>\n", out);
	return count;
}

int fb_page_rows(const struct fb_page *page)
{
	const struct fb_results *results = &page->set->results;
	struct fb_page_column *shown = calloc(COLUMNS, sizeof(*shown));
	FILE *out = page->out;
	size_t count;

	if (!shown)
		return fb_error(FB_ENOMEM, "out of memory for the rows");
	fb_html(out,
		"<section id=\"rows\" aria-labelledby=\"rows-title\">\n<h2 id=\"rows-title\">Rows"
		"</h2>\n<div class=\"card\">\n");
	count = choose(page, shown);
	fb_page_table_begin(page, "rows", "Rows of the result files", shown, count);
	for (size_t r = 0; r < results->count; r++) {
		fputs(r ? ",\n[" : "[", out);
		for (size_t c = 0; c < count; c++) {
			fputs(c ? "," : "", out);
			if (strcmp(shown[c].type, "text"))
				fb_page_json_number(
					out, fb_result_number(&results->row[r], shown[c].name));
			else
				fb_page_json_text(out,
						  fb_result_text(&results->row[r], shown[c].name));
		}
		fputc(']', out);
	}
	fb_page_table_end(page);
	fputs("</div>\n</section>\n", out);
	free(shown);
	return FB_OK;
}
