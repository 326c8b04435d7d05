/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ratios with their intervals and verdicts, one below the other: columns label, ratio, low, high,
 * verdict. With "cells" in column `bars`, ratios are effects of variables, and bars reach from the
 * least to the greatest cell. Bad news first; where there are more rows than can be read, the dull
 * ones are left out and counted.
 */
#include "common/base/error.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ROWS_MAX = 50, LABEL_CHARS = 60 };

/* In the order in which they are drawn. What is none of them comes last. */
static const char *const verdicts[] = {"REGRESSED", "IMPROVED", "UNSURE", "SAME"};
enum { VERDICTS = FB_COUNT_OF(verdicts) };

struct row {
	const char *label;
	double ratio, low, high;
	int verdict;
};

static int find_verdict(const char *text)
{
	for (int i = 0; i < VERDICTS; i++)
		if (!strcasecmp(verdicts[i], text))
			return i;
	return VERDICTS;
}

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	double da = fabs(log(a->ratio)), db = fabs(log(b->ratio));

	if (a->verdict != b->verdict)
		return a->verdict < b->verdict ? -1 : 1;
	if (da != db)
		return da > db ? -1 : 1;
	return strcmp(a->label, b->label);
}

static int read_rows(const struct fb_sheet *table, struct row *row, size_t *count)
{
	static const char *const names[] = {"label", "ratio", "low", "high", "verdict", NULL};
	int c[5], err = fb_sheet_columns(table, names, c);

	for (size_t i = 0; i < table->nrows && !err; i++) {
		struct row r = {
			.label = fb_sheet_text(table, i, c[0]),
			.ratio = fb_sheet_number(table, i, c[1]),
			.low = fb_sheet_number(table, i, c[2]),
			.high = fb_sheet_number(table, i, c[3]),
			.verdict = find_verdict(fb_sheet_text(table, i, c[4])),
		};

		/* Without launches enough there is no interval, without a time no ratio. */
		if (r.ratio > 0 && isfinite(r.ratio))
			row[(*count)++] = r;
	}
	return err;
}

/* `effects`: of a variable's values on cells, not of a new result set on rows. */
static void put_figure(const struct fb_plot *plot, const struct row *row, size_t count,
		       bool effects)
{
	size_t shown = count < ROWS_MAX ? count : ROWS_MAX, many[VERDICTS + 1] = {0};
	char label[LABEL_CHARS + 8], note[200];
	FILE *out = plot->out;

	for (size_t i = 0; i < count; i++)
		many[row[i].verdict]++;
	snprintf(note, sizeof(note),
		 "%zu %s, %zu %s, %zu %s, %zu %s; bars are %s; %zu rows are not shown",
		 many[0], effects ? "slower" : "regressed", many[1],
		 effects ? "faster" : "improved", many[2], effects ? "both ways" : "unsure",
		 many[3], effects ? "without a visible difference" : "the same",
		 effects ? "the least and the greatest of all cells"
			 : "95% intervals over launches", count - shown);
	if (count == shown)
		*strrchr(note, ';') = '\0';
	fb_plot_texts(plot, effects ? "Time with a value by time of the same cell without"
				    : "Time of the new result set by time of the base", note);
	fprintf(out, "EFFECTS = %d\nROWS = %zu\n$DATA << EOD\n", effects, shown);
	for (size_t i = 0; i < shown; i++) {
		const struct row *r = &row[i];

		snprintf(label, sizeof(label), "%.*s%s", LABEL_CHARS, r->label,
			 strlen(r->label) > LABEL_CHARS ? "..." : "");
		fprintf(out, "%zu %d", shown - 1 - i, r->verdict + 1);
		fb_gnuplot_number(out, r->ratio);
		fb_gnuplot_number(out, r->low > 0 ? r->low : r->ratio);
		fb_gnuplot_number(out, r->high > 0 ? r->high : r->ratio);
		fb_gnuplot_field(out, label);
		fputc('\n', out);
	}
	fputs("EOD\n", out);
}

int fb_plot_forest(const struct fb_plot *plot)
{
	struct fb_sheet table = {0};
	int err = fb_sheet_read_any(&table, plot->path[0]);
	struct row *row = err ? NULL : fb_new(table.nrows + 1, sizeof(*row));
	size_t count = 0;

	if (!err)
		err = read_rows(&table, row, &count);
	if (fb_plot_wanted(plot, &err, count > 0, "no row with a ratio") && row) {
		qsort(row, count, sizeof(*row), compare_rows);
		put_figure(plot, row, count,
			   !strcmp(fb_sheet_text(&table, 0, fb_sheet_column(&table, "bars")),
				   "cells"));
	}
	return err;
}
