/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A section as data for gnuplot; see report.h.
 *
 * gnuplot finds CSV columns by their number and cannot join rows, so it is given a small table
 * made here, where columns are found by name.
 */
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/series.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

enum { NAME_CHARS = 96 };

static bool differs(const struct fb_section *section, size_t axis)
{
	for (size_t i = 1; i < section->count; i++)
		if (strcmp(section->cell[i].place->text[axis], section->cell->place->text[axis]))
			return true;
	return false;
}

/* Appends the place on the axes of a series that has one, as "gpu_direct=no". */
static void series_name(const struct fb_section *section, const struct fb_series *series,
			char name[NAME_CHARS])
{
	const struct fb_cell *cell = series->first;
	const char *engine = fb_cell_text(cell, "engine");
	const char *transport = fb_cell_text(cell, "transport");
	bool host = !strcmp(engine, "host");
	bool shm = !strcmp(transport, "shm") || fb_cell_is_library(cell);

	snprintf(name, NAME_CHARS, "%s%s%s%s%s", host ? "" : engine, host ? "" : " ",
		 fb_cell_text(cell, "algorithm"), shm ? "" : " ", shm ? "" : transport);
	for (size_t i = 0; i < series->axes; i++) {
		const char *value = cell->place->text[i];

		if (differs(section, i))
			fb_append(name, NAME_CHARS, ", %s%s%s", section->axes->name[i],
				  *value ? "=" : " unset", value);
	}
}

/* Where there is no interval the point itself stands for it. */
static void put_line(FILE *out, const struct fb_cell *cell, const struct fb_cell *library)
{
	struct fb_ratio ratio = fb_cell_ratio(library, cell);
	double low = isfinite(cell->low_us) ? cell->low_us : cell->us;
	double high = isfinite(cell->high_us) ? cell->high_us : cell->us;
	double bytes = cell->busbw_GBps * cell->us; /* rates follow from times, never from rates */
	const double values[] = {
		cell->us,
		low,
		high,
		cell->busbw_GBps,
		ratio.value,
		isfinite(ratio.low) ? ratio.low : ratio.value,
		isfinite(ratio.high) ? ratio.high : ratio.value,
		bytes / high,
		bytes / low,
		cell->least_us,
		cell->most_us,
	};

	fprintf(out, "%llu", (unsigned long long)cell->bytes);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		fb_gnuplot_number(out, values[i]);
	fputc('\n', out);
}

/* A block of the datablock: of one series, of the library (NULL), with the sizes it has. */
static void put_series(FILE *out, const struct fb_section *section, const struct fb_series *series)
{
	size_t n;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *cell = &section->cell[i], *library, *shown;

		n = fb_section_same_place(section, i);
		library = fb_cells_best(cell, n, true);
		shown = series ? fb_series_quickest(cell, n, series) : library;
		if (shown)
			put_line(out, shown, library);
	}
	fputs("\n\n", out);
}

/* The least possible time at each size, as the best cell knows it. */
static void put_bound(FILE *out, const struct fb_section *section)
{
	size_t n;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *best;

		n = fb_section_same_place(section, i);
		best = fb_cells_best(&section->cell[i], n, false);
		if (!best || !isfinite(best->bound_us))
			continue;
		fprintf(out, "%llu", (unsigned long long)best->bytes);
		for (int column = 0; column < 3; column++)
			fb_gnuplot_number(out, best->bound_us);
		fb_gnuplot_number(out, best->busbw_GBps * best->us / best->bound_us);
		fputs(" NaN NaN NaN NaN NaN NaN NaN\n", out);
	}
	fputs("\n\n", out);
}

static void put_names(FILE *out, const struct fb_section *section, const struct fb_series *series,
		      size_t shown)
{
	char name[NAME_CHARS];

	/* One more, as gnuplot has no empty arrays. */
	fprintf(out, "array NAME[%zu]\n", shown + 1);
	for (size_t i = 0; i < shown; i++) {
		series_name(section, &series[i], name);
		fprintf(out, "NAME[%zu] = ", i + 1);
		fb_gnuplot_quote(out, name);
		fputc('\n', out);
	}
}

void fb_report_plot(const struct fb_report *report, const struct fb_section *section)
{
	struct fb_series *series = fb_new(FB_SERIES_MAX, sizeof(*series));
	size_t count = 0, shown, n, library = 0, bound = 0, sizes = 0, rates = 0, launches = 0;
	char title[FB_TITLE_CHARS], machine[FB_MACHINE_CHARS];

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *best;

		n = fb_section_same_place(section, i);
		/* With places, libraries are series too, and each place has a bound of its own. */
		best = section->axes ? fb_place_shown(&section->cell[i], n)
				     : fb_cells_best(&section->cell[i], n, false);
		library += !section->axes && fb_cells_best(&section->cell[i], n, true);
		bound += !section->axes && best && isfinite(best->bound_us);
		sizes += section->cell[i].bytes > 0 ? 1 : 0;
		rates += best && isfinite(best->busbw_GBps) ? 1 : 0;
		if (best && (!launches || best->launches < launches))
			launches = best->launches;
	}
	count = fb_series_make(section, true, series);
	shown = count < FB_PLOT_SERIES ? count : FB_PLOT_SERIES;
	fb_gnuplot_text(report->out, "TITLE", fb_section_title(section, title, sizeof(title)));
	fb_gnuplot_text(report->out, "SUBTITLE", fb_results_machine(report->results, machine));
	fb_gnuplot_text(report->out, "LIBRARY_NAME", fb_section_library(section));
	fprintf(report->out, "SIZES = %zu\nOWN = %zu\nHIDDEN = %zu\nLIBRARY = %d\nBOUND = %d\n",
		sizes, shown, count - shown, library > 0, bound > 0);
	fprintf(report->out, "RATES = %zu\nLAUNCHES = %zu\n", rates, launches);
	put_names(report->out, section, series, shown);
	fputs("$DATA << EOD\n", report->out);
	for (size_t i = 0; i < shown; i++)
		put_series(report->out, section, &series[i]);
	if (library)
		put_series(report->out, section, NULL);
	if (bound)
		put_bound(report->out, section);
	fputs("EOD\n", report->out);
}
