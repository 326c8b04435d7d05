/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late each rank begins, and how long it takes, from ranks.csv: times of single ranks on one
 * clock. A rank that is always late, or always slow, is the one to look at.
 */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/rank_times.h"
#include "scripts/tools/plot/plot.h"
#include "scripts/tools/plot/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ranks {
	struct fb_rank_times times;
	struct fb_doubles *late, *took; /* [times.ranks], of the group shown */
};

/* Lateness and time of the repetition that begins at sample[i]; returns its end, or an error. */
static int add_repetition(struct ranks *r, size_t i, size_t *end)
{
	const struct fb_rank_sample *sample = r->times.sample;
	double first = sample[i].begin_us;
	size_t e = fb_rank_times_end(&r->times, i);
	int err = FB_OK;

	for (size_t k = i; k < e; k++)
		first = fmin(first, sample[k].begin_us);
	for (size_t k = i; k < e && !err; k++) {
		const struct fb_rank_sample *s = &sample[k];

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
	size_t shown = r->times.group_row[plot->figure - 1], end;
	const struct fb_sheet *t = &r->times.table;
	char title[FB_PLOT_TITLE_CHARS], machine[FB_PLOT_TITLE_CHARS];
	int err = FB_OK;

	r->late = calloc(r->times.ranks + 1, sizeof(*r->late));
	r->took = calloc(r->times.ranks + 1, sizeof(*r->took));
	if (!r->late || !r->took)
		return fb_error(FB_ENOMEM, "out of memory for %zu ranks", r->times.ranks);
	for (size_t i = 0; i < t->nrows && !err; i = end) {
		end = i + 1;
		if (r->times.sample[i].group == plot->figure)
			err = add_repetition(r, i, &end);
	}
	snprintf(title, sizeof(title), "%s, row %s, launch %s: single ranks",
		 fb_sheet_text(t, shown, fb_sheet_column(t, "program")),
		 fb_sheet_text(t, shown, fb_sheet_column(t, "row")),
		 fb_sheet_text(t, shown, fb_sheet_column(t, "launch_index")));
	fb_gnuplot_text(plot->out, "TITLE", title);
	fb_gnuplot_text(plot->out, "SUBTITLE", fb_plot_subtitle(plot->path[0], machine));
	fb_gnuplot_text(plot->out, "NOTE",
			r->times.late_known
				? "mark: median, box: half of all repetitions, whiskers: p5 and "
				  "p95; late: after the first rank of the same repetition"
				: "mark: median, box: half of all repetitions, whiskers: p5 and "
				  "p95; the ranks have no common clock to see who was late");
	fprintf(plot->out, "RANKS = %zu\nLATE = %d\n$DATA << EOD\n", r->times.ranks,
		r->times.late_known);
	for (size_t k = 0; k < r->times.ranks && !err; k++) {
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
	struct ranks r = {.late = NULL};
	int err = fb_rank_times_read(&r.times, plot->path[0]);

	if (!err && plot->count)
		fprintf(plot->out, "%zu\n", r.times.groups);
	else if (!err && !fb_plot_has(plot, r.times.groups, "no lines"))
		err = FB_EINPUT;
	else if (!err)
		err = put_figure(plot, &r);
	for (size_t i = 0; i < r.times.ranks; i++) {
		if (r.late)
			free(r.late[i].x);
		if (r.took)
			free(r.took[i].x);
	}
	free(r.late);
	free(r.took);
	fb_rank_times_free(&r.times);
	return err;
}
