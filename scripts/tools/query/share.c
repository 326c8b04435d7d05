/* SPDX-License-Identifier: BSD-3-Clause */
/* How near each row is to the fastest one beside it; see query.h. */
#include "common/record/schema.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/query/query.h"

#include <math.h>
#include <string.h>

/* NAN: the row has no time. */
static double time_of(const struct fb_query_table *table, size_t row)
{
	size_t status, median;
	double us = (double)NAN;
	int code;

	if (fb_query_find(table, "status", &status) || fb_query_find(table, "median_us", &median))
		return us;
	code = fb_status_parse(table->row[row][status]);
	if ((code != FB_STATUS_OK && code != FB_STATUS_FEW) ||
	    !fb_query_number(table->row[row][median], &us) || us <= 0)
		return (double)NAN;
	return us;
}

static bool are_equal(const struct fb_query_table *table, size_t a, size_t b, const size_t *keys,
		      size_t nkeys)
{
	for (size_t i = 0; i < nkeys; i++)
		if (strcmp(table->row[a][keys[i]], table->row[b][keys[i]]))
			return false;
	return true;
}

static double share_of(const struct fb_query_table *table, const double *us, size_t row,
		       const size_t *keys, size_t nkeys)
{
	double best = us[row];

	for (size_t i = 0; i < table->nrows; i++)
		if (us[i] < best && are_equal(table, row, i, keys, nkeys))
			best = us[i];
	return best / us[row];
}

void fb_query_share(struct fb_query_table *table, const size_t *keys, size_t nkeys)
{
	size_t n = table->ncolumns;
	const char **column = fb_new(n + 1, sizeof(*column));
	bool *number = fb_new(n + 1, sizeof(*number));
	const char ***row = fb_new(table->nrows, sizeof(*row));
	double *us = fb_new(table->nrows, sizeof(*us));

	memcpy(column, table->column, n * sizeof(*column));
	memcpy(number, table->number, n * sizeof(*number));
	column[n] = "share";
	number[n] = true;
	for (size_t i = 0; i < table->nrows; i++)
		us[i] = time_of(table, i);
	for (size_t i = 0; i < table->nrows; i++) {
		double share = isfinite(us[i]) ? share_of(table, us, i, keys, nkeys) : (double)NAN;

		row[i] = fb_new(n + 1, sizeof(*row[i]));
		memcpy(row[i], table->row[i], n * sizeof(*row[i]));
		row[i][n] = isfinite(share) ? fb_new_text("%.3g", share) : "";
	}
	table->column = column;
	table->number = number;
	table->row = row;
	table->ncolumns = n + 1;
}
