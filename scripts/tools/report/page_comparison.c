/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two runs beside each other. Verdicts are those of `compare`, which knows how launches differ
 * with nothing changed; without them rows are joined and their ratios shown, and nothing is
 * called slower or quicker.
 */
#include "common/base/error.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct fb_page_column columns[] = {
	{"program", "program", "text", "", true, false, false},
	{"algorithm", "algorithm", "text", "", true, false, false},
	{"protocol", "protocol", "text", "", true, false, false},
	{"bytes", "bytes", "bytes", "message size", true, false, false},
	{"ranks", "ranks", "number", "", true, false, false},
	{"rest", "other keys", "text", "keys beyond those", false, false, false},
	{"base", "base", "number", "", false, false, false},
	{"new", "new", "number", "", false, false, false},
	{"ratio", "new / base", "number", "above 1 the new one is slower", false, false, false},
	{"ratio_low", "low", "number", "lower end of the ratio's interval", false, false, false},
	{"ratio_high", "high", "number", "upper end", false, false, false},
	{"verdict", "verdict", "text", "of compare", true, true, false},
	{"reason", "reason", "text", "", false, false, true},
};

/* The last two are of a verdict only. */
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), PLAIN_COLUMNS = COLUMNS - 2 };

static void put_text(FILE *out, const char *text)
{
	fb_page_json_text(out, text);
	fputc(',', out);
}

static void put_number(FILE *out, double x, const char *after)
{
	fb_page_json_number(out, x);
	fputs(after, out);
}

/* What tells rows apart beyond the columns of their own, as "engine mpi, f32 sum, in place". */
static void rest_of(const char *(*field)(const void *row, const char *column), const void *row,
		    char *buf, size_t n)
{
	static const struct {
		const char *column, *usual, *before;
	} rest[] = {
		{"engine", "host", ""},
		{"transport", "shm", ""},
		{"datatype", "f32", ""},
		{"redop", "sum", ""},
		{"memory", "host", ""},
		{"launch", "blocking", ""},
		{"cadence", "isolated", ""},
		{"root", "0", "root "},
		{"in_place", "no", "in place "},
		{"nodes", "1", "nodes "},
		{"variant", "", ""},
	};

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		const char *text = field(row, rest[i].column);
		size_t used = strlen(buf);

		if (*text && strcmp(text, rest[i].usual) && strcmp(text, "-") &&
		    strcmp(text, "-1") && strcmp(text, "library"))
			snprintf(buf + used, n - used, "%s%s%s", used ? ", " : "", rest[i].before,
				 text);
	}
}

/* One row of a file of verdicts. */
struct verdict_row {
	const struct fb_sheet *table;
	size_t row;
};

static const char *verdict_field(const void *row, const char *column)
{
	const struct verdict_row *r = row;

	return fb_sheet_text(r->table, r->row, fb_sheet_column(r->table, column));
}

static double verdict_number(const struct verdict_row *r, const char *column)
{
	return fb_sheet_number(r->table, r->row, fb_sheet_column(r->table, column));
}

static void put_verdict_row(FILE *out, const struct verdict_row *r)
{
	char rest[256];

	rest_of(verdict_field, r, rest, sizeof(rest));
	put_text(out, verdict_field(r, "program"));
	put_text(out, verdict_field(r, "algorithm"));
	put_text(out, verdict_field(r, "protocol"));
	put_number(out, verdict_number(r, "bytes"), ",");
	put_number(out, verdict_number(r, "ranks"), ",");
	put_text(out, rest);
	put_number(out, verdict_number(r, "base"), ",");
	put_number(out, verdict_number(r, "new"), ",");
	put_number(out, verdict_number(r, "ratio"), ",");
	put_number(out, verdict_number(r, "ratio_low"), ",");
	put_number(out, verdict_number(r, "ratio_high"), ",");
	put_text(out, verdict_field(r, "verdict"));
	fb_page_json_text(out, verdict_field(r, "reason"));
}

static const char *const verdicts[] = {"REGRESSED", "IMPROVED", "UNSURE", "SAME"};

static void put_verdict_tiles(const struct fb_page *page)
{
	static const char *const classes[] = {"bad", "good", "", ""};
	int column = fb_sheet_column(page->verdicts, "verdict");
	FILE *out = page->out;

	fputs("<div class=\"tiles\">\n", out);
	for (size_t v = 0; v < sizeof(verdicts) / sizeof(verdicts[0]); v++) {
		size_t n = 0;

		for (size_t i = 0; i < page->verdicts->nrows; i++)
			n += !strcmp(fb_sheet_text(page->verdicts, i, column), verdicts[v]) ? 1 : 0;
		fb_html(out,
			"<div class=\"tile %s\"><b>%zu</b><span><a href=\"#comparison-rows?"
			"f.verdict=%s\">%s</a></span></div>\n",
			n ? classes[v] : "", n, verdicts[v], verdicts[v]);
	}
	fputs("</div>\n", out);
}

static int put_verdicts(const struct fb_page *page)
{
	static const char *const needed[] = {"program", "bytes", "verdict", "ratio", NULL};
	int found[4], err = fb_sheet_columns(page->verdicts, needed, found);

	if (err)
		return err;
	put_verdict_tiles(page);
	fputs("<div class=\"card\" style=\"margin-top:14px\">\n", page->out);
	fb_page_table_begin(page, "comparison-rows", "Rows of both runs with verdicts", columns,
			    COLUMNS);
	for (size_t i = 0; i < page->verdicts->nrows; i++) {
		const struct verdict_row row = {page->verdicts, i};

		fputs(i ? ",\n[" : "[", page->out);
		put_verdict_row(page->out, &row);
		fputc(']', page->out);
	}
	fb_page_table_end(page);
	fputs("</div>\n", page->out);
	return FB_OK;
}

static bool same_key(const struct fb_result *a, const struct fb_result *b)
{
	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY && strcmp(a->field[i], b->field[i]))
			return false;
	return true;
}

static const struct fb_cell *find_cell(const struct fb_cells *cells, const struct fb_cell *like)
{
	for (size_t i = 0; i < cells->count; i++)
		if (same_key(cells->cell[i].row, like->row))
			return &cells->cell[i];
	return NULL;
}

static const char *cell_field(const void *row, const char *column)
{
	return fb_cell_text(row, column);
}

static void put_cell_row(FILE *out, const struct fb_cell *cell, const struct fb_cell *base)
{
	/* The ratio's own sense: time of the new one by that of the base. */
	struct fb_ratio ratio = fb_cell_ratio(cell, base);
	char rest[256];

	rest_of(cell_field, cell, rest, sizeof(rest));
	put_text(out, fb_cell_text(cell, "program"));
	put_text(out, fb_cell_text(cell, "algorithm"));
	put_text(out, fb_cell_text(cell, "protocol"));
	put_number(out, (double)cell->bytes, ",");
	put_number(out, fb_result_number(cell->row, "ranks"), ",");
	put_text(out, rest);
	put_number(out, base->us, ",");
	put_number(out, cell->us, ",");
	put_number(out, ratio.value, ",");
	put_number(out, ratio.low, ",");
	put_number(out, ratio.high, "");
}

static void put_joined(const struct fb_page *page)
{
	const struct fb_cells *cells = &page->set->cells;
	size_t joined = 0, alone = 0;
	double log_sum = 0;
	FILE *out = page->out;

	fputs("<p class=\"banner warn\">No verdicts: ratios alone do not say whether "
	      "anything changed, "
	      "as the same program differs from one start to the next. <code>compare --csv FILE "
	      "BASE NEW</code> judges, and <code>--verdicts FILE</code> shows it here.</p>\n"
	      "<div class=\"card\">\n",
	      out);
	fb_page_table_begin(page, "comparison-rows", "Rows of both runs", columns, PLAIN_COLUMNS);
	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *cell = &cells->cell[i];
		const struct fb_cell *base = find_cell(&page->base->cells, cell);

		if (!fb_cell_has_time(cell))
			continue;
		if (!base || !fb_cell_has_time(base)) {
			alone++;
			continue;
		}
		fputs(joined++ ? ",\n[" : "[", out);
		put_cell_row(out, cell, base);
		fputc(']', out);
		log_sum += log(cell->us / base->us);
	}
	fb_page_table_end(page);
	fb_html(out,
		"</div>\n<p class=\"soft\">%zu rows are in both runs, %zu have no counterpart in "
		"the base.",
		joined, alone);
	if (joined)
		fb_html(out, " Geometric mean of new / base: %.3f.", exp(log_sum / (double)joined));
	fputs("</p>\n", out);
}

int fb_page_comparison(const struct fb_page *page)
{
	const char *base = fb_page_set_name(page->base), *set = fb_page_set_name(page->set);
	FILE *out = page->out;
	int err = FB_OK;

	/* The sides of one study have its name both; then their folders tell them apart. */
	if (!strcmp(base, set)) {
		base = page->base->path[0];
		set = page->set->path[0];
	}
	fb_html(out,
		"<section id=\"comparison\" aria-labelledby=\"comparison-title\">\n<h2 id=\""
		"comparison-title\">Comparison</h2>\n<p class=\"soft\">base: %s, new: %s. What "
		"differs between the two environments is marked under <a href=\"#environment\">"
		"Environment</a>.</p>\n<p class=\"soft\">Each side's value is the " FB_ESTIMATOR
		", new / base the quotient of the two, low and high the ends of its 95%% "
		"interval.</p>\n",
		base, set);
	if (page->verdicts)
		err = put_verdicts(page);
	else
		put_joined(page);
	fputs("</section>\n", out);
	return err;
}
