/* SPDX-License-Identifier: BSD-3-Clause */
/* Result files by the columns of the schema; see results.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/results.h"
#include "scripts/tools/lib/sheet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* The number of a column; a new name is appended to fb_results.own. */
static size_t place_column(struct fb_results *results, const char *name)
{
	int column = fb_results_column(results, name);

	if (column >= 0)
		return (size_t)column;
	*FB_ADD(results->own, results->nown) = name;
	return fb_columns_count + results->nown - 1;
}

static int check_columns(const struct fb_sheet *sheet)
{
	for (size_t i = 0; i < fb_columns_count; i++) {
		const char *name = fb_columns[i].name;
		bool needed = fb_columns[i].kind != FB_COLUMN_VALUE || !strcmp(name, "status") ||
			      !strcmp(name, "median_us");

		if (needed && fb_sheet_column(sheet, name) < 0)
			return fb_error(FB_EINPUT, "%s: no column %s", sheet->path, name);
	}
	return FB_OK;
}

/* The cells of a row in the order of the schema, which they usually have already. */
static char **make_fields(const struct fb_sheet *sheet, size_t row, const size_t *place, bool usual,
			  size_t nfields)
{
	static char nothing[] = "";
	char **field = usual ? sheet->row[row].cell : fb_new(nfields, sizeof(*field));

	for (size_t i = 0; i < nfields && !usual; i++)
		field[i] = nothing;
	for (size_t i = 0; i < sheet->ncolumns && !usual; i++)
		field[place[i]] = sheet->row[row].cell[i];
	return field;
}

static int add_rows(struct fb_results *results, const struct fb_sheet *sheet)
{
	size_t *place = fb_new(sheet->ncolumns, sizeof(*place));
	bool usual = sheet->ncolumns >= fb_columns_count;
	int err = check_columns(sheet);

	for (size_t i = 0; i < sheet->ncolumns && !err; i++) {
		place[i] = place_column(results, sheet->column[i]);
		usual &= place[i] == i;
	}
	for (size_t i = 0; i < sheet->nrows && !err; i++) {
		size_t nfields = usual ? sheet->ncolumns : fb_columns_count + results->nown;
		struct fb_result *row = FB_ADD(results->row, results->count);
		const char *status;

		row->field = make_fields(sheet, i, place, usual, nfields);
		row->nfields = nfields;
		status = fb_result_text(row, "status");
		if (fb_status_parse(status) < 0)
			err = fb_error(FB_EINPUT, "%s:%llu: unknown status '%s'", sheet->path,
				       (unsigned long long)sheet->row[i].line, status);
	}
	return err;
}

static const char of_rank[] = ".rank.";

static int add_facts(struct fb_results *results, const char *path)
{
	struct fb_env env = {.count = 0};
	int err = fb_env_read(&env, path);

	for (size_t i = 0; i < env.count; i++) {
		if (strstr(env.fact[i].key, of_rank))
			*FB_ADD(results->rank_fact, results->nrank_facts) = env.fact[i];
		if (!strcmp(env.fact[i].scope, "run"))
			*FB_ADD(results->fact, results->nfacts) = env.fact[i];
	}
	return err;
}

/* A file of another kind is an error where it was named, and left out where it was found. */
static int read_file(struct fb_results *results, const char *path, bool named)
{
	struct fb_sheet sheet;
	int err = fb_sheet_read_kinds(&sheet, path, 1U << FB_CSV_RESULTS);

	if (err)
		return err;
	if (sheet.kind == FB_CSV_RESULTS)
		return add_rows(results, &sheet);
	if (sheet.kind == FB_CSV_FACTS)
		return add_facts(results, path);
	if (!named)
		return FB_OK;
	return sheet.column ? fb_error(FB_EINPUT, "%s: " FB_NOT_RESULTS, path)
			    : fb_error(FB_EINPUT, "%s: empty: not a result file", path);
}

static int read_folder(struct fb_results *results, const char *path)
{
	size_t before = results->count;
	struct fb_names names;
	int err = fb_folder_names(path, ".csv", &names);

	for (size_t i = 0; i < names.count && !err; i++)
		err = read_file(results, fb_new_text("%s/%s", path, names.name[i]), false);
	if (!err && results->count == before)
		err = fb_error(FB_EINPUT, "%s: no result file with rows in this folder%s", path,
			       access(fb_new_text("%s/b", path), X_OK) ? ""
			       : "; the sides of its study are the folders a and b in it");
	return err;
}

int fb_results_read_facts(struct fb_results *results, const char *path)
{
	const char *beside = fb_beside(path, "environment.csv");

	return access(beside, R_OK) == 0 ? read_file(results, beside, false) : FB_OK;
}

/* Counts the launches without their closing fact of what was read from a place. */
static int count_incomplete(struct fb_results *results, size_t first_row, size_t first_fact)
{
	struct fb_closing closing = {.launch = NULL};
	int err = FB_OK;

	for (size_t i = first_row; i < results->count && !err; i++)
		err = fb_closing_row(&closing, fb_result_text(&results->row[i], "program"),
				     fb_result_text(&results->row[i], "launch_index"));
	for (size_t i = first_fact; i < results->nfacts && !err; i++)
		err = fb_closing_fact(&closing, results->fact[i].key);
	if (!err)
		results->incomplete += fb_closing_lacking(&closing, results->lacking);
	fb_closing_free(&closing);
	return err;
}

int fb_results_read(struct fb_results *results, const char *path)
{
	size_t rows = results->count, facts = results->nfacts;
	int err;

	if (access(path, F_OK))
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	if (fb_is_folder(path)) {
		err = read_folder(results, path);
	} else {
		err = read_file(results, path, true);
		if (!err)
			err = fb_results_read_facts(results, path);
	}
	return err ? err : count_incomplete(results, rows, facts);
}

const char *fb_results_fact(const struct fb_results *results, const char *key)
{
	for (size_t i = 0; i < results->nfacts; i++)
		if (!strcmp(results->fact[i].key, key))
			return results->fact[i].value;
	return NULL;
}

const char *fb_results_rank_fact(const struct fb_results *results, const char *what, size_t rank,
				 const char *host)
{
	for (size_t i = 0; i < results->nrank_facts; i++) {
		const struct fb_env_fact *fact = &results->rank_fact[i];
		const char *key = strstr(fact->key, of_rank);

		if (strcmp(key + strlen(of_rank), what))
			continue;
		if (fact->rank >= 0 ? (size_t)fact->rank == rank
				    : !*fact->host || (host && !strcmp(fact->host, host)))
			return fact->value;
	}
	return NULL;
}

const char *fb_result_text(const struct fb_result *result, const char *column)
{
	return result->field[fb_column_find(column)];
}

int fb_results_column(const struct fb_results *results, const char *name)
{
	int fixed = fb_column_find(name);

	for (size_t i = 0; i < results->nown && fixed < 0; i++)
		if (!strcmp(results->own[i], name))
			return (int)(fb_columns_count + i);
	return fixed;
}

const char *fb_result_field(const struct fb_result *result, size_t column)
{
	return column < result->nfields ? result->field[column] : "";
}

double fb_result_number(const struct fb_result *result, const char *column)
{
	return fb_csv_number(fb_result_text(result, column));
}
