/* SPDX-License-Identifier: BSD-3-Clause */
/* Many rows as one; see query.h. */
#include "common/measure/stats.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/query/query.h"

#include <math.h>
#include <string.h>

struct grouping {
	const struct fb_query_table *table;
	const size_t *keys, *values;
	size_t nkeys, nvalues, status;
	enum fb_query_aggregate aggregate;
	struct fb_query_table out;
};

static bool same_group(const struct grouping *g, const char *const *a, const char *const *b)
{
	for (size_t i = 0; i < g->nkeys; i++)
		if (strcmp(a[g->keys[i]], b[g->keys[i]]))
			return false;
	return true;
}

static bool usable(const struct grouping *g, const char *const *row)
{
	int status = g->status < g->table->ncolumns ? fb_status_parse(row[g->status]) : -1;

	return status == FB_STATUS_OK || status == FB_STATUS_FEW;
}

/* x[0 .. n), n > 0; scratch of 2 * n. NAN where there is no such value. */
static double aggregate_of(enum fb_query_aggregate aggregate, const double *x, size_t n,
			   double *scratch)
{
	double low = INFINITY, high = -INFINITY, logarithms = 0;

	for (size_t i = 0; i < n; i++) {
		low = fmin(low, x[i]);
		high = fmax(high, x[i]);
		logarithms += x[i] > 0 ? log(x[i]) : 0;
	}
	return ((const double[]){
		[FB_QUERY_MEDIAN] = fb_median(x, n, scratch),
		[FB_QUERY_MIN] = low,
		[FB_QUERY_MAX] = high,
		[FB_QUERY_GEOMEAN] = low > 0 ? exp(logarithms / (double)n) : (double)NAN,
	})[aggregate];
}

/* Whole numbers, as bytes, keep all of their digits. */
static const char *number_text(double value)
{
	bool whole = value == floor(value) && fabs(value) < 1e15;

	return isfinite(value) ? fb_new_text(whole ? "%.0f" : "%.6g", value) : "";
}

/* The row of a group; rows[0 .. n) are its members. */
static const char **make_row(const struct grouping *g, const char ***rows, size_t n)
{
	const char **row = fb_new(g->out.ncolumns, sizeof(*row));
	double *x = fb_new(3 * (n + 1), sizeof(*x));
	size_t good = 0;

	for (size_t i = 0; i < n; i++)
		good += usable(g, rows[i]) ? 1 : 0;
	for (size_t k = 0; k < g->nkeys; k++)
		row[k] = rows[0][g->keys[k]];
	row[g->nkeys] = number_text((double)good);
	for (size_t v = 0; v < g->nvalues; v++) {
		size_t count = 0;

		for (size_t i = 0; i < n; i++)
			if (usable(g, rows[i]) && fb_query_number(rows[i][g->values[v]], &x[count]))
				count++;
		row[g->nkeys + 1 + v] = number_text(
			count ? aggregate_of(g->aggregate, x, count, x + n + 1) : (double)NAN);
	}
	return row;
}

static void make_columns(struct grouping *g)
{
	size_t n = g->nkeys + 1 + g->nvalues;

	g->out.column = fb_new(n, sizeof(*g->out.column));
	g->out.number = fb_new(n, sizeof(*g->out.number));
	g->out.row = fb_new(g->table->nrows, sizeof(*g->out.row));
	g->out.ncolumns = n;
	for (size_t i = 0; i < n; i++) {
		size_t from = i < g->nkeys   ? g->keys[i]
			      : i > g->nkeys ? g->values[i - g->nkeys - 1]
					     : 0;

		g->out.column[i] = i == g->nkeys ? "rows" : g->table->column[from];
		g->out.number[i] = i == g->nkeys || g->table->number[from];
	}
}

void fb_query_group(struct fb_query_table *table, const size_t *keys, size_t nkeys,
		    const size_t *values, size_t nvalues, enum fb_query_aggregate aggregate,
		    size_t *left_out)
{
	struct grouping g = {
		.table = table,
		.keys = keys,
		.values = values,
		.nkeys = nkeys,
		.nvalues = nvalues,
		.aggregate = aggregate,
		.status = table->ncolumns,
	};
	size_t n;

	make_columns(&g);
	*left_out = 0;
	(void)fb_query_find(table, "status", &g.status);
	for (size_t k = nkeys; k-- > 0;)
		fb_query_sort(table, keys[k], false);
	for (size_t i = 0; i < table->nrows; i += n) {
		n = 1;
		while (i + n < table->nrows && same_group(&g, table->row[i], table->row[i + n]))
			n++;
		g.out.row[g.out.nrows++] = make_row(&g, table->row + i, n);
	}
	for (size_t i = 0; i < table->nrows; i++)
		*left_out += usable(&g, table->row[i]) ? 0 : 1;
	*table = g.out;
}

void fb_query_share(struct fb_query_table *table, const size_t *keys, size_t nkeys)
{
	struct grouping g = {.table = table, .keys = keys, .nkeys = nkeys};
	size_t n = table->ncolumns;
	const char **column = fb_new(n + 1, sizeof(*column));
	bool *number = fb_new(n + 1, sizeof(*number));
	const char ***row = fb_new(table->nrows, sizeof(*row));
	double *us = fb_new(table->nrows + 1, sizeof(*us)); /* NAN: the row has no time */
	size_t median;
	bool found = !fb_query_find(table, "median_us", &median) &&
		     !fb_query_find(table, "status", &g.status);

	for (size_t i = 0; i < table->nrows; i++)
		if (!found || !usable(&g, table->row[i]) ||
		    !fb_query_number(table->row[i][median], &us[i]) || us[i] <= 0)
			us[i] = (double)NAN;
	memcpy(column, table->column, n * sizeof(*column));
	memcpy(number, table->number, n * sizeof(*number));
	column[n] = "share";
	number[n] = true;
	for (size_t i = 0; i < table->nrows; i++) {
		double best = us[i];

		for (size_t k = 0; k < table->nrows; k++)
			if (us[k] < best && same_group(&g, table->row[i], table->row[k]))
				best = us[k];
		row[i] = fb_new(n + 1, sizeof(*row[i]));
		memcpy(row[i], table->row[i], n * sizeof(*row[i]));
		row[i][n] = isfinite(us[i]) ? fb_new_text("%.3g", best / us[i]) : "";
	}
	*table = (struct fb_query_table){.column = column, .number = number, .ncolumns = n + 1,
					 .row = row, .nrows = table->nrows, .axis = table->axis,
					 .axes = table->axes};
}
