/* SPDX-License-Identifier: BSD-3-Clause */
/* See series.h. */
#include "scripts/tools/lib/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool belongs(const struct fb_series *series, const struct fb_cell *cell)
{
	static const char *const columns[] = {"engine", "algorithm", "transport"};
	const struct fb_cell *first = series->first;

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcmp(fb_cell_text(first, columns[i]), fb_cell_text(cell, columns[i])))
			return false;
	for (size_t i = 0; i < series->axes; i++)
		if (strcmp(first->place->text[i], cell->place->text[i]))
			return false;
	return true;
}

const struct fb_cell *fb_series_quickest(const struct fb_cell *cell, size_t n,
					 const struct fb_series *series)
{
	for (size_t i = 0; i < n; i++)
		if (fb_cell_has_time(&cell[i]) && belongs(series, &cell[i]))
			return &cell[i]; /* they are sorted by time */
	return NULL;
}

/* The cells of one size at one place; best_us: the least time with which they are compared. */
static void add_cells(struct fb_series *series, size_t *count, size_t axes,
		      const struct fb_cell *cell, size_t n, double best_us)
{
	for (size_t i = 0; i < n; i++) {
		const struct fb_series new = {.first = &cell[i], .axes = axes};
		const struct fb_cell *first;
		size_t s = 0;

		if ((!axes && fb_cell_is_library(&cell[i])) || !fb_cell_has_time(&cell[i]))
			continue;
		while (s < *count && !belongs(&series[s], &cell[i]))
			s++;
		if (s == FB_SERIES_MAX)
			continue;
		if (s == *count)
			series[(*count)++] = new;
		first = fb_series_quickest(cell, n, &series[s]);
		if (!first || first != &cell[i])
			continue;
		series[s].sizes++;
		series[s].wins += cell[i].us <= best_us ? 1 : 0;
		series[s].log_sum += log(cell[i].us / best_us);
	}
}

/* The least time of so many bytes at any place; NAN: there is none. */
static double least_us(const struct fb_section *section, uint64_t bytes)
{
	double us = (double)NAN;

	for (size_t i = 0; i < section->count; i++)
		if (section->cell[i].bytes == bytes && fb_cell_has_time(&section->cell[i]))
			us = fmin(us, section->cell[i].us);
	return us;
}

/* The best at most sizes first, then by the mean distance to the best. */
static int compare_series(const void *x, const void *y)
{
	const struct fb_series *a = x, *b = y;
	double da = a->log_sum / (double)a->sizes, db = b->log_sum / (double)b->sizes;

	if (a->wins != b->wins)
		return a->wins > b->wins ? -1 : 1;
	return da < db ? -1 : da > db;
}

size_t fb_series_make(const struct fb_section *section, bool places,
		      struct fb_series series[FB_SERIES_MAX])
{
	size_t axes = places && section->axes ? section->axes->count : 0, count = 0, n;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *cell = &section->cell[i], *best;

		n = fb_section_same_place(section, i);
		best = fb_cells_best(cell, n, false);
		if (axes)
			add_cells(series, &count, axes, cell, n, least_us(section, cell->bytes));
		else if (best)
			add_cells(series, &count, 0, cell, n, best->us);
	}
	if (count)
		qsort(series, count, sizeof(*series), compare_series);
	return count;
}
