/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm and protocol is the fastest at each size and number of ranks: a tile for each, so
 * that the borders between algorithms can be seen at once. One number of ranks is enough, but the
 * map shows more with the folders of several numbers of ranks.
 */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Protocols, and the split of ranks over nodes, may differ inside of a map. */
static const char *const loose[] = {"ranks", "nodes", NULL};

struct winner {
	const struct fb_cell *first; /* for the name */
	size_t tiles;
};

struct map {
	const struct fb_section **row; /* [rows], by ranks: sections come sorted so */
	size_t rows;
	uint64_t *bytes; /* [columns], ascending */
	size_t columns;
	struct winner *winner; /* [winners], those with most tiles first */
	size_t winners;
};

static const struct fb_cell *best_at(const struct fb_section *section, uint64_t bytes)
{
	const struct fb_cell *cell = NULL;
	size_t n = fb_section_at(section, bytes, &cell);

	return n ? fb_cells_best(cell, n, false) : NULL;
}

static size_t find_winner(const struct map *map, const struct fb_cell *cell)
{
	size_t w = 0;

	while (w < map->winners && !fb_plot_same_algorithm(map->winner[w].first, cell))
		w++;
	return w;
}

static int compare_bytes(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static int compare_winners(const void *x, const void *y)
{
	const struct winner *a = x, *b = y;

	if (a->tiles != b->tiles)
		return a->tiles > b->tiles ? -1 : 1;
	return strcmp(fb_cell_text(a->first, "algorithm"), fb_cell_text(b->first, "algorithm"));
}

/* The sizes and winners of a row; there is room for as many as there are cells. */
static void add_row(struct map *map, const struct fb_section *section)
{
	size_t n;

	map->row[map->rows++] = section;
	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *best;
		size_t w, c = 0;

		n = fb_section_same_place(section, i);
		best = fb_cells_best(&section->cell[i], n, false);
		if (!best)
			continue;
		while (c < map->columns && map->bytes[c] != best->bytes)
			c++;
		if (c == map->columns)
			map->bytes[map->columns++] = best->bytes;
		w = find_winner(map, best);
		if (w == map->winners)
			map->winner[map->winners++] = (struct winner){.first = best};
		map->winner[w].tiles++;
	}
}

/* x, y, number of the winner, protocol, time, and how much quicker than the library. */
static void put_tiles(const struct fb_plot *plot, const struct map *map)
{
	for (size_t r = 0; r < map->rows; r++)
		for (size_t c = 0; c < map->columns; c++) {
			const struct fb_cell *best = best_at(map->row[r], map->bytes[c]);
			const struct fb_cell *at = NULL;
			double ratio;
			size_t n;

			if (!best)
				continue;
			n = fb_section_at(map->row[r], map->bytes[c], &at);
			fprintf(plot->out, "%zu %zu %zu", c, r, find_winner(map, best) + 1);
			fb_gnuplot_field(plot->out, fb_cell_text(best, "protocol"));
			fb_gnuplot_number(plot->out, best->us);
			ratio = fb_cell_ratio(fb_cells_best(at, n, true), best).value;
			/* 0: no library; gnuplot would write NaN into the tile. */
			fb_gnuplot_number(plot->out, isfinite(ratio) ? ratio : 0);
			fputc('\n', plot->out);
		}
}

static void put_title(const struct fb_plot *plot, const struct map *map)
{
	char title[FB_TITLE_CHARS], whole[FB_TITLE_CHARS + 32], note[160];

	if (map->rows > 1)
		fb_plot_cut_ranks(map->row[0], title, sizeof(title));
	else
		fb_section_title(map->row[0], title, sizeof(title));
	snprintf(whole, sizeof(whole), "%s: quickest algorithm", title);
	snprintf(note, sizeof(note),
		 "In a tile: protocol, median time, and time of %s by it. Quickest: the one whose "
		 "interval ends first.", fb_section_library(map->row[0]));
	fb_plot_texts(plot, whole, note);
}

static void put_map(const struct fb_plot *plot, const struct map *map)
{
	FILE *out = plot->out;
	char text[FB_PLOT_NAME_CHARS + 32];

	put_title(plot, map);
	fprintf(out, "ROWS = %zu\nCOLUMNS = %zu\nWINNERS = %zu\n", map->rows, map->columns,
		map->winners);
	fprintf(out, "array NAME[%zu]\narray SIZE[%zu]\narray RANKS[%zu]\n", map->winners + 1,
		map->columns + 1, map->rows + 1);
	for (size_t w = 0; w < map->winners; w++) {
		fb_plot_item(out, "NAME", w + 1, fb_plot_algorithm(map->winner[w].first, text));
	}
	for (size_t c = 0; c < map->columns; c++) {
		fb_size_text(map->bytes[c], text);
		fprintf(out, "SIZE[%zu] = '%s'\n", c + 1, text);
	}
	for (size_t r = 0; r < map->rows; r++) {
		const struct fb_cell *cell = map->row[r]->cell;
		const char *nodes = fb_cell_text(cell, "nodes");

		snprintf(text, sizeof(text), "%s%s%s", fb_cell_text(cell, "ranks"),
			 strcmp(nodes, "1") ? " on " : "", strcmp(nodes, "1") ? nodes : "");
		fprintf(out, "RANKS[%zu] = '%s'\n", r + 1, text);
	}
	fputs("$DATA << EOD\n", out);
	put_tiles(plot, map);
	fputs("EOD\n", out);
}

int fb_plot_map(const struct fb_plot *plot)
{
	const struct fb_cells *cells = plot->cells;
	size_t *group = fb_new(cells->nsections + 1, sizeof(*group));
	struct map map = {
		.row = fb_new(cells->nsections + 1, sizeof(*map.row)),
		.bytes = fb_new(cells->count + 1, sizeof(*map.bytes)),
		.winner = fb_new(cells->count + 1, sizeof(*map.winner)),
	};
	int err = FB_OK;

	if (!fb_plot_wanted(plot, &err, fb_plot_groups(cells, loose, group), "no rows"))
		return err;
	for (size_t s = 0; s < cells->nsections; s++)
		if (group[s] + 1 == plot->figure)
			add_row(&map, &cells->section[s]);
	qsort(map.bytes, map.columns, sizeof(*map.bytes), compare_bytes);
	qsort(map.winner, map.winners, sizeof(*map.winner), compare_winners);
	if (!map.winners)
		return fb_error(FB_EINPUT, "%s: no algorithm of the project's own has a time",
				plot->path[0]);
	put_map(plot, &map);
	return FB_OK;
}
