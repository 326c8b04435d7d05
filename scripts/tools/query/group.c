/* SPDX-License-Identifier: BSD-3-Clause */
/* Many rows as one; see query.h. */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/schema.h"
#include "scripts/tools/query/query.h"

#include <math.h>
#include <stdlib.h>
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

/* A text that the result owns; NULL where memory is out. */
static const char *own_number(struct fb_query_table *out, double value)
{
	char **texts = realloc(out->text, (out->ntexts + 1) * sizeof(*texts));
	char *copy = NULL;

	if (texts)
		out->text = texts;
	if (!texts ||
	    (isfinite(value) ? asprintf(&copy, "%.6g", value) : asprintf(&copy, "%s", "")) < 0)
		return NULL;
	out->text[out->ntexts++] = copy;
	return copy;
}

/* The row of a group; rows[0 .. n) are its members. NULL where memory is out. */
static const char **make_row(struct grouping *g, const char ***rows, size_t n)
{
	const char **row = calloc(g->out.ncolumns, sizeof(*row));
	double *x = malloc(3 * (n + 1) * sizeof(*x));
	size_t good = 0;
	bool whole = row && x;

	for (size_t i = 0; i < n; i++)
		good += usable(g, rows[i]) ? 1 : 0;
	for (size_t k = 0; whole && k < g->nkeys; k++)
		row[k] = rows[0][g->keys[k]];
	if (whole)
		whole = (row[g->nkeys] = own_number(&g->out, (double)good)) != NULL;
	for (size_t v = 0; whole && v < g->nvalues; v++) {
		double result = (double)NAN;
		size_t count = 0;

		for (size_t i = 0; i < n; i++)
			if (usable(g, rows[i]) && fb_query_number(rows[i][g->values[v]], &x[count]))
				count++;
		if (count)
			result = aggregate_of(g->aggregate, x, count, x + n + 1);
		row[g->nkeys + 1 + v] = own_number(&g->out, result);
		whole = row[g->nkeys + 1 + v] != NULL;
	}
	free(x);
	if (whole)
		return row;
	free(row);
	return NULL;
}

static int make_columns(struct grouping *g)
{
	size_t n = g->nkeys + 1 + g->nvalues;

	g->out.column = calloc(n, sizeof(*g->out.column));
	g->out.number = calloc(n, sizeof(*g->out.number));
	g->out.row = calloc(g->table->nrows + 1, sizeof(*g->out.row));
	if (!g->out.column || !g->out.number || !g->out.row)
		return FB_ENOMEM;
	g->out.ncolumns = n;
	for (size_t i = 0; i < n; i++) {
		size_t from = i < g->nkeys   ? g->keys[i]
			      : i > g->nkeys ? g->values[i - g->nkeys - 1]
					     : 0;

		g->out.column[i] = i == g->nkeys ? "rows" : g->table->column[from];
		g->out.number[i] = i == g->nkeys || g->table->number[from];
	}
	return FB_OK;
}

int fb_query_group(struct fb_query_table *table, const size_t *keys, size_t nkeys,
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
	int err = make_columns(&g);

	*left_out = 0;
	for (size_t i = 0; i < table->ncolumns; i++)
		if (!strcmp(table->column[i], "status"))
			g.status = i;
	for (size_t k = nkeys; k-- > 0;)
		fb_query_sort(table, keys[k], false);
	for (size_t i = 0; i < table->nrows && !err; i += n) {
		n = 1;
		while (i + n < table->nrows && same_group(&g, table->row[i], table->row[i + n]))
			n++;
		g.out.row[g.out.nrows] = make_row(&g, table->row + i, n);
		if (g.out.row[g.out.nrows])
			g.out.nrows++;
		else
			err = FB_ENOMEM;
	}
	for (size_t i = 0; i < table->nrows; i++)
		*left_out += usable(&g, table->row[i]) ? 0 : 1;
	if (err) {
		fb_query_free(&g.out);
		return fb_error(FB_ENOMEM, "no memory to group rows");
	}
	/* Keys and names point into what the old table owns. */
	for (size_t i = 0; i < table->ntexts; i++) {
		char **texts = realloc(g.out.text, (g.out.ntexts + 1) * sizeof(*texts));

		if (!texts) {
			fb_query_free(&g.out);
			return fb_error(FB_ENOMEM, "no memory to group rows");
		}
		g.out.text = texts;
		texts[g.out.ntexts++] = table->text[i];
		table->text[i] = NULL;
	}
	fb_query_free(table);
	*table = g.out;
	return FB_OK;
}
