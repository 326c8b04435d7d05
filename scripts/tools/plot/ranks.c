/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late each rank begins, and how long it takes, from ranks.csv: times of single ranks on one
 * clock. A rank that is always late, or always slow, is the one to look at.
 */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/rank_times.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/plot.h"
#include "scripts/tools/plot/samples.h"

#include <math.h>

struct ranks {
	struct fb_rank_times times;
	struct fb_doubles *late, *took; /* [times.ranks], of the group shown */
};

/* Lateness and time of the repetition that begins at sample[i]; returns its end. */
static size_t add_repetition(struct ranks *r, size_t i)
{
	const struct fb_rank_sample *sample = r->times.sample;
	double first = sample[i].begin_us;
	size_t e = fb_rank_times_end(&r->times, i);

	for (size_t k = i; k < e; k++)
		first = fmin(first, sample[k].begin_us);
	for (size_t k = i; k < e; k++) {
		struct fb_doubles *late = &r->late[sample[k].rank];
		struct fb_doubles *took = &r->took[sample[k].rank];

		*FB_ADD(late->x, late->count) = sample[k].begin_us - first;
		*FB_ADD(took->x, took->count) = sample[k].end_us - sample[k].begin_us;
	}
	return e;
}

/* p5, p25, median, p75, p95 */
static void put_quantiles(FILE *out, struct fb_doubles *list)
{
	static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};

	fb_doubles_sort(list);
	for (size_t i = 0; i < FB_COUNT_OF(quantiles); i++)
		fb_gnuplot_number(
			out, list->count ? fb_sorted_quantile(list->x, list->count, quantiles[i])
					 : (double)NAN);
}

static void put_figure(const struct fb_plot *plot, struct ranks *r)
{
	size_t shown = r->times.group_row[plot->figure - 1], end;
	const struct fb_sheet *t = &r->times.table;
	char title[FB_PLOT_TITLE_CHARS];

	r->late = fb_new(r->times.ranks + 1, sizeof(*r->late));
	r->took = fb_new(r->times.ranks + 1, sizeof(*r->took));
	for (size_t i = 0; i < t->nrows; i = end) {
		end = i + 1;
		if (r->times.sample[i].group == plot->figure)
			end = add_repetition(r, i);
	}
	snprintf(title, sizeof(title), "%s, row %s, launch %s: single ranks",
		 fb_sheet_text(t, shown, fb_sheet_column(t, "program")),
		 fb_sheet_text(t, shown, fb_sheet_column(t, "row")),
		 fb_sheet_text(t, shown, fb_sheet_column(t, "launch_index")));
	fb_plot_texts(plot, title,
		      r->times.late_known
			      ? "mark: median, box: half of all repetitions, whiskers: p5 and "
				"p95; late: after the first rank of the same repetition"
			      : "mark: median, box: half of all repetitions, whiskers: p5 and "
				"p95; the ranks have no common clock to see who was late");
	fprintf(plot->out, "RANKS = %zu\nLATE = %d\n$DATA << EOD\n", r->times.ranks,
		r->times.late_known);
	for (size_t k = 0; k < r->times.ranks; k++) {
		fprintf(plot->out, "%zu", k);
		put_quantiles(plot->out, &r->late[k]);
		put_quantiles(plot->out, &r->took[k]);
		fputc('\n', plot->out);
	}
	fputs("EOD\n", plot->out);
}

int fb_plot_ranks(const struct fb_plot *plot)
{
	struct ranks r = {.late = NULL};
	int err = fb_rank_times_read(&r.times, plot->path[0]);

	if (fb_plot_wanted(plot, &err, r.times.groups, "no lines"))
		put_figure(plot, &r);
	return err;
}
