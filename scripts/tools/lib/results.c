/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading result files with libcsv; see results.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/results.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that is being read. */
struct reader {
	struct fb_results *results;
	bool in_folder; /* other kinds of file are no error */
	const struct fb_record *record;
	size_t column[FB_RECORD_FIELDS]; /* where each field of the file goes in a row */
	size_t records;
};

static int no_memory(const struct reader *r)
{
	return fb_error(FB_ENOMEM, "%s: out of memory", r->record->path);
}

/* Where fields of a column of that name go. A new one becomes the last of fb_results.own. */
static int place_column(struct reader *r, const char *name, size_t *place)
{
	struct fb_results *results = r->results;
	int column = fb_results_column(results, name);
	char **names;

	*place = column >= 0 ? (size_t)column : fb_columns_count + results->nown;
	if (column >= 0)
		return FB_OK;
	names = realloc(results->own, (results->nown + 1) * sizeof(*names));
	if (!names)
		return no_memory(r);
	results->own = names;
	names[results->nown] = strdup(name);
	return names[results->nown++] ? FB_OK : no_memory(r);
}

static int read_header(struct reader *r)
{
	const struct fb_record *record = r->record;
	int err = FB_OK;

	if (record->kind == FB_CSV_FACTS)
		return FB_OK;
	if (record->kind != FB_CSV_RESULTS)
		return r->in_folder ? FB_RECORDS_STOP
				    : fb_error(FB_EINPUT,
					       "%s: not a result file: its first line should "
					       "begin with schema,run",
					       record->path);
	for (size_t i = 0; i < record->count && !err; i++)
		err = place_column(r, record->field[i], &r->column[i]);
	for (size_t i = 0; i < fb_columns_count && !err; i++)
		if (fb_record_find(record, fb_columns[i].name) < 0 &&
		    (fb_columns[i].kind != FB_COLUMN_VALUE ||
		     !strcmp(fb_columns[i].name, "status") ||
		     !strcmp(fb_columns[i].name, "median_us")))
			err = fb_error(FB_EINPUT, "%s: no column %s", record->path,
				       fb_columns[i].name);
	return err;
}

/* Fields of environment.csv. */
enum { FACT_SCOPE, FACT_HOST, FACT_RANK, FACT_KEY, FACT_VALUE };

static const char of_rank[] = ".rank.";

/* Keeps a fact of ranks, whatever its scope. */
static int add_rank_fact(struct reader *r)
{
	struct fb_results *results = r->results;
	char *const *field = r->record->field;
	struct fb_rank_fact *facts, *fact;

	facts = realloc(results->rank_fact, (results->nrank_facts + 1) * sizeof(*facts));
	if (facts) {
		results->rank_fact = facts;
		fact = &facts[results->nrank_facts++];
		*fact = (struct fb_rank_fact){
			.key = strdup(field[FACT_KEY]),
			.value = strdup(field[FACT_VALUE]),
			.host = strdup(field[FACT_HOST]),
			.rank = *field[FACT_RANK] ? strtol(field[FACT_RANK], NULL, 10) : -1,
		};
		if (fact->key && fact->value && fact->host)
			return FB_OK;
	}
	return no_memory(r);
}

static int add_fact(struct reader *r)
{
	struct fb_results *results = r->results;
	char *const *field = r->record->field;
	struct fb_fact *facts;

	if (strstr(field[FACT_KEY], of_rank) && add_rank_fact(r))
		return FB_ENOMEM;
	if (strcmp(field[FACT_SCOPE], "run") != 0)
		return FB_OK;
	facts = realloc(results->fact, (results->nfacts + 1) * sizeof(*facts));
	if (facts) {
		struct fb_fact *fact = &facts[results->nfacts];

		results->fact = facts;
		fact->key = strdup(field[FACT_KEY]);
		fact->value = strdup(field[FACT_VALUE]);
		results->nfacts++;
		if (fact->key && fact->value)
			return FB_OK;
	}
	return no_memory(r);
}

/* One allocation: the pointers, an empty text for what the file lacks, and the fields. */
static char **copy_fields(const struct reader *r, size_t nfields)
{
	size_t pointers = nfields * sizeof(char *), bytes = 1;
	char **field, *text;

	for (size_t i = 0; i < r->record->count; i++)
		bytes += strlen(r->record->field[i]) + 1;
	field = malloc(pointers + bytes);
	if (!field)
		return NULL;
	text = (char *)field + pointers;
	*text = '\0';
	for (size_t i = 0; i < nfields; i++)
		field[i] = text;
	text++;
	for (size_t i = 0; i < r->record->count; i++) {
		field[r->column[i]] = text;
		text = stpcpy(text, r->record->field[i]) + 1;
	}
	return field;
}

static int add_row(struct reader *r)
{
	struct fb_results *results = r->results;
	size_t nfields = fb_columns_count + results->nown;
	const char *status;

	if (results->count == results->capacity) {
		size_t capacity = results->capacity ? 2 * results->capacity : 256;
		struct fb_result *row = realloc(results->row, capacity * sizeof(*row));

		if (!row)
			return no_memory(r);
		results->row = row;
		results->capacity = capacity;
	}
	results->row[results->count] =
		(struct fb_result){.field = copy_fields(r, nfields), .nfields = nfields};
	if (!results->row[results->count].field)
		return no_memory(r);
	status = fb_result_text(&results->row[results->count++], "status");
	if (fb_status_parse(status) < 0)
		return fb_error(FB_EINPUT, "%s:%llu: unknown status '%s'", r->record->path,
				(unsigned long long)r->record->line, status);
	return FB_OK;
}

static int use(void *arg, const struct fb_record *record)
{
	struct reader *r = arg;

	r->record = record;
	if (r->records++ == 0)
		return read_header(r);
	return record->kind == FB_CSV_FACTS ? add_fact(r) : add_row(r);
}

static int read_file(struct fb_results *results, const char *path, bool in_folder)
{
	struct reader r = {.results = results, .in_folder = in_folder};
	int err = fb_records_read(path, use, &r, NULL);

	if (!err && r.records == 0 && !in_folder)
		err = fb_error(FB_EINPUT, "%s: empty: not a result file", path);
	return err;
}

static int is_csv(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 4 && !strcmp(entry->d_name + n - 4, ".csv");
}

static int read_folder(struct fb_results *results, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_csv, alphasort), err = FB_OK;
	size_t before = results->count;

	if (n < 0)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (!err && asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
			err = fb_error(FB_ENOMEM, "out of memory for a path");
		else if (!err)
			err = read_file(results, file, true);
		free(file);
		free(entries[i]);
	}
	free(entries);
	if (!err && results->count == before)
		err = fb_error(FB_EINPUT, "%s: no result file with rows in this folder", path);
	return err;
}

char *fb_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	char *beside = NULL;
	struct stat st;
	int n;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		n = asprintf(&beside, "%s/%s", path, name);
	else
		n = asprintf(&beside, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
	if (n >= 0)
		return beside;
	fb_error(FB_ENOMEM, "out of memory for a path");
	return NULL;
}

int fb_results_read_facts(struct fb_results *results, const char *path)
{
	char *beside = fb_beside(path, "environment.csv");
	int err = beside ? FB_OK : FB_ENOMEM;

	if (!err && access(beside, R_OK) == 0)
		err = read_file(results, beside, true);
	free(beside);
	return err;
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
	struct stat st;
	int err;

	if (stat(path, &st))
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	err = S_ISDIR(st.st_mode) ? read_folder(results, path) : read_file(results, path, false);
	if (!err && !S_ISDIR(st.st_mode))
		err = fb_results_read_facts(results, path);
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
		const struct fb_rank_fact *fact = &results->rank_fact[i];
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

void fb_results_free(struct fb_results *results)
{
	for (size_t i = 0; i < results->count; i++)
		free(results->row[i].field);
	for (size_t i = 0; i < results->nfacts; i++) {
		free(results->fact[i].key);
		free(results->fact[i].value);
	}
	for (size_t i = 0; i < results->nrank_facts; i++) {
		free(results->rank_fact[i].key);
		free(results->rank_fact[i].value);
		free(results->rank_fact[i].host);
	}
	for (size_t i = 0; i < results->nown; i++)
		free(results->own[i]);
	free(results->own);
	free(results->row);
	free(results->fact);
	free(results->rank_fact);
	*results = (struct fb_results){0};
}
