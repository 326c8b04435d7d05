/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of pairs of ranks: a table with coloured fields for each operation, algorithm and size,
 * instead of a chart for every single pair.
 */
#include "scripts/tools/plot/matrix.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <math.h>

/* Beyond these a picture serves better (scripts/plot matrix). */
enum { RANKS_MAX = 64, MATRICES_MAX = 60 };

static void put_matrix(FILE *out, const struct fb_matrix *m, const char *slow, bool open)
{
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < m->rows * m->columns; i++)
		if (isfinite(m->value[i])) {
			least = fmin(least, m->value[i]);
			most = fmax(most, m->value[i]);
		}
	fb_html(out, "<details %s><summary>%s", open || *slow ? "open" : "", m->title);
	if (*slow)
		fb_html(out, " <span class=\"tag few\">%s</span>", slow);
	fputs("</summary>\n", out);
	fb_html(out,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table "
		"class=\"heat\"><caption>%s; rows: %s, columns: %s</caption>\n<thead><tr><td></td>",
		m->title, m->unit, m->row_name, m->column_name);
	for (size_t c = 0; c < m->columns; c++)
		fb_html(out, "<th scope=\"col\">%zu</th>", c);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t r = 0; r < m->rows; r++) {
		fb_html(out, "<tr><th scope=\"row\">%zu</th>", r);
		for (size_t c = 0; c < m->columns; c++) {
			double v = m->value[r * m->columns + c];
			double good = most > least ? (v - least) / (most - least) : 1;

			if (!isfinite(v)) {
				fputs("<td></td>", out);
				continue;
			}
			good = m->more_is_better || !(most > least) ? good : 1 - good;
			fb_html(out, "<td style=\"--share:%.0f%%\">%.3g</td>", 100 * good, v);
		}
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div></details>\n", out);
}

int fb_page_pairs(const struct fb_page *page)
{
	struct fb_matrix m = {0};
	size_t count = 0, small = 0;
	int err = fb_matrix_read_rows(&m, &page->set->cells, 0, &count);
	FILE *out = page->out;

	if (err || count == 0)
		return err;
	fputs("<div class=\"card\" id=\"pairs\"><h3>Pairs of ranks</h3>\n<p class=\"soft\">", out);
	fputs("The less colour, the worse beside the others: a slow rank is a pale row and a pale "
	      "column. Who is named is slower than noise explains.</p>\n",
	      out);
	for (size_t i = 1; i <= count && small < MATRICES_MAX && !err; i++) {
		char slow[FB_MATRIX_SLOW_CHARS];
		size_t all;

		err = fb_matrix_read_rows(&m, &page->set->cells, i, &all);
		if (!err)
			err = fb_matrix_name_slow(&m, &page->set->results, slow, sizeof(slow));
		if (!err && m.rows <= RANKS_MAX)
			put_matrix(out, &m, slow, small++ == 0);
		fb_matrix_free(&m);
	}
	if (small < count)
		fb_html(out,
			"<p class=\"soft\">%zu more are not shown: <code>scripts/plot matrix"
			"</code> draws them.</p>\n",
			count - small);
	fputs("</div>\n", out);
	return err;
}
