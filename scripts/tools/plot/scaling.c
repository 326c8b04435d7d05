/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time and efficiency against the number of ranks, for the smallest and for the largest size that
 * all numbers of ranks have. The number of steps dominates the first, bytes dominate the second, so
 * algorithms scale differently in the two. Efficiency is the least possible time divided by the
 * median; for steps of training, the tokens of a rank in a second divided by those at fewest ranks.
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

static const char *const loose[] = {"ranks", "nodes", NULL};

struct series {
	const struct fb_cell *first; /* for the name */
	size_t points;
	double log_sum; /* of its time by the best one's, over all points */
};

struct scaling {
	const struct fb_section **row; /* [rows], by ranks */
	size_t rows;
	uint64_t bytes[2]; /* smallest and largest; equal where there is one */
	size_t sizes;
	struct series *series;
	size_t count;
	bool library;
	int tokens; /* number of the column tokens_per_s; -1: there is none */
};

/* The quickest cell of an algorithm (NULL: of the library) at a size, or NULL. */
static const struct fb_cell *quickest(const struct fb_section *section, uint64_t bytes,
				      const struct fb_cell *series)
{
	const struct fb_cell *cell = NULL;
	size_t n = fb_section_at(section, bytes, &cell);

	if (!series)
		return n ? fb_cells_best(cell, n, true) : NULL;
	for (size_t i = 0; i < n; i++)
		if (fb_cell_has_time(&cell[i]) && fb_plot_same_algorithm(&cell[i], series))
			return &cell[i]; /* they are sorted by time */
	return NULL;
}

static bool all_rows_have(const struct scaling *s, uint64_t bytes)
{
	const struct fb_cell *cell = NULL;

	for (size_t r = 0; r < s->rows; r++) {
		size_t n = fb_section_at(s->row[r], bytes, &cell);

		if (n == 0 || !fb_cells_best(cell, n, false))
			return false;
	}
	return true;
}

static void choose_sizes(struct scaling *s)
{
	size_t n;

	for (size_t i = 0; s->rows && i < s->row[0]->count; i += n) {
		uint64_t bytes = s->row[0]->cell[i].bytes;

		n = fb_section_same_place(s->row[0], i);
		if (!all_rows_have(s, bytes))
			continue;
		s->bytes[1] = bytes;
		if (s->sizes == 0)
			s->bytes[0] = bytes;
		s->sizes = s->bytes[0] == s->bytes[1] ? 1 : 2;
	}
}

/* Series of one number of ranks and one size. */
static void add_point(struct scaling *s, const struct fb_section *section, uint64_t bytes)
{
	const struct fb_cell *cell = NULL, *best;
	size_t n = fb_section_at(section, bytes, &cell);

	best = n ? fb_cells_best(cell, n, false) : NULL;
	s->library |= n && fb_cells_best(cell, n, true);
	for (size_t i = 0; i < n && best; i++) {
		size_t k = 0;

		if (fb_cell_is_library(&cell[i]) || !fb_cell_has_time(&cell[i]) ||
		    quickest(section, bytes, &cell[i]) != &cell[i])
			continue;
		while (k < s->count && !fb_plot_same_algorithm(s->series[k].first, &cell[i]))
			k++;
		if (k == s->count)
			s->series[s->count++] = (struct series){.first = &cell[i]};
		s->series[k].points++;
		s->series[k].log_sum += log(cell[i].us / best->us);
	}
}

/* Those that are there most often first, then the nearest to the best. */
static int compare_series(const void *x, const void *y)
{
	const struct series *a = x, *b = y;
	double da = a->log_sum / (double)a->points, db = b->log_sum / (double)b->points;

	if (a->points != b->points)
		return a->points > b->points ? -1 : 1;
	return da < db ? -1 : da > db;
}

/* Tokens of a rank in a second; NAN: the row is no step. */
static double rank_rate(const struct scaling *s, const struct fb_cell *cell)
{
	if (s->tokens < 0)
		return (double)NAN;
	return fb_cell_number(cell, (size_t)s->tokens) / fb_result_number(cell->row, "ranks");
}

/* A cell's rate by *base, the series' rate with the fewest ranks (0: none yet), or by the bound. */
static double efficiency(const struct scaling *s, const struct fb_cell *cell, double *base)
{
	double rate = rank_rate(s, cell);

	if (!(rate > 0))
		return cell->bound_us / cell->us;
	*base = *base > 0 ? *base : rate;
	return rate / *base;
}

/*
 * ranks, us, low, high, efficiency; a block for each series, of the one size, then the other.
 * Returns how many efficiencies are known.
 */
static size_t put_block(FILE *out, const struct scaling *s, uint64_t bytes,
		      const struct fb_cell *series)
{
	double base = 0, share;
	size_t known = 0;

	for (size_t r = 0; r < s->rows; r++) {
		const struct fb_cell *cell = quickest(s->row[r], bytes, series);

		if (!cell)
			continue;
		fputs(fb_cell_text(cell, "ranks"), out);
		fb_gnuplot_number(out, cell->us);
		fb_gnuplot_number(out, isfinite(cell->low_us) ? cell->low_us : cell->us);
		fb_gnuplot_number(out, isfinite(cell->high_us) ? cell->high_us : cell->us);
		share = efficiency(s, cell, &base);
		known += isfinite(share) ? 1 : 0;
		fb_gnuplot_number(out, share);
		fputc('\n', out);
	}
	/* An empty block would not be counted. */
	fputs("NaN NaN NaN NaN NaN\n\n\n", out);
	return known;
}

static void put_scaling(const struct fb_plot *plot, const struct scaling *s)
{
	size_t shown = s->count < FB_PLOT_SERIES ? s->count : FB_PLOT_SERIES, known[2] = {0};
	char title[FB_TITLE_CHARS], whole[FB_TITLE_CHARS + 16];
	char name[FB_PLOT_NAME_CHARS], note[192];
	FILE *out = plot->out;

	fb_plot_cut_ranks(s->row[0], title, sizeof(title));
	snprintf(whole, sizeof(whole), "%s: scaling", title);
	snprintf(note, sizeof(note),
		 "each algorithm with its quickest protocol; efficiency is %s; %zu more algorithms "
		 "are not shown", s->count && rank_rate(s, s->series[0].first) > 0
		 ? "the tokens of a rank in a second by those with the fewest ranks"
		 : "the least possible time by the median", s->count - shown);
	if (s->count == shown)
		*strrchr(note, ';') = '\0';
	fb_plot_texts(plot, whole, note);
	fprintf(out, "PANELS = %zu\nOWN = %zu\nLIBRARY = %d\narray NAME[%zu]\narray SIZE[2]\n",
		s->sizes, shown, s->library, shown + 1);
	fb_gnuplot_text(out, "LIBRARY_NAME", fb_section_library(s->row[0]));
	for (size_t i = 0; i < shown; i++) {
		fb_plot_item(out, "NAME", i + 1, fb_plot_algorithm(s->series[i].first, name));
	}
	for (size_t p = 0; p < s->sizes; p++)
		fprintf(out, "SIZE[%zu] = '%s'\n", p + 1, fb_size_text(s->bytes[p], name));
	fprintf(out, "array RANKS[%zu]\n", s->rows + 1);
	for (size_t r = 0; r < s->rows; r++)
		fprintf(out, "RANKS[%zu] = %s\n", r + 1, fb_cell_text(s->row[r]->cell, "ranks"));
	fprintf(out, "ROWS = %zu\n$DATA << EOD\n", s->rows);
	for (size_t p = 0; p < s->sizes; p++) {
		for (size_t i = 0; i < shown; i++)
			known[p] += put_block(out, s, s->bytes[p], s->series[i].first);
		if (s->library)
			known[p] += put_block(out, s, s->bytes[p], NULL);
	}
	fprintf(out, "EOD\narray EFFICIENCIES[2] = [%zu, %zu]\n", known[0], known[1]);
}

static int make(const struct fb_plot *plot, struct scaling *s, const size_t *group, size_t wanted)
{
	for (size_t i = 0; i < plot->cells->nsections; i++)
		if (group[i] == wanted)
			s->row[s->rows++] = &plot->cells->section[i];
	choose_sizes(s);
	if (s->sizes == 0)
		return fb_error(FB_EINPUT, "%s: no size that all numbers of ranks have",
				plot->path[0]);
	for (size_t r = 0; r < s->rows; r++)
		for (size_t p = 0; p < s->sizes; p++)
			add_point(s, s->row[r], s->bytes[p]);
	qsort(s->series, s->count, sizeof(*s->series), compare_series);
	put_scaling(plot, s);
	return FB_OK;
}

/* The figure-th group that has several numbers of ranks; counts them in *count. */
static size_t pick(const size_t *group, size_t sections, size_t groups, uint64_t figure,
		   size_t *count)
{
	size_t picked = groups;

	for (size_t g = 0; g < groups; g++) {
		size_t rows = 0;

		for (size_t i = 0; i < sections; i++)
			rows += group[i] == g ? 1 : 0;
		if (rows > 1 && ++*count == figure)
			picked = g;
	}
	return picked;
}

int fb_plot_scaling(const struct fb_plot *plot)
{
	const struct fb_cells *cells = plot->cells;
	size_t *group = fb_new(cells->nsections + 1, sizeof(*group));
	struct scaling s = {
		.row = fb_new(cells->nsections + 1, sizeof(*s.row)),
		.series = fb_new(cells->count + 1, sizeof(*s.series)),
		.tokens = fb_results_column(plot->results, "tokens_per_s"),
	};
	size_t count = 0, picked;
	int err = FB_OK;

	picked = pick(group, cells->nsections, fb_plot_groups(cells, loose, group), plot->figure,
		      &count);
	if (fb_plot_wanted(plot, &err, count, "one number of ranks only: nothing scales"))
		err = make(plot, &s, group, picked);
	return err;
}
