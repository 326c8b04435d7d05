/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A metric over many runs: columns run, utc, value, low, high, change. `change` is 1 (or yes, or
 * the size of the change) in the first run after a change point, and empty, 0 or no elsewhere.
 * Each stretch between change points gets its median.
 */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct point {
	double seconds; /* since 1970, UTC */
	double value, low, high;
	const char *run;
	bool change;
};

/* "2024-05-31T23:59:59Z", or the day alone; NAN where it is neither. */
static double parse_utc(const char *text)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!end) {
		tm = (struct tm){0};
		end = strptime(text, "%Y-%m-%d", &tm);
	}
	return end ? (double)timegm(&tm) : (double)NAN;
}

static bool is_change(const char *text)
{
	return *text && strcmp(text, "0") && strcmp(text, "no") && strcmp(text, "false");
}

static int compare_points(const void *x, const void *y)
{
	const struct point *a = x, *b = y;

	return a->seconds < b->seconds ? -1 : a->seconds > b->seconds;
}

static int read_points(const struct fb_sheet *table, struct point *point, size_t *count)
{
	static const char *const names[] = {"run", "utc", "value", "low", "high", "change", NULL};
	int c[6], err = fb_sheet_columns(table, names, c);

	for (size_t i = 0; i < table->nrows && !err; i++) {
		struct point p = {
			.run = fb_sheet_text(table, i, c[0]),
			.seconds = parse_utc(fb_sheet_text(table, i, c[1])),
			.value = fb_sheet_number(table, i, c[2]),
			.low = fb_sheet_number(table, i, c[3]),
			.high = fb_sheet_number(table, i, c[4]),
			.change = is_change(fb_sheet_text(table, i, c[5])),
		};

		if (isnan(p.seconds))
			err = fb_error(FB_EINPUT,
				       "%s: data line %zu: utc '%s': expected as in "
				       "2024-05-31T23:59:59Z",
				       table->path, i + 1, fb_sheet_text(table, i, c[1]));
		else if (isfinite(p.value))
			point[(*count)++] = p;
	}
	return err;
}

/* Block 0: the points; 1: begin, end and median of each stretch; 2: the change points. */
static void put_blocks(FILE *out, const struct point *p, size_t count, double *x)
{
	double before = (double)NAN;
	size_t end;

	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%.0f", p[i].seconds);
		fb_gnuplot_number(out, p[i].value);
		fb_gnuplot_number(out, isfinite(p[i].low) ? p[i].low : p[i].value);
		fb_gnuplot_number(out, isfinite(p[i].high) ? p[i].high : p[i].value);
		fputc('\n', out);
	}
	fputs("\n\n", out);
	for (size_t i = 0; i < count; i = end) {
		double median;

		for (end = i; end < count && (end == i || !p[end].change); end++)
			x[end - i] = p[end].value;
		median = fb_median(x, end - i, x + count);
		fprintf(out, "%.0f %.6g\n%.0f %.6g\n\n", p[i].seconds, median, p[end - 1].seconds,
			median);
	}
	fputs("\n", out);
	for (size_t i = 0; i < count; i = end) {
		char label[64];
		double median;

		for (end = i; end < count && (end == i || !p[end].change); end++)
			x[end - i] = p[end].value;
		median = fb_median(x, end - i, x + count);
		snprintf(label, sizeof(label), "%+.1f%%", 100 * (median / before - 1));
		if (i > 0) {
			fprintf(out, "%.0f", p[i].seconds);
			fb_gnuplot_number(out, p[i].value);
			fb_gnuplot_field(out, label);
			fb_gnuplot_field(out, p[i].run);
			fputc('\n', out);
		}
		before = median;
	}
}

static void put_figure(const struct fb_plot *plot, struct point *point, size_t count)
{
	char title[FB_PLOT_TITLE_CHARS], note[160];
	const char *path = plot->path[0], *slash = strrchr(path, '/');
	double *x = fb_new(3 * count + 1, sizeof(*x));
	size_t changes = 0;

	qsort(point, count, sizeof(*point), compare_points);
	for (size_t i = 1; i < count; i++)
		changes += point[i].change ? 1 : 0;
	snprintf(title, sizeof(title), "%s", slash ? slash + 1 : path);
	if (strlen(title) > 4 && !strcmp(title + strlen(title) - 4, ".csv"))
		title[strlen(title) - 4] = '\0';
	snprintf(note, sizeof(note),
		 "%zu runs, %zu change points; bars are 95%% intervals, lines "
		 "the median between change points",
		 count, changes);
	fb_plot_texts(plot, title, note);
	fprintf(plot->out, "CHANGES = %zu\nPOINTS = %zu\n$DATA << EOD\n", changes, count);
	put_blocks(plot->out, point, count, x);
	fputs("EOD\n", plot->out);
}

int fb_plot_history(const struct fb_plot *plot)
{
	struct fb_sheet table = {0};
	int err = fb_sheet_read_any(&table, plot->path[0]);
	struct point *point = err ? NULL : fb_new(table.nrows + 1, sizeof(*point));
	size_t count = 0;

	if (!err)
		err = read_points(&table, point, &count);
	if (fb_plot_wanted(plot, &err, count > 0, "no row with a value") && point)
		put_figure(plot, point, count);
	return err;
}
