/* SPDX-License-Identifier: BSD-3-Clause */
/* See series.h. */
#include "scripts/tools/lib/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_series(const struct fb_cell *a, const struct fb_cell *b)
{
	static const char *const columns[] = {"engine", "algorithm", "transport"};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcmp(fb_cell_text(a, columns[i]), fb_cell_text(b, columns[i])))
			return false;
	return true;
}

const struct fb_cell *fb_series_quickest(const struct fb_cell *cell, size_t n,
					 const struct fb_cell *series)
{
	for (size_t i = 0; i < n; i++)
		if (fb_cell_has_time(&cell[i]) && same_series(&cell[i], series))
			return &cell[i]; /* they are sorted by time */
	return NULL;
}

static void add_cells(struct fb_series *series, size_t *count, const struct fb_cell *cell, size_t n)
{
	const struct fb_cell *best = fb_cells_best(cell, n, false);

	if (!best)
		return; /* none has a time */
	for (size_t i = 0; i < n; i++) {
		const struct fb_cell *first;
		size_t s = 0;

		if (fb_cell_is_library(&cell[i]) || !fb_cell_has_time(&cell[i]))
			continue;
		while (s < *count && !same_series(series[s].first, &cell[i]))
			s++;
		if (s == FB_SERIES_MAX)
			continue;
		if (s == *count)
			series[(*count)++] = (struct fb_series){.first = &cell[i]};
		first = fb_series_quickest(cell, n, &cell[i]);
		if (!first || first != &cell[i])
			continue;
		series[s].sizes++;
		series[s].wins += &cell[i] == best ? 1 : 0;
		series[s].log_sum += log(cell[i].us / best->us);
	}
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

size_t fb_series_make(const struct fb_section *section, struct fb_series series[FB_SERIES_MAX])
{
	size_t count = 0, n;

	for (size_t i = 0; i < section->count; i += n) {
		n = fb_section_same_place(section, i);
		add_cells(series, &count, &section->cell[i], n);
	}
	if (count)
		qsort(series, count, sizeof(*series), compare_series);
	return count;
}
