/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late each rank begins, and how long it takes, from ranks.csv: times of single ranks on one
 * clock. A rank that is always late, or always slow, is the one to look at.
 */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/plot/plot.h"
#include "scripts/tools/plot/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 65536 };

/* One line of the file. */
struct sample {
	uint64_t group, repetition;
	size_t rank;
	double begin_us, end_us;
};

struct ranks {
	struct fb_sheet table;
	struct sample *sample; /* [table.nrows], sorted by group and repetition */
	size_t *group_row;     /* [groups]: a line of the table that is of the group */
	size_t groups, ranks;
	bool late_known;
	struct fb_doubles *late, *took; /* [ranks], of the group shown */
};

enum { RUN, LAUNCH, PROGRAM, ROW, REPETITION, RANK, BEGIN, END, COLUMNS };
static const char *const names[] = {"run",  "launch_index", "program", "row", "repetition",
				    "rank", "begin_us",	    "end_us",  NULL};

static int compare_samples(const void *x, const void *y)
{
	const struct sample *a = x, *b = y;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->repetition < b->repetition ? -1 : a->repetition > b->repetition;
}

/* Lines of one row of one launch come together; where they do not, it is another group. */
static bool same_group(const struct fb_sheet *table, const int *c, size_t a, size_t b)
{
	for (int i = RUN; i <= ROW; i++)
		if (strcmp(fb_sheet_text(table, a, c[i]), fb_sheet_text(table, b, c[i])))
			return false;
	return true;
}

static int read_lines(struct ranks *r, const char *path)
{
	int c[COLUMNS], err = fb_sheet_read_any(&r->table, path);

	if (!err)
		err = fb_sheet_columns(&r->table, names, c);
	if (err)
		return err;
	r->sample = calloc(r->table.nrows + 1, sizeof(*r->sample));
	r->group_row = calloc(r->table.nrows + 1, sizeof(*r->group_row));
	if (!r->sample || !r->group_row)
		return fb_error(FB_ENOMEM, "%s: out of memory", path);
	for (size_t i = 0; i < r->table.nrows; i++) {
		struct sample *s = &r->sample[i];
		double rank = fb_sheet_number(&r->table, i, c[RANK]);

		if (i == 0 || !same_group(&r->table, c, i, i - 1))
			r->group_row[r->groups++] = i;
		s->group = r->groups;
		s->repetition = strtoull(fb_sheet_text(&r->table, i, c[REPETITION]), NULL, 10);
		s->begin_us = *fb_sheet_text(&r->table, i, c[BEGIN])
				      ? fb_sheet_number(&r->table, i, c[BEGIN])
				      : 0; /* no common clock: end_us is the duration */
		r->late_known |= s->begin_us > 0;
		s->end_us = fb_sheet_number(&r->table, i, c[END]);
		if (!(rank >= 0 && rank < RANKS_MAX) || !isfinite(s->begin_us) ||
		    !(s->end_us >= s->begin_us))
			return fb_error(FB_EINPUT,
					"%s: data line %zu: rank, begin_us or end_us "
					"is no such number",
					path, i + 1);
		s->rank = (size_t)rank;
		r->ranks = s->rank >= r->ranks ? s->rank + 1 : r->ranks;
	}
	qsort(r->sample, r->table.nrows, sizeof(*r->sample), compare_samples);
	return FB_OK;
}

/* Lateness and time of the repetition that begins at sample[i]; returns its end, or an error. */
static int add_repetition(struct ranks *r, size_t i, size_t *end)
{
	double first = r->sample[i].begin_us;
	int err = FB_OK;
	size_t e = i;

	while (e < r->table.nrows && compare_samples(&r->sample[i], &r->sample[e]) == 0) {
		first = fmin(first, r->sample[e].begin_us);
		e++;
	}
	for (size_t k = i; k < e && !err; k++) {
		const struct sample *s = &r->sample[k];

		err = fb_doubles_add(&r->late[s->rank], s->begin_us - first);
		if (!err)
			err = fb_doubles_add(&r->took[s->rank], s->end_us - s->begin_us);
	}
	*end = e;
	return err;
}

/* p5, p25, median, p75, p95 */
static int put_quantiles(FILE *out, struct fb_doubles *list)
{
	static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};
	int err = fb_doubles_sort(list);

	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]) && !err; i++)
		fb_gnuplot_number(
			out, list->count ? fb_sorted_quantile(list->x, list->count, quantiles[i])
					 : (double)NAN);
	return err;
}

static int put_figure(const struct fb_plot *plot, struct ranks *r)
{
	size_t shown = r->group_row[plot->figure - 1], end;
	const struct fb_sheet *t = &r->table;
	char title[FB_PLOT_TITLE_CHARS], machine[FB_PLOT_TITLE_CHARS];
	int err = FB_OK;

	r->late = calloc(r->ranks + 1, sizeof(*r->late));
	r->took = calloc(r->ranks + 1, sizeof(*r->took));
	if (!r->late || !r->took)
		return fb_error(FB_ENOMEM, "out of memory for %zu ranks", r->ranks);
	for (size_t i = 0; i < t->nrows && !err; i = end) {
		end = i + 1;
		if (r->sample[i].group == plot->figure)
			err = add_repetition(r, i, &end);
	}
	snprintf(title, sizeof(title), "%s, row %s, launch %s: single ranks",
		 fb_sheet_text(t, shown, fb_sheet_column(t, "program")),
		 fb_sheet_text(t, shown, fb_sheet_column(t, "row")),
		 fb_sheet_text(t, shown, fb_sheet_column(t, "launch_index")));
	fb_gnuplot_text(plot->out, "TITLE", title);
	fb_gnuplot_text(plot->out, "SUBTITLE", fb_plot_subtitle(plot->path[0], machine));
	fb_gnuplot_text(plot->out, "NOTE",
			r->late_known
				? "mark: median, box: half of all repetitions, whiskers: p5 and "
				  "p95; late: after the first rank of the same repetition"
				: "mark: median, box: half of all repetitions, whiskers: p5 and "
				  "p95; the ranks have no common clock to see who was late");
	fprintf(plot->out, "RANKS = %zu\nLATE = %d\n$DATA << EOD\n", r->ranks, r->late_known);
	for (size_t k = 0; k < r->ranks && !err; k++) {
		fprintf(plot->out, "%zu", k);
		err = put_quantiles(plot->out, &r->late[k]);
		if (!err)
			err = put_quantiles(plot->out, &r->took[k]);
		fputc('\n', plot->out);
	}
	fputs("EOD\n", plot->out);
	return err;
}

int fb_plot_ranks(const struct fb_plot *plot)
{
	struct ranks r = {.groups = 0};
	int err = read_lines(&r, plot->path[0]);

	if (!err && plot->count)
		fprintf(plot->out, "%zu\n", r.groups);
	else if (!err && !fb_plot_has(plot, r.groups, "no lines"))
		err = FB_EINPUT;
	else if (!err)
		err = put_figure(plot, &r);
	for (size_t i = 0; i < r.ranks; i++) {
		if (r.late)
			free(r.late[i].x);
		if (r.took)
			free(r.took[i].x);
	}
	free(r.late);
	free(r.took);
	free(r.sample);
	free(r.group_row);
	fb_sheet_free(&r.table);
	return err;
}
