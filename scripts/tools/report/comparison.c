/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares two runs. Verdicts come from `compare`, which takes into account how much launches
 * differ by chance; without them rows are joined, and none is called slower or faster.
 */
#include "common/base/error.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/report/page.h"

#include <jansson.h>
#include <string.h>

/* The columns of a row, as page.js shows them; the last two are of a verdict only. */
static const char *const columns[] = {"program", "algorithm", "protocol", "bytes",
				      "ranks",	 "rest",      "base",	  "new",
				      "ratio",	 "ratio_low", "ratio_high", "verdict", "reason"};
enum { REST = 5, COLUMNS = FB_COUNT_OF(columns), PLAIN = COLUMNS - 2 };

/* What tells rows apart beyond the columns of their own, as "engine mpi, f32 sum, in place". */
static json_t *rest_of(const char *(*field)(const void *row, const char *column), const void *row)
{
	static const char *const rest[][3] = {
		{"engine", "host", ""},	    {"transport", "shm", ""},
		{"datatype", "f32", ""},    {"redop", "sum", ""},
		{"memory", "host", ""},	    {"launch", "blocking", ""},
		{"cadence", "isolated", ""}, {"root", "0", "root "},
		{"in_place", "no", "in place "}, {"nodes", "1", "nodes "},
		{"variant", "", ""},
	};
	char buf[512] = "";

	for (size_t i = 0; i < FB_COUNT_OF(rest); i++) {
		const char *text = field(row, rest[i][0]);
		size_t used = strlen(buf);

		if (*text && strcmp(text, rest[i][1]) && strcmp(text, "-") && strcmp(text, "-1") &&
		    strcmp(text, "library"))
			snprintf(buf + used, sizeof(buf) - used, "%s%s%s", used ? ", " : "",
				 rest[i][2], text);
	}
	return fb_json_string(buf);
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

static bool is_text(size_t column)
{
	return column < 3 || column == REST || column >= PLAIN;
}

static int put_verdicts(const struct fb_page *page, json_t *rows)
{
	static const char *const needed[] = {"program", "bytes", "verdict", "ratio", NULL};
	int found[4], err = fb_sheet_columns(page->verdicts, needed, found);

	for (size_t i = 0; i < page->verdicts->nrows && !err; i++) {
		const struct verdict_row r = {page->verdicts, i};
		json_t *row = fb_json_array(rows, NULL);

		for (size_t c = 0; c < COLUMNS; c++)
			fb_json_add(row,
				    c == REST ? rest_of(verdict_field, &r)
				    : is_text(c)
					    ? fb_json_string(verdict_field(&r, columns[c]))
					    : fb_json_real(fb_sheet_number(
						      r.table, i,
						      fb_sheet_column(r.table, columns[c]))));
	}
	return err;
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

static void put_cell(json_t *rows, const struct fb_cell *cell, const struct fb_cell *base)
{
	/* The ratio's direction: time of the new run divided by that of the base. */
	struct fb_ratio ratio = fb_cell_ratio(cell, base);
	const double numbers[] = {base->us, cell->us, ratio.value, ratio.low, ratio.high};
	json_t *row = fb_json_array(rows, NULL);

	for (size_t c = 0; c < 3; c++)
		fb_json_add(row, fb_json_string(fb_cell_text(cell, columns[c])));
	fb_json_add(row, fb_json_real((double)cell->bytes));
	fb_json_add(row, fb_json_real(fb_result_number(cell->row, "ranks")));
	fb_json_add(row, rest_of(cell_field, cell));
	for (size_t i = 0; i < FB_COUNT_OF(numbers); i++)
		fb_json_add(row, fb_json_real(numbers[i]));
}

int fb_page_comparison(const struct fb_page *page, json_t *data)
{
	const struct fb_cells *cells = &page->set->cells;
	json_t *made = fb_json_object(data, "comparison"), *list = fb_json_array(made, "columns");
	json_t *rows = fb_json_array(made, "rows");
	size_t alone = 0;

	for (size_t c = 0; c < (page->verdicts ? COLUMNS : PLAIN); c++)
		fb_json_add(list, fb_json_string(columns[c]));
	fb_json_set(made, "verdicts", json_boolean(page->verdicts != NULL));
	if (page->verdicts)
		return put_verdicts(page, rows);
	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *cell = &cells->cell[i];
		const struct fb_cell *base = find_cell(&page->base->cells, cell);

		if (!fb_cell_has_time(cell))
			continue;
		if (base && fb_cell_has_time(base))
			put_cell(rows, cell, base);
		else
			alone++;
	}
	fb_json_set(made, "alone", fb_json_real((double)alone));
	return FB_OK;
}
