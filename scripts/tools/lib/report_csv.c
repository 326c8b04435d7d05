/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary as CSV; see report.h. */
#include "common/record/csv.h"
#include "scripts/tools/lib/report.h"

#include <math.h>

static void put_cell(const struct fb_report *report, const struct fb_cell *cell,
		     const struct fb_cell *library, size_t place)
{
	struct fb_ratio ratio = fb_cell_ratio(library, cell);
	const double numbers[] = {
		cell->us,      cell->low_us, cell->high_us,
		cell->busbw_GBps, cell->bound_us, library ? library->us : (double)NAN,
		ratio.value,   ratio.low,    ratio.high,
	};
	const char *separator = "";

	for (size_t i = 0; i < fb_columns_count; i++) {
		if (fb_columns[i].kind != FB_COLUMN_KEY)
			continue;
		fputs(separator, report->out);
		fb_csv_put_field(report->out, cell->row->field[i]);
		separator = ",";
	}
	fprintf(report->out, ",%s,%zu,%zu", fb_status_name(cell->status), cell->launches, place);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		fb_put_number(report->out, numbers[i]);
	fputc('\n', report->out);
}

static void put_header(FILE *out)
{
	const char *separator = "";

	for (size_t i = 0; i < fb_columns_count; i++) {
		if (fb_columns[i].kind != FB_COLUMN_KEY)
			continue;
		fprintf(out, "%s%s", separator, fb_columns[i].name);
		separator = ",";
	}
	fputs(",status,launches,place,median_us,median_low_us,median_high_us,busbw_GBps,bound_us,"
	      "library_us,ratio,ratio_low,ratio_high\n", out);
}

static void put_size(const struct fb_report *report, const struct fb_cell *cell, size_t n)
{
	const struct fb_cell *library = fb_cells_best(cell, n, true);
	const struct fb_cell *shown = fb_place_shown(cell, n);

	/* Cells are sorted by time, so the place is the index; 0 for those without a time. */
	for (size_t i = 0; i < n; i++)
		if (report->all || &cell[i] == shown)
			put_cell(report, &cell[i], library,
				 fb_cell_has_time(&cell[i]) ? i + 1 : 0);
}

void fb_report_csv(const struct fb_report *report)
{
	put_header(report->out);
	for (size_t s = 0; s < report->cells->nsections; s++) {
		const struct fb_section *section = &report->cells->section[s];
		size_t n;

		for (size_t i = 0; i < section->count; i += n) {
			n = fb_section_same_place(section, i);
			put_size(report, &section->cell[i], n);
		}
	}
}
