/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The distribution of a size's repetitions, from samples.csv (--raw), as the share of repetitions
 * that took no longer than a time. Repetitions of several launches are put together: this shows
 * what happened, it is no basis for a comparison (docs/measurement.md).
 */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/plot.h"
#include "scripts/tools/plot/samples.h"

#include <string.h>

enum { POINTS = 400 };

struct distribution {
	struct fb_results results;
	struct fb_cells cells;
	size_t *cell_of;	     /* [results.count] */
	struct fb_doubles *samples;  /* [cells.count] */
	bool *seen;		     /* [cells.count]: has samples */
	const struct fb_cell *first; /* collected are first[0 .. n) */
	size_t n;
	const char *path;
};

static bool same_key(const struct fb_result *a, const struct fb_result *b)
{
	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY && strcmp(a->field[i], b->field[i]))
			return false;
	return true;
}

static int on_sample(void *arg, const struct fb_result *row, uint64_t repetition,
		     const double *value)
{
	struct distribution *l = arg;
	struct fb_doubles *list;
	size_t cell;

	(void)repetition;
	if (!row)
		return FB_OK; /* of a program whose result file is not here */
	cell = l->cell_of[row - l->results.row];
	list = &l->samples[cell];
	l->seen[cell] = true;
	if (l->n && &l->cells.cell[cell] >= l->first && &l->cells.cell[cell] < l->first + l->n)
		*FB_ADD(list->x, list->count) = *value;
	return FB_OK;
}

static int read_samples(struct distribution *l)
{
	static const char *const names[] = {"time_us"};

	return fb_samples_each(l->path, &l->results, names, 1, on_sample, l);
}

/* A folder, or the samples.csv of one. */
static int open_input(struct distribution *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	int err;

	l->path = fb_beside(path, "samples.csv");
	if (!fb_is_folder(path))
		path = slash ? fb_new_text("%.*s", (int)(slash - path), path) : ".";
	err = fb_results_read(&l->results, path);
	if (err)
		return err;
	fb_cells_make(&l->cells, &l->results, NULL);
	l->cell_of = fb_new(l->results.count + 1, sizeof(*l->cell_of));
	l->samples = fb_new(l->cells.count + 1, sizeof(*l->samples));
	l->seen = fb_new(l->cells.count + 1, sizeof(*l->seen));
	for (size_t i = 0; i < l->results.count; i++)
		while (!same_key(&l->results.row[i], l->cells.cell[l->cell_of[i]].row))
			l->cell_of[i]++;
	return FB_OK;
}

static bool section_seen(const struct distribution *l, const struct fb_section *section)
{
	for (size_t i = 0; i < section->count; i++)
		if (l->seen[&section->cell[i] - l->cells.cell])
			return true;
	return false;
}

/* The cells of the size asked for, or of the smallest that has samples. */
static int choose_size(struct distribution *l, const struct fb_section *section, uint64_t bytes)
{
	size_t n;

	for (size_t i = 0; i < section->count && !l->n; i += n) {
		n = fb_section_same_place(section, i);
		for (size_t k = 0; k < n; k++)
			if (l->seen[&section->cell[i + k] - l->cells.cell] &&
			    (!bytes || section->cell[i].bytes == bytes)) {
				l->first = &section->cell[i];
				l->n = n;
			}
	}
	if (l->n)
		return FB_OK;
	return fb_error(FB_EINPUT, "--bytes %llu: no samples of that size",
			(unsigned long long)bytes);
}

void fb_distribution_curve(FILE *out, const struct fb_doubles *list)
{
	size_t step = list->count / POINTS + 1;

	for (size_t i = 0; i < list->count; i++)
		/* The tail in full: it is what the figure is for. */
		if (i % step == 0 || i + POINTS / 4 > list->count)
			fprintf(out, "%.6g %.6g\n", list->x[i],
				100.0 * (double)(i + 1) / (double)list->count);
	fputs("\n\n", out);
}

void fb_distribution_marks(FILE *out, const struct fb_doubles *list)
{
	static const struct {
		double q;
		size_t least;
	} marks[] = {{0.5, 1}, {0.95, FB_MIN_SAMPLES_P95}, {0.99, FB_MIN_SAMPLES_P99}};

	for (size_t i = 0; i < FB_COUNT_OF(marks); i++)
		if (list->count >= marks[i].least)
			fprintf(out, "%.6g %g\n",
				fb_sorted_quantile(list->x, list->count, marks[i].q),
				100 * marks[i].q);
	fputs("\n\n", out);
}

static bool is_shown(const struct distribution *l, const struct fb_cell *cell, size_t *own)
{
	if (l->samples[cell - l->cells.cell].count == 0)
		return false;
	return fb_cell_is_library(cell) || (*own)++ < FB_PLOT_COLOURS - 1;
}

static void put_series(const struct fb_plot *plot, struct distribution *l, size_t shown)
{
	char name[FB_LABEL_CHARS], label[FB_LABEL_CHARS + 32];
	size_t own = 0, series = 0;
	FILE *out = plot->out;

	fprintf(out, "SERIES = %zu\narray NAME[%zu]\narray LIBRARY[%zu]\n", shown, shown + 1,
		shown + 1);
	for (size_t i = 0; i < l->n; i++) {
		if (!is_shown(l, &l->first[i], &own))
			continue;
		snprintf(label, sizeof(label), "%s (%zu)", fb_cell_label(&l->first[i], name),
			 l->samples[&l->first[i] - l->cells.cell].count);
		fb_plot_item(out, "NAME", ++series, label);
		fprintf(out, "LIBRARY[%zu] = %d\n", series, fb_cell_is_library(&l->first[i]));
	}
	fputs("$DATA << EOD\n", out);
	own = 0;
	for (size_t i = 0; i < l->n; i++)
		if (is_shown(l, &l->first[i], &own))
			fb_distribution_curve(out, &l->samples[&l->first[i] - l->cells.cell]);
	own = 0;
	for (size_t i = 0; i < l->n; i++)
		if (is_shown(l, &l->first[i], &own))
			fb_distribution_marks(out, &l->samples[&l->first[i] - l->cells.cell]);
	fputs("EOD\n", out);
}

static int put_figure(const struct fb_plot *plot, struct distribution *l,
		      const struct fb_section *section)
{
	char title[FB_TITLE_CHARS], size[FB_SIZE_CHARS], whole[FB_TITLE_CHARS + 64], note[160];
	size_t own = 0, shown = 0, all = 0;
	struct fb_plot with = *plot;
	int err = choose_size(l, section, plot->bytes);

	if (!err)
		err = read_samples(l);
	for (size_t i = 0; i < l->n && !err; i++) {
		struct fb_doubles *list = &l->samples[&l->first[i] - l->cells.cell];

		fb_doubles_sort(list);
		all += list->count ? 1 : 0;
		shown += is_shown(l, &l->first[i], &own) ? 1 : 0;
	}
	if (err)
		return err;
	with.results = &l->results;
	snprintf(whole, sizeof(whole), "%s: %s%sdistribution",
		 fb_section_title(section, title, sizeof(title)),
		 l->first->bytes ? fb_size_text(l->first->bytes, size) : "",
		 l->first->bytes ? " bytes, " : "");
	snprintf(note, sizeof(note),
		 "of the last rank of each repetition; marks: median, p95 from 100 "
		 "repetitions on, p99 from 1000; in brackets: repetitions; not shown: %zu",
		 all - shown);
	if (all == shown)
		*strrchr(note, ';') = '\0';
	fb_plot_texts(&with, whole, note);
	put_series(plot, l, shown);
	return FB_OK;
}

int fb_plot_distribution(const struct fb_plot *plot)
{
	const char *slash = strrchr(plot->path[0], '/');
	struct distribution l = {.n = 0};
	const struct fb_section *section = NULL;
	size_t count = 0;
	int err;

	if (!strcmp(slash ? slash + 1 : plot->path[0], "spans.csv"))
		return fb_plot_distribution_spans(plot);
	err = open_input(&l, plot->path[0]);
	if (!err)
		err = read_samples(&l);
	for (size_t s = 0; s < l.cells.nsections && !err; s++)
		if (section_seen(&l, &l.cells.section[s]) && ++count == plot->figure)
			section = &l.cells.section[s];
	if (fb_plot_wanted(plot, &err, count, "no samples of rows that are there") && section)
		err = put_figure(plot, &l, section);
	return err;
}
