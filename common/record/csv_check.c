/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers, fields and keys of result files; see csv_check.h. What a row means: csv_check_row.c. */
#include "common/record/csv_check.h"

#include "common/base/error.h"
#include "common/record/closing.h"
#include "common/record/csv.h"
#include "common/record/csv_kind.h"
#include "common/record/csv_samples.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES_MAX = 100, COLUMNS_MAX = 128 };
enum { FACT_KEY = 3 }; /* column `key` of environment.csv */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Prints one finding, of which `number` is the how-manieth of its kind. */
static void print_finding(const struct fb_csv_check *check, const struct fb_csv_reader *reader,
			  uint64_t number, const char *kind, const char *column, const char *fmt,
			  va_list args)
{
	if (!check->out || number > MESSAGES_MAX)
		return;
	fprintf(check->out, "%s:%" PRIu64 ": %s%s%s", reader->path, reader->line, kind, column,
		*column ? ": " : "");
	vfprintf(check->out, fmt, args);
	fputs(number == MESSAGES_MAX ? " (later ones are only counted)\n" : "\n", check->out);
}

void fb_csv_problem(struct fb_csv_check *check, const struct fb_csv_reader *reader,
		    const char *column, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_finding(check, reader, ++check->problems, "", column, fmt, args);
	va_end(args);
}

void fb_csv_warning(struct fb_csv_check *check, const struct fb_csv_reader *reader,
		    const char *column, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_finding(check, reader, ++check->warnings, "warning: ", column, fmt, args);
	va_end(args);
}

/* Checks one field against its type and sets its number. Returns whether it is good. */
static bool check_field(struct fb_csv_check *check, const struct fb_csv_reader *r,
			const struct fb_column *column, const char *text, double *value)
{
	bool good = fb_csv_field_good(column, text);

	*value = good && *text && column->type != FB_COLUMN_TEXT ? strtod(text, NULL) : (double)NAN;
	if (!good)
		fb_csv_problem(check, r, column->name, "'%s' is not of type %s", text,
			       fb_column_type_name(column->type));
	return good;
}

static bool begins_with(const struct fb_csv_reader *r, const struct fb_column *columns, size_t n)
{
	if (r->nfields < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(r->fields[i], columns[i].name))
			return false;
	return true;
}

/* Names of the program's own columns: letters, digits, underscores, and none twice. */
static void check_extra_names(struct fb_csv_check *check, const struct fb_csv_reader *r,
			      size_t first)
{
	for (size_t i = first; i < r->nfields; i++) {
		const char *name = r->fields[i];

		if (!islower((unsigned char)*name))
			fb_csv_problem(check, r, name, "begins with no lower case letter");
		for (const char *c = name; *c; c++)
			if (!isalnum((unsigned char)*c) && *c != '_') {
				fb_csv_problem(check, r, name, "'%c' in a column's name", *c);
				break;
			}
		for (size_t j = 0; j < i; j++)
			if (!strcmp(name, r->fields[j]))
				fb_csv_problem(check, r, name,
					       "there are two columns of this name");
	}
}

/* Every case once in a launch; a fault may be followed by another attempt. */
static int check_unique(struct fb_csv_check *check, const struct fb_csv_reader *r,
			struct fb_finished *seen)
{
	const char *run = r->fields[fb_column_find("run")];
	const char *launch = r->fields[fb_column_find("launch_index")];
	char *key, *whole = NULL;
	int ret;

	if (fb_status_parse(r->fields[fb_column_find("status")]) == FB_STATUS_FAULT)
		return FB_OK;
	key = fb_csv_key(NULL, r->fields);
	if (!key || asprintf(&whole, "%s\x1f%s\x1f%s", run, launch, key) < 0) {
		free(key);
		return fb_error(FB_ENOMEM, "no memory to check '%s'", r->path);
	}
	ret = fb_finished_add(seen, whole);
	if (ret == 0)
		fb_csv_problem(check, r, "", "this key is there already in launch %s of run '%s'",
			       launch, run);
	free(whole);
	free(key);
	return ret < 0 ? ret : FB_OK;
}

struct sheet {
	const struct fb_column *columns;
	size_t ncolumns, nfields;
	int version; /* of a program's result file, which has keys, rules and maybe more columns */
};

static int check_record(struct fb_csv_check *check, const struct fb_csv_reader *r,
			const struct sheet *sheet, struct fb_finished *seen)
{
	double value[COLUMNS_MAX], number;
	int version = fb_column_find("schema");
	bool good = true;

	check->rows++;
	for (size_t i = 0; i < fb_columns_count; i++)
		value[i] = (double)NAN;
	if (r->torn)
		fb_csv_problem(check, r, "", "the file ends without a newline: a torn row");
	if (r->nfields != sheet->nfields) {
		fb_csv_problem(check, r, "", "%zu fields where the header has %zu", r->nfields,
			       sheet->nfields);
		return FB_OK;
	}
	for (size_t i = 0; i < sheet->ncolumns; i++)
		good &= check_field(check, r, &sheet->columns[i], r->fields[i], &value[i]);
	if (!sheet->version)
		return FB_OK;
	if (isfinite(value[version]) && value[version] != sheet->version)
		fb_csv_problem(check, r, "schema", "%s: expected %d, as the header has it",
			       r->fields[version], sheet->version);
	for (size_t i = sheet->ncolumns; i < r->nfields; i++)
		good &= check_field(check, r, fb_csv_column(FB_CSV_RESULTS, ""), r->fields[i],
				    &number);
	if (good)
		fb_csv_check_row(check, r, value);
	return check_unique(check, r, seen);
}

/* Finds out from the header what kind of file it is. */
static int find_sheet(struct fb_csv_check *check, const struct fb_csv_reader *r,
		      struct sheet *sheet)
{
	enum fb_csv_kind kind = r->torn ? FB_CSV_OTHER : fb_csv_kind(r->fields, r->nfields);

	sheet->columns = fb_csv_columns(kind, &sheet->ncolumns);
	sheet->nfields = r->nfields;
	sheet->version = kind == FB_CSV_RESULTS ? FB_SCHEMA_VERSION : 0;
	/* The last column of launches.csv is there where merge wrote it. */
	if (kind == FB_CSV_LAUNCHES && r->nfields + 1 == sheet->ncolumns)
		sheet->ncolumns--;
	while (sheet->version > FB_SCHEMA_OLDEST &&
	       !begins_with(r, sheet->columns, sheet->ncolumns))
		sheet->ncolumns = fb_columns_of(--sheet->version);
	if (sheet->columns && begins_with(r, sheet->columns, sheet->ncolumns) &&
	    (sheet->version || r->nfields == sheet->ncolumns)) {
		if (sheet->version)
			check_extra_names(check, r, sheet->ncolumns);
		return FB_OK;
	}
	if (check->found && kind == FB_CSV_OTHER && !r->torn)
		return FB_EUNSUPPORTED;
	return fb_error(FB_EINPUT,
			"'%s' has no header of schema %d or %d: expected the columns of "
			"docs/csv.md",
			r->path, FB_SCHEMA_OLDEST, FB_SCHEMA_VERSION);
}

/* Adds the facts of the environment.csv beside a file, if it can be read; csvcheck judges it. */
static int read_facts(struct fb_closing *closing, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct fb_csv_reader r = {.file = NULL};
	char *beside;
	int ret = FB_OK;

	if (asprintf(&beside, "%.*senvironment.csv", slash ? (int)(slash - path) + 1 : 0, path) < 0)
		return fb_error(FB_ENOMEM, "no memory for a path");
	if (access(beside, R_OK) == 0)
		ret = fb_csv_reader_open(&r, beside);
	while (!ret && r.file && fb_csv_reader_next(&r) == 1)
		if (r.nfields > FACT_KEY)
			ret = fb_closing_fact(closing, r.fields[FACT_KEY]);
	fb_csv_reader_close(&r);
	free(beside);
	return ret;
}

static int name_incomplete(struct fb_csv_check *check, const struct fb_csv_reader *r,
			   struct fb_closing *closing)
{
	int ret = read_facts(closing, r->path);
	char text[FB_CLOSING_CHARS] = "";
	size_t lacking = ret ? 0 : fb_closing_lacking(closing, text);

	if (lacking)
		fb_csv_warning(check, r, "",
			       "launches without their closing fact in environment.csv, which may "
			       "lack rows: %zu (%s)",
			       lacking, text);
	return ret;
}

/* Adds a row of a program's result file to the data by which the whole file is judged. */
static int add_row(const struct fb_csv_reader *r, struct fb_closing *closing,
		   struct fb_csv_samples *samples)
{
	const char *program = r->fields[fb_column_find("program")];
	const char *launch = r->fields[fb_column_find("launch_index")];
	const char *const id[] = {r->fields[fb_column_find("run")], launch, program};
	const char *count = r->fields[fb_column_find("samples")];
	int ret = fb_closing_row(closing, program, launch);

	return ret ? ret : fb_csv_samples_row(samples, id, r->line, strtoull(count, NULL, 10));
}

static int check_records(struct fb_csv_check *check, struct fb_csv_reader *r)
{
	struct fb_finished seen = {.slots = NULL};
	struct fb_closing closing = {.launch = NULL};
	struct fb_csv_samples samples = {.row = NULL};
	struct sheet sheet = {.columns = NULL};
	int more = fb_csv_reader_next(r), ret = FB_OK;

	if (more == 0 || more == FB_EDATA)
		return fb_error(FB_EINPUT, "'%s' has no header: %s", r->path,
				more ? r->problem : "it is empty");
	if (more < 0)
		return more;
	ret = find_sheet(check, r, &sheet);
	while (!ret && (more = fb_csv_reader_next(r)) == 1) {
		ret = check_record(check, r, &sheet, &seen);
		if (!ret && sheet.version && r->nfields == sheet.nfields)
			ret = add_row(r, &closing, &samples);
	}
	if (!ret && more == FB_EDATA)
		fb_csv_problem(check, r, "", "%s: the rest is not checked", r->problem);
	else if (!ret && more < 0)
		ret = more;
	if (!ret && sheet.version)
		ret = name_incomplete(check, r, &closing);
	if (!ret && sheet.version)
		ret = fb_csv_samples_judge(&samples, check, r);
	fb_csv_samples_free(&samples);
	fb_closing_free(&closing);
	fb_finished_free(&seen);
	return ret;
}

int fb_csv_check_file(struct fb_csv_check *check, const char *path)
{
	struct fb_csv_reader reader = {.file = NULL};
	int ret = fb_csv_reader_open(&reader, path);

	if (!ret)
		ret = check_records(check, &reader);
	fb_csv_reader_close(&reader);
	return ret;
}
