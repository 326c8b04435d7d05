/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every table of the summary and every chart: the sections of the run, place by place, with the
 * best algorithm, the library's, and a curve for each of the project's algorithms.
 */
#include "common/base/sizes.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/series.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/plot.h"
#include "scripts/tools/report/page.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* A cell's label, times and rates; null without a cell. `library`: its ratio is to it, or NULL. */
static json_t *cell_of(const struct fb_cell *cell, const struct fb_cell *library)
{
	struct fb_ratio ratio = fb_cell_ratio(library, cell);
	const double numbers[] = {cell ? cell->us : (double)NAN, cell ? cell->low_us : (double)NAN,
				  cell ? cell->high_us : (double)NAN,
				  cell ? cell->busbw_GBps : (double)NAN,
				  cell ? cell->bound_us : (double)NAN, ratio.value, ratio.low,
				  ratio.high};
	static const char *const names[] = {"us", "low", "high", "GBps", "bound", "ratio",
					    "ratio_low", "ratio_high"};
	char label[FB_LABEL_CHARS];
	json_t *made;

	if (!cell)
		return json_null();
	made = json_object();
	fb_json_set(made, "label", fb_json_string(fb_cell_label(cell, label)));
	for (size_t i = 0; i < FB_COUNT_OF(names); i++)
		if (isfinite(numbers[i]))
			fb_json_set(made, names[i], fb_json_real(numbers[i]));
	return made;
}

/* One place and size of a section: cell[0 .. n). */
static void put_place(json_t *places, const struct fb_section *section, unsigned axes,
		      const struct fb_own *own, const struct fb_cell *cell, size_t n,
		      const struct fb_series *series, size_t curves)
{
	const struct fb_cell *library = fb_cells_best(cell, n, true);
	const struct fb_cell *mine = fb_cells_best(cell, n, false), *best = mine ? mine : library;
	json_t *place, *list;
	char text[FB_NUMBER_CHARS];

	if (!best)
		return;
	place = fb_json_object(places, NULL);
	fb_json_set(place, "bytes", fb_json_real((double)cell->bytes));
	fb_json_set(place, "ranks", fb_json_string(fb_cell_text(best, "ranks")));
	list = fb_json_array(place, "at");
	for (size_t a = 0; section->axes && a < FB_AXES; a++)
		if (axes & 1U << a)
			fb_json_add(list, fb_json_string(best->place->text[a]));
	fb_json_set(place, "mine", cell_of(mine, library));
	fb_json_set(place, "library", cell_of(library, NULL));
	list = fb_json_array(place, "own");
	for (size_t i = 0; i < own->count; i++)
		fb_json_add(list, fb_json_string(
					  fb_own_text(fb_cell_number(best, own->column[i]), text)));
	list = fb_json_array(place, "curves");
	for (size_t i = 0; i < curves; i++)
		fb_json_add(list, cell_of(fb_series_quickest(cell, n, &series[i]), library));
}

static void put_section(const struct fb_page *page, const struct fb_section *section,
			json_t *sections, struct fb_series *series)
{
	const struct fb_report report = {.results = &page->set->results};
	json_t *made = fb_json_object(sections, NULL), *list;
	char title[FB_TITLE_CHARS], text[FB_LABEL_CHARS];
	struct fb_own own = {.count = 0};
	size_t all, curves, n;
	unsigned axes;
	bool sizes;

	memset(series, 0, FB_SERIES_MAX * sizeof(*series));
	all = fb_series_make(section, false, series);
	curves = all < FB_PLOT_SERIES ? all : FB_PLOT_SERIES;
	axes = fb_section_axes(section, &sizes);
	fb_own_find(&own, &report, section);
	fb_json_set(made, "title", fb_json_string(fb_section_title(section, title, sizeof(title))));
	fb_json_set(made, "program", fb_json_string(fb_cell_text(section->cell, "program")));
	fb_json_set(made, "sizes", json_boolean(sizes));
	fb_json_set(made, "hidden", fb_json_real((double)(all - curves)));
	list = fb_json_array(made, "axes");
	for (size_t a = 0; section->axes && a < FB_AXES; a++)
		if (axes & 1U << a)
			fb_json_add(list, fb_json_string(section->axes->name[a]));
	list = fb_json_array(made, "own");
	for (size_t i = 0; i < own.count; i++)
		fb_json_add(list, fb_json_string(fb_own_name(&report, own.column[i])));
	list = fb_json_array(made, "curves");
	for (size_t i = 0; i < curves; i++) {
		const char *engine = fb_cell_text(series[i].first, "engine");
		const char *transport = fb_cell_text(series[i].first, "transport");
		bool host = !strcmp(engine, "host"), shm = !strcmp(transport, "shm");

		snprintf(text, sizeof(text), "%s%s%s%s%s", host ? "" : engine, host ? "" : " ",
			 fb_cell_text(series[i].first, "algorithm"), shm ? "" : " ",
			 shm ? "" : transport);
		fb_json_add(list, fb_json_string(text));
	}
	list = fb_json_array(made, "places");
	for (size_t i = 0; i < section->count; i += n) {
		n = fb_section_same_place(section, i);
		put_place(list, section, axes, &own, &section->cell[i], n, series, curves);
	}
}

void fb_page_sections(const struct fb_page *page, json_t *data)
{
	const struct fb_cells *cells = &page->set->cells;
	struct fb_series *series = fb_new(FB_SERIES_MAX, sizeof(*series));
	json_t *sections = fb_json_array(data, "sections");
	size_t pairs = 0;

	fb_json_set(data, "complete", json_true());
	for (size_t s = 0; s < cells->nsections; s++)
		if (fb_plot_is_pair(&cells->section[s]))
			pairs++;
		else
			put_section(page, &cells->section[s], sections, series);
	fb_json_set(data, "pair_sections", fb_json_real((double)pairs));
}
