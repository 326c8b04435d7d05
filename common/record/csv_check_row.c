/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that the fields of one row agree with each other; see csv_check.h.
 *
 * Most rules are lines of tables: texts that must be of a list, pairs of columns of which the
 * first may not exceed the second, and columns that need a number of samples.
 */
#include "common/record/csv_check.h"
#include "common/record/schema.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Half a unit of the last digit that %.4f writes. */
static const double rounding_us = 0.00005;

struct context {
	struct fb_csv_check *check;
	const struct fb_csv_reader *reader;
	const double *value;
	int status;
};

static double number(const struct context *c, const char *column)
{
	return c->value[fb_column_find(column)];
}

static const char *text(const struct context *c, const char *column)
{
	return c->reader->fields[fb_column_find(column)];
}

static bool good_cadence(const char *name)
{
	return fb_cadence_parse(name) >= 0;
}

static bool good_datatype(const char *name)
{
	return !strcmp(name, "-") || fb_datatype_parse(name) >= 0;
}

static bool good_redop(const char *name)
{
	return !strcmp(name, "-") || fb_redop_parse(name) >= 0;
}

static bool good_yes_no(const char *name)
{
	return !strcmp(name, "yes") || !strcmp(name, "no");
}

static bool good_status(const char *name)
{
	return fb_status_parse(name) >= 0;
}

static bool good_stop(const char *name)
{
	return fb_stop_parse(name) >= 0;
}

/* "2024-05-31T23:59:59Z", and each number within its range. */
static bool good_utc(const char *utc)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:ddZ";
	static const struct {
		int at, low, high;
	} parts[] = {{5, 1, 12}, {8, 1, 31}, {11, 0, 23}, {14, 0, 59}, {17, 0, 60}};

	if (strlen(utc) != strlen(shape))
		return false;
	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == 'd' ? !isdigit((unsigned char)utc[i]) : utc[i] != shape[i])
			return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int part = (utc[parts[i].at] - '0') * 10 + utc[parts[i].at + 1] - '0';

		if (part < parts[i].low || part > parts[i].high)
			return false;
	}
	return true;
}

/* "" or "k=v;k=v" with the keys in strictly rising order. */
static bool good_variant(const char *variant)
{
	const char *last = NULL;
	size_t last_length = 0;

	while (*variant) {
		size_t length = strcspn(variant, ";"), key = strcspn(variant, "=");

		if (key == 0 || key >= length)
			return false;
		if (last) {
			int order = strncmp(variant, last, key < last_length ? key : last_length);

			if (order < 0 || (order == 0 && key <= last_length))
				return false;
		}
		last = variant;
		last_length = key;
		if (variant[length] && !variant[length + 1])
			return false;
		variant += length + (variant[length] != '\0');
	}
	return true;
}

static const struct {
	const char *column, *expected;
	bool (*good)(const char *text);
} texts[] = {
	{"utc", "a time such as 2024-05-31T23:59:59Z", good_utc},
	{"cadence", "isolated or streaming", good_cadence},
	{"datatype", "a datatype or -", good_datatype},
	{"redop", "a reduction or -", good_redop},
	{"in_place", "yes or no", good_yes_no},
	{"variant", "sorted k=v;k=v", good_variant},
	{"status", "ok, wrong, skipped, few or fault", good_status},
	{"stop", "ci, nmax, time or nothing", good_stop},
};

static void check_texts(const struct context *c)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!texts[i].good(text(c, texts[i].column)))
			fb_csv_problem(c->check, c->reader, texts[i].column, "'%s': expected %s",
				       text(c, texts[i].column), texts[i].expected);
	for (size_t i = 0; i < fb_columns_count; i++) {
		bool may_be_empty = fb_columns[i].kind == FB_COLUMN_VALUE ||
				    !strcmp(fb_columns[i].name, "variant");

		if (!may_be_empty && !*c->reader->fields[i])
			fb_csv_problem(c->check, c->reader, fb_columns[i].name, "is empty");
	}
}

/* Pairs of which the first may not be greater. Both are rounded in the same way. */
static const char *const orders[][2] = {
	{"median_low_us", "median_us"},
	{"median_us", "median_high_us"},
	{"min_us", "median_low_us"},
	{"median_high_us", "max_us"},
	{"min_us", "median_us"},
	{"median_us", "max_us"},
	{"min_us", "p05_us"},
	{"p05_us", "median_us"},
	{"median_us", "p95_us"},
	{"p95_us", "p99_us"},
	{"p99_us", "max_us"},
	{"rank_min_us", "rank_mean_us"},
	{"rank_mean_us", "median_us"},
	{"outliers", "samples"},
	{"nodes", "ranks"},
};

static void check_orders(const struct context *c)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		double low = number(c, orders[i][0]), high = number(c, orders[i][1]);

		/* A comparison with NAN, an empty field, is false. */
		if (low > high)
			fb_csv_problem(c->check, c->reader, orders[i][0],
				       "%.10g is greater than %s, %.10g", low, orders[i][1], high);
	}
}

/* Percentiles that fewer samples cannot support. */
static const struct {
	const char *column;
	double samples;
} floors[] = {
	{"p05_us", 100},
	{"p95_us", 100},
	{"p99_us", 1000},
};

static void check_floors(const struct context *c)
{
	for (size_t i = 0; i < sizeof(floors) / sizeof(floors[0]); i++)
		if (isfinite(number(c, floors[i].column)) &&
		    number(c, "samples") < floors[i].samples)
			fb_csv_problem(c->check, c->reader, floors[i].column,
				       "needs %.0f samples, and there are %.0f", floors[i].samples,
				       number(c, "samples"));
}

/*
 * A bound is the best that a machine was seen to do, so a time below it says that the machine was
 * slower while the bound was measured. Bounds of three launches on a machine with four times as
 * many processes as processors were up to 1.3 times apart, so less than 1.1 times the upper end of
 * the median's interval is noise.
 */
static const double bound_tolerance = 1.1;

static void check_bound(const struct context *c)
{
	double bound = number(c, "bound_us"), high = number(c, "median_high_us");
	double most = isfinite(high) ? high : number(c, "median_us");

	if (bound > bound_tolerance * most)
		fb_csv_warning(c->check, c->reader, "bound_us",
			       "%.10g is above the time that was measured, %.10g", bound, most);
}

static void check_numbers(const struct context *c)
{
	double bound = number(c, "bound_us"), median = number(c, "median_us");
	double efficiency = number(c, "efficiency"), expected = bound / median;
	/* Either time may be off by its rounding, and the ratio by the rounding of %.6g. */
	double off = expected * (rounding_us / bound + rounding_us / median + 1e-5);

	if (number(c, "ranks") < 1)
		fb_csv_problem(c->check, c->reader, "ranks", "is 0");
	if (number(c, "nodes") < 1)
		fb_csv_problem(c->check, c->reader, "nodes", "is 0");
	if (number(c, "root") < -1 || number(c, "root") >= number(c, "ranks"))
		fb_csv_problem(c->check, c->reader, "root",
			       "%.0f: expected -1, or one of %.0f ranks", number(c, "root"),
			       number(c, "ranks"));
	if (isfinite(efficiency) && !(isfinite(bound) && isfinite(median)))
		fb_csv_problem(c->check, c->reader, "efficiency", "without bound_us and median_us");
	if (bound > 0 && median > 0 && !(fabs(efficiency - expected) <= off))
		fb_csv_problem(c->check, c->reader, "efficiency",
			       "'%s': expected bound_us / median_us, %.6g", text(c, "efficiency"),
			       expected);
	if (number(c, "algbw_GBps") < 0)
		fb_csv_problem(c->check, c->reader, "algbw_GBps", "is negative");
	if (number(c, "busbw_GBps") < 0)
		fb_csv_problem(c->check, c->reader, "busbw_GBps", "is negative");
	if (number(c, "cpu_s") < 0)
		fb_csv_problem(c->check, c->reader, "cpu_s", "is negative");
}

/* The demands of a status on other columns. */
static const struct {
	bool reason, samples, no_samples, no_errors;
} demands[] = {
	[FB_STATUS_OK] = {.samples = true, .no_errors = true},
	[FB_STATUS_WRONG] = {.reason = true},
	[FB_STATUS_SKIPPED] = {.reason = true, .no_samples = true, .no_errors = true},
	[FB_STATUS_FEW] = {.reason = true, .samples = true, .no_errors = true},
	[FB_STATUS_FAULT] = {.reason = true},
};

static void check_status(const struct context *c)
{
	const char *status = text(c, "status");
	bool sampled = number(c, "samples") > 0;

	if (c->status < 0)
		return;
	if (demands[c->status].reason != (*text(c, "reason") != '\0'))
		fb_csv_problem(c->check, c->reader, "reason", "%s with status %s",
			       *text(c, "reason") ? "is there" : "is empty", status);
	if (demands[c->status].samples && !sampled)
		fb_csv_problem(c->check, c->reader, "samples", "is 0 with status %s", status);
	if (demands[c->status].no_samples && sampled)
		fb_csv_problem(c->check, c->reader, "samples", "is %.0f with status %s",
			       number(c, "samples"), status);
	if (demands[c->status].no_errors && number(c, "errors") > 0)
		fb_csv_problem(c->check, c->reader, "errors", "is %.0f with status %s",
			       number(c, "errors"), status);
	if (sampled != (isfinite(number(c, "median_us")) != 0))
		fb_csv_problem(c->check, c->reader, "median_us", "is %s with %.0f samples",
			       sampled ? "empty" : "there", number(c, "samples"));
}

void fb_csv_check_row(struct fb_csv_check *check, const struct fb_csv_reader *reader,
		      const double *value)
{
	struct context c = {.check = check, .reader = reader, .value = value};

	c.status = fb_status_parse(text(&c, "status"));
	check_texts(&c);
	check_orders(&c);
	check_floors(&c);
	check_numbers(&c);
	check_bound(&c);
	check_status(&c);
}
