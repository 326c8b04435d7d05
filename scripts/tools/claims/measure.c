/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of result files; see claims.h. */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/schema.h"
#include "scripts/tools/claims/claims.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/query/query.h"

#include <math.h>
#include <string.h>

enum { NAME_CHARS = FB_CLAIM_NAME_CHARS };

/* Index of a column, or of the variable of the environment of that name; ncolumns: none. */
static size_t find(const struct fb_query_table *table, const char *name)
{
	char variable[NAME_CHARS];
	size_t i = 0;

	while (i < table->ncolumns && strcmp(table->column[i], name))
		i++;
	if (i < table->ncolumns)
		return i;
	snprintf(variable, sizeof(variable), "env.%s", name);
	for (i = 0; i < table->ncolumns && strcmp(table->column[i], variable);)
		i++;
	return i;
}

static const char *cell(const struct fb_query_table *table, size_t row, const char *name)
{
	size_t column = find(table, name);

	return column < table->ncolumns ? table->row[row][column] : "";
}

static bool usable(const struct fb_query_table *table, size_t row)
{
	int status = fb_status_parse(cell(table, row, "status"));

	return status == FB_STATUS_OK || status == FB_STATUS_FEW;
}

static bool is_at(const struct fb_query_table *table, size_t row, const struct fb_claim_show *show,
		  const struct fb_claim_place *place)
{
	for (size_t i = 0; place && i < show->columns; i++)
		if (strcmp(cell(table, row, show->over[i]), place->value[i]))
			return false;
	return true;
}

/* The rows that meet the term's conditions. A key that no row has is an empty one. */
static int select_rows(struct fb_query_table *table, const struct fb_claim_show *show,
		       const struct fb_claim_term *term, const struct fb_sheets *sheets,
		       const struct fb_claim_place *place)
{
	size_t kept = 0;
	int err = FB_OK;

	fb_query_load(table, sheets);
	for (size_t i = 0; i < term->conditions && !err; i++) {
		const char *condition = term->condition[i];
		size_t n = strcspn(condition, "!=<>");
		char name[NAME_CHARS];

		snprintf(name, sizeof(name), "%.*s", (int)n, condition);
		if (find(table, name) < table->ncolumns)
			err = fb_query_filter(table, condition);
		else if (strcmp(condition + n, "="))
			table->nrows = 0;
	}
	for (size_t i = 0; i < table->nrows && !err; i++)
		if (is_at(table, i, show, place))
			table->row[kept++] = table->row[i];
	if (!err)
		table->nrows = kept;
	return err;
}

/* Columns of counts and of memory: they are exact, whatever the row's times are. */
static bool is_exact(const char *column)
{
	static const char *const exact[] = {
		"sockets",	     "channels",   "device_bytes",     "device_early_bytes",
		"device_late_bytes", "host_bytes", "host_early_bytes", "host_late_bytes",
		"piece_bytes",	     "slot_bytes", "wire_bytes"};

	for (size_t i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		if (!strcmp(column, exact[i]))
			return true;
	return false;
}

/* The ends of a value of a row: its own columns, else relative to those of the median. */
static struct fb_claim_value read_value(const struct fb_query_table *table, size_t row,
					const char *column)
{
	struct fb_claim_value value = {(double)NAN, (double)NAN, (double)NAN, "", false};
	/* exposed_us has exposed_low_us, and knee_ratio has knee_ratio_low. */
	const char *unit = strrchr(column, '_');
	int stem = unit ? (int)(unit - column) : 0;
	char low[NAME_CHARS], high[NAME_CHARS];
	double median, least, greatest;

	if (!fb_query_number(cell(table, row, column), &value.middle))
		return value;
	snprintf(low, sizeof(low), "%.*s_low%s", stem, column, unit ? unit : "");
	snprintf(high, sizeof(high), "%.*s_high%s", stem, column, unit ? unit : "");
	if (fb_query_number(cell(table, row, low), &value.low) &&
	    fb_query_number(cell(table, row, high), &value.high))
		return value;
	snprintf(low, sizeof(low), "%s_low", column);
	snprintf(high, sizeof(high), "%s_high", column);
	if (find(table, low) < table->ncolumns) {
		if (!fb_query_number(cell(table, row, low), &value.low) ||
		    !fb_query_number(cell(table, row, high), &value.high))
			value.low = (double)NAN;
		return value;
	}
	if (is_exact(column)) {
		/* 0 channels: not known. */
		if (*column == 'c' && !(value.middle > 0))
			value.middle = (double)NAN;
		value.low = value.high = value.middle;
		return value;
	}
	if (!fb_query_number(cell(table, row, "median_us"), &median) || !(median > 0) ||
	    !fb_query_number(cell(table, row, "median_low_us"), &least) || !(least > 0) ||
	    !fb_query_number(cell(table, row, "median_high_us"), &greatest))
		return value;
	if (strstr(column, "_GBps")) {
		value.low = value.middle * median / greatest;
		value.high = value.middle * median / least;
		return value;
	}
	value.low = fmin(value.middle * least / median, value.middle * greatest / median);
	value.high = fmax(value.middle * least / median, value.middle * greatest / median);
	return value;
}

/*
 * The key in which two rows differ, or NULL. The variant's keys are columns behind the fixed, but
 * for one whose name a fixed column has (channels).
 */
static const char *unlike(const struct fb_query_table *table, size_t a, size_t b)
{
	for (size_t i = 0; i < table->ncolumns; i++) {
		bool key = i < fb_columns_count ? fb_columns[i].kind == FB_COLUMN_KEY
						: !table->number[i];

		if (key && strcmp(table->column[i], "variant") &&
		    strcmp(table->row[a][i], table->row[b][i]))
			return table->column[i];
	}
	return strcmp(cell(table, a, "variant"), cell(table, b, "variant")) ? "variant" : NULL;
}

/* Whether it is the first row of its launch: a later one of that index is a repeated attempt. */
static bool is_new_launch(const struct fb_query_table *table, size_t first, size_t row)
{
	for (size_t i = first; i < row; i++)
		if (!strcmp(cell(table, i, "launch_index"), cell(table, row, "launch_index")) &&
		    !unlike(table, first, i))
			return false;
	return true;
}

/* Joins all launches of row `first`; their values give an interval if single launches have none. */
static struct fb_claim_value join(const struct fb_query_table *table, size_t first,
				  const char *column, bool *done, double *scratch)
{
	struct fb_claim_value joined = {(double)NAN, INFINITY, -INFINITY, "", false};
	size_t n = 0, launches = 0, low, high;
	const char *samples = NULL; /* of a launch without an interval */
	bool empty = false;

	for (size_t i = first; i < table->nrows; i++) {
		struct fb_claim_value value;

		if (done[i] || unlike(table, first, i))
			continue;
		done[i] = true;
		launches += is_new_launch(table, first, i);
		value = read_value(table, i, column);
		if (!isfinite(value.middle)) {
			empty = snprintf(joined.why, sizeof(joined.why), "%s is empty (flags: %s)",
					 column, cell(table, i, "flags"));
			continue;
		}
		scratch[n++] = value.middle;
		joined.low = fmin(joined.low, value.low);
		joined.high = fmax(joined.high, value.high);
		if (!isfinite(value.low) || !isfinite(value.high))
			samples = cell(table, i, "samples");
	}
	if (samples && !empty && fb_median_ci_ranks(n, (double)launches, &low, &high)) {
		fb_sort(scratch, n, scratch + table->nrows);
		joined.low = fmin(joined.low, scratch[low - 1]);
		joined.high = fmax(joined.high, scratch[high - 1]);
	} else if (samples) {
		n = 0;
		if (!empty)
			snprintf(joined.why, sizeof(joined.why), "%s without an interval: samples "
				 "%s, of which fewer than %d are independent, and launches %zu "
				 "(--min-samples, --repeat)", column, samples, FB_MIN_SAMPLES_CI,
				 launches);
	}
	/* If a launch has no value, the others are an incomplete sample, and decide nothing. */
	if (n && !empty)
		*joined.why = '\0';
	joined.middle = n ? fb_median(scratch, n, scratch + table->nrows) : (double)NAN;
	return joined;
}

/* Why no row can be used: the first one's reason. */
static void explain(struct fb_claim_value *value, const struct fb_query_table *table,
		    const struct fb_claim_term *term)
{
	char wanted[160] = "";

	value->absent = true;
	for (size_t i = 0; i < term->conditions; i++) {
		size_t used = strlen(wanted);

		snprintf(wanted + used, sizeof(wanted) - used, " %s", term->condition[i]);
	}
	if (table->nrows)
		snprintf(value->why, sizeof(value->why), "%s: %s", cell(table, 0, "status"),
			 cell(table, 0, "reason"));
	else
		snprintf(value->why, sizeof(value->why), "no row has%s", wanted);
}

static void keep_usable(struct fb_query_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->nrows; i++)
		if (usable(table, i))
			table->row[kept++] = table->row[i];
	table->nrows = kept;
}

static int reduce(struct fb_claim_value *value, const struct fb_query_table *table,
		  const struct fb_claim_term *term)
{
	bool *done = fb_new(table->nrows + 1, sizeof(*done));
	double *scratch = fb_new(3 * (table->nrows + 1), sizeof(*scratch));
	bool greatest = strstr(term->column, "_GBps") != NULL;
	int err = FB_OK;

	for (size_t i = 0; i < table->nrows && !err; i++) {
		struct fb_claim_value one;

		if (done[i])
			continue;
		if (i && !term->best) {
			err = fb_error(FB_EINPUT,
				       "%s: rows that differ in %s: name its value, or 'best'",
				       term->column, unlike(table, 0, i));
			break;
		}
		one = join(table, i, term->column, done, scratch);
		if (i == 0 || *value->why ||
		    (!*one.why &&
		     (greatest ? one.middle > value->middle : one.middle < value->middle)))
			*value = one;
	}
	return err;
}

int fb_claim_measure(struct fb_claim_value *value, const struct fb_claim_show *show,
		     const struct fb_claim_term *term, const struct fb_sheets *sheets,
		     const struct fb_claim_place *place)
{
	void *before = fb_new(0, 1);
	struct fb_query_table table = {.nrows = 0};
	int err = select_rows(&table, show, term, sheets, place);
	bool any = false;
	double low;

	*value = (struct fb_claim_value){(double)NAN, (double)NAN, (double)NAN, "", false};
	for (size_t i = 0; i < table.nrows && !err; i++)
		any = any || usable(&table, i);
	if (!err && !any) {
		explain(value, &table, term);
	} else if (!err) {
		keep_usable(&table);
		err = reduce(value, &table, term);
	}
	low = value->low;
	value->middle *= term->factor;
	value->low = term->factor * (term->factor < 0 ? value->high : low);
	value->high = term->factor * (term->factor < 0 ? low : value->high);
	fb_drop_since(before);
	return err;
}

static void add_place(struct fb_claim_place **places, size_t *count,
		      const struct fb_query_table *table, size_t row,
		      const struct fb_claim_show *show)
{
	struct fb_claim_place *place = FB_ADD(*places, *count);

	for (size_t i = 0; i < show->columns; i++)
		place->value[i] = cell(table, row, show->over[i]);
}

int fb_claim_places(struct fb_claim_place **places, size_t *count, const struct fb_claim_show *show,
		    const struct fb_sheets *sheets)
{
	struct fb_query_table table = {.nrows = 0};
	int err = select_rows(&table, show, &show->above, sheets, NULL);

	*places = NULL;
	*count = 0;
	for (size_t i = show->apart; i-- > 0 && !err;)
		fb_query_sort(&table, find(&table, show->over[i]), false);
	for (size_t i = 0; i < table.nrows && !err; i++) {
		size_t k = 0;

		while (k < *count && !is_at(&table, i, show, &(*places)[k]))
			k++;
		if (k == *count)
			add_place(places, count, &table, i, show);
	}
	return err;
}
