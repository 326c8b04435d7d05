/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long spans take, from a spans.csv: of each name the share that took no longer than a time. A
 * figure for each row of results that spans are of (column row), so that stages of requests are
 * seen side by side.
 */
#include "common/base/error.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/plot/plot.h"

#include <string.h>

struct names {
	const char *text[FB_PLOT_COLOURS]; /* [n], of the sheet */
	struct fb_doubles us[FB_PLOT_COLOURS];
	size_t n, hidden; /* hidden: spans of further names */
};

enum { NAME, BEGIN, END, COLUMNS };

/* Whether the row of this line is not that of a line before. */
static bool is_new(const struct fb_sheet *s, size_t line, int row)
{
	for (size_t k = 0; k < line; k++)
		if (!strcmp(fb_sheet_text(s, k, row), fb_sheet_text(s, line, row)))
			return false;
	return true;
}

/* Rows lie one behind the other, so that the line before finds most lines. */
static size_t find_row(const struct fb_sheet *s, int row, uint64_t figure, const char **text)
{
	const char *last = NULL;
	size_t count = 0;

	for (size_t k = 0; k < s->nrows; k++) {
		if (last && !strcmp(last, fb_sheet_text(s, k, row)))
			continue;
		last = fb_sheet_text(s, k, row);
		if (is_new(s, k, row) && ++count == figure)
			*text = last;
	}
	return count;
}

static void collect(struct names *names, const struct fb_sheet *s, const int *column, int row,
		    const char *text)
{
	for (size_t k = 0; k < s->nrows; k++) {
		const char *name = fb_sheet_text(s, k, column[NAME]);
		double us = fb_sheet_number(s, k, column[END]) -
			    fb_sheet_number(s, k, column[BEGIN]);
		size_t n = 0;

		if (strcmp(text, fb_sheet_text(s, k, row)))
			continue;
		while (n < names->n && strcmp(names->text[n], name))
			n++;
		if (n == FB_PLOT_COLOURS) {
			names->hidden++;
			continue;
		}
		/* No time at all has no place on the axis, and what is no time has none either. */
		if (!(us > 0))
			continue;
		names->text[n] = name;
		names->n += n == names->n;
		*FB_ADD(names->us[n].x, names->us[n].count) = us;
	}
	for (size_t n = 0; n < names->n; n++)
		fb_doubles_sort(&names->us[n]);
}

static void put(const struct fb_plot *plot, const struct names *names, const char *title)
{
	char label[FB_PLOT_NAME_CHARS], note[160];
	FILE *out = plot->out;

	snprintf(note, sizeof(note), "marks: median, p95 from 100 spans on, p99 from 1000; in "
		 "brackets: spans; of further names, not shown: %zu", names->hidden);
	if (!names->hidden)
		*strrchr(note, ';') = '\0';
	fb_plot_texts(plot, *title ? title : "How long spans take", note);
	fprintf(out, "XLABEL = 'time that a span takes'\nYLABEL = 'spans that took no longer'\n"
		"SERIES = %zu\narray NAME[%zu]\narray LIBRARY[%zu]\n", names->n, names->n + 1,
		names->n + 1);
	for (size_t n = 0; n < names->n; n++) {
		snprintf(label, sizeof(label), "%.60s (%zu)", names->text[n], names->us[n].count);
		fb_plot_item(out, "NAME", n + 1, label);
		fprintf(out, "LIBRARY[%zu] = 0\n", n + 1);
	}
	fputs("$DATA << EOD\n", out);
	for (size_t n = 0; n < names->n; n++)
		fb_distribution_curve(out, &names->us[n]);
	for (size_t n = 0; n < names->n; n++)
		fb_distribution_marks(out, &names->us[n]);
	fputs("EOD\n", out);
}

int fb_plot_distribution_spans(const struct fb_plot *plot)
{
	static const char *const wanted[] = {"name", "begin_us", "end_us", NULL};
	struct fb_sheet sheet = {0};
	struct names names = {.n = 0};
	const char *text = NULL;
	size_t count = 0;
	int column[COLUMNS] = {0}, row, err = fb_sheet_read_any(&sheet, plot->path[0]);

	if (!err)
		err = fb_sheet_columns(&sheet, wanted, column);
	row = err ? -1 : fb_sheet_column(&sheet, "row");
	if (!err)
		count = find_row(&sheet, row, plot->figure, &text);
	if (!fb_plot_wanted(plot, &err, count, "no spans") || !text)
		return err;
	collect(&names, &sheet, column, row, text);
	if (!names.n)
		return fb_error(FB_EINPUT, "%s: no span takes time", plot->path[0]);
	put(plot, &names, text);
	return FB_OK;
}
