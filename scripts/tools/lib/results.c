/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading result files with libcsv; see results.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/results.h"

#include <csv.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELDS_MAX = 256 };

/* What kind of file a header belongs to. */
enum kind { KIND_UNKNOWN, KIND_RESULTS, KIND_FACTS };

/* The file that is being read; libcsv calls back with it. */
struct reader {
	struct fb_results *results;
	const char *path;
	enum kind kind;
	uint64_t line;        /* records so far, the header included */
	char *text;           /* the fields of the record, each ended by NUL */
	size_t used, capacity;
	size_t start[FIELDS_MAX]; /* of each field, in text */
	size_t nfields, header_fields;
	int column[FIELDS_MAX]; /* schema column of each field of the file, or -1 */
	bool in_folder;         /* other kinds of file are no error */
	int err;
};

static void on_field(void *bytes, size_t n, void *arg)
{
	struct reader *r = arg;

	if (r->err)
		return;
	if (r->nfields == FIELDS_MAX) {
		r->err = fb_error(FB_EINPUT, "%s: record %llu has more than %d fields", r->path,
				  (unsigned long long)r->line + 1, FIELDS_MAX);
		return;
	}
	if (r->used + n + 1 > r->capacity) {
		size_t capacity = 2 * (r->used + n + 1);
		char *text = realloc(r->text, capacity);

		if (!text) {
			r->err = fb_error(FB_ENOMEM, "%s: out of memory", r->path);
			return;
		}
		r->text = text;
		r->capacity = capacity;
	}
	if (n)
		memcpy(r->text + r->used, bytes, n);
	r->text[r->used + n] = '\0';
	r->start[r->nfields++] = r->used;
	r->used += n + 1;
}

static bool header_is(const struct reader *r, size_t i, const char *name)
{
	return i < r->nfields && !strcmp(r->text + r->start[i], name);
}

static void read_header(struct reader *r)
{
	bool seen[FIELDS_MAX] = {false};

	r->header_fields = r->nfields;
	if (header_is(r, 0, "scope") && header_is(r, 3, "key")) {
		r->kind = KIND_FACTS;
		return;
	}
	if (!header_is(r, 0, "schema") || !header_is(r, 1, "run")) {
		if (!r->in_folder)
			r->err = fb_error(FB_EINPUT, "%s: not a result file: its first line should "
					  "begin with schema,run", r->path);
		return;
	}
	r->kind = KIND_RESULTS;
	for (size_t i = 0; i < r->nfields; i++) {
		r->column[i] = fb_column_find(r->text + r->start[i]);
		if (r->column[i] >= 0)
			seen[r->column[i]] = true;
	}
	for (size_t i = 0; i < fb_columns_count && !r->err; i++)
		if (!seen[i] && (fb_columns[i].kind != FB_COLUMN_VALUE ||
				 !strcmp(fb_columns[i].name, "status") ||
				 !strcmp(fb_columns[i].name, "median_us")))
			r->err = fb_error(FB_EINPUT, "%s: no column %s", r->path,
					  fb_columns[i].name);
}

static const char of_rank[] = ".rank.";

/* Keeps a fact of ranks, whatever its scope. */
static void add_rank_fact(struct reader *r)
{
	struct fb_results *results = r->results;
	const char *rank = r->text + r->start[2];
	struct fb_rank_fact *facts, *fact;

	facts = realloc(results->rank_fact, (results->nrank_facts + 1) * sizeof(*facts));
	if (facts) {
		results->rank_fact = facts;
		fact = &facts[results->nrank_facts++];
		*fact = (struct fb_rank_fact){
			.key = strdup(r->text + r->start[3]),
			.value = strdup(r->text + r->start[4]),
			.host = strdup(r->text + r->start[1]),
			.rank = *rank ? strtol(rank, NULL, 10) : -1,
		};
		if (fact->key && fact->value && fact->host)
			return;
	}
	r->err = fb_error(FB_ENOMEM, "%s: out of memory", r->path);
}

static void add_fact(struct reader *r)
{
	struct fb_results *results = r->results;
	const char *scope = r->text + r->start[0];
	struct fb_fact *facts;

	if (r->nfields >= 5 && strstr(r->text + r->start[3], of_rank))
		add_rank_fact(r);
	if (strcmp(scope, "run") || r->nfields < 5 || r->err)
		return;
	facts = realloc(results->fact, (results->nfacts + 1) * sizeof(*facts));
	if (facts) {
		struct fb_fact *fact = &facts[results->nfacts];

		results->fact = facts;
		fact->key = strdup(r->text + r->start[3]);
		fact->value = strdup(r->text + r->start[4]);
		results->nfacts++;
		if (fact->key && fact->value)
			return;
	}
	r->err = fb_error(FB_ENOMEM, "%s: out of memory", r->path);
}

/* One allocation: the pointers, an empty text for what the file lacks, and the fields. */
static char **copy_fields(const struct reader *r)
{
	size_t pointers = fb_columns_count * sizeof(char *);
	char **field = malloc(pointers + 1 + r->used);
	char *text = field ? (char *)field + pointers : NULL;

	if (!field)
		return NULL;
	text[0] = '\0';
	memcpy(text + 1, r->text, r->used);
	for (size_t i = 0; i < fb_columns_count; i++)
		field[i] = text;
	for (size_t i = 0; i < r->nfields; i++)
		if (r->column[i] >= 0)
			field[r->column[i]] = text + 1 + r->start[i];
	return field;
}

static void add_row(struct reader *r)
{
	struct fb_results *results = r->results;
	const char *status;

	if (results->count == results->capacity) {
		size_t capacity = results->capacity ? 2 * results->capacity : 256;
		struct fb_result *row = realloc(results->row, capacity * sizeof(*row));

		if (!row) {
			r->err = fb_error(FB_ENOMEM, "%s: out of memory", r->path);
			return;
		}
		results->row = row;
		results->capacity = capacity;
	}
	results->row[results->count].field = copy_fields(r);
	if (!results->row[results->count].field) {
		r->err = fb_error(FB_ENOMEM, "%s: out of memory", r->path);
		return;
	}
	status = fb_result_text(&results->row[results->count++], "status");
	if (fb_status_parse(status) < 0)
		r->err = fb_error(FB_EINPUT, "%s: record %llu: unknown status '%s'", r->path,
				  (unsigned long long)r->line, status);
}

/* `end` is the character that ended the record, or -1 for the end of the file. */
static void on_record(int end, void *arg)
{
	struct reader *r = arg;

	if (r->err)
		return;
	r->line++;
	if (r->line == 1)
		read_header(r);
	else if (end < 0 || r->kind == KIND_UNKNOWN)
		; /* torn, or not ours */
	else if (r->nfields != r->header_fields)
		r->err = fb_error(FB_EINPUT, "%s: record %llu has %zu fields, the header %zu",
				  r->path, (unsigned long long)r->line, r->nfields,
				  r->header_fields);
	else if (r->kind == KIND_FACTS)
		add_fact(r);
	else
		add_row(r);
	r->used = r->nfields = 0;
}

static int parse(struct reader *r, FILE *file)
{
	struct csv_parser parser;
	char block[1 << 16];
	size_t n;

	if (csv_init(&parser, CSV_STRICT | CSV_APPEND_NULL))
		return fb_error(FB_ENOMEM, "%s: out of memory", r->path);
	while (!r->err && (n = fread(block, 1, sizeof(block), file)) > 0)
		if (csv_parse(&parser, block, n, on_field, on_record, r) != n && !r->err)
			r->err = fb_error(FB_EINPUT, "%s: record %llu: %s", r->path,
					  (unsigned long long)r->line + 1,
					  csv_strerror(csv_error(&parser)));
	if (!r->err && ferror(file))
		r->err = fb_error(FB_EINPUT, "%s: %s", r->path, strerror(errno));
	if (!r->err)
		csv_fini(&parser, on_field, on_record, r);
	if (!r->err && r->line == 0 && !r->in_folder)
		r->err = fb_error(FB_EINPUT, "%s: empty: not a result file", r->path);
	csv_free(&parser);
	return r->err;
}

static int read_file(struct fb_results *results, const char *path, bool in_folder)
{
	struct reader r = {.results = results, .path = path, .in_folder = in_folder};
	FILE *file = fopen(path, "r");
	int err;

	if (!file)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	err = parse(&r, file);
	free(r.text);
	fclose(file);
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

int fb_results_read_facts(struct fb_results *results, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *beside = NULL;
	int err = FB_OK;

	if (asprintf(&beside, "%.*senvironment.csv", slash ? (int)(slash - path) + 1 : 0, path) < 0)
		return fb_error(FB_ENOMEM, "out of memory for a path");
	if (access(beside, R_OK) == 0)
		err = read_file(results, beside, true);
	free(beside);
	return err;
}

int fb_results_read(struct fb_results *results, const char *path)
{
	struct stat st;
	int err;

	if (stat(path, &st))
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return read_folder(results, path);
	err = read_file(results, path, false);
	return err ? err : fb_results_read_facts(results, path);
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

double fb_result_number(const struct fb_result *result, const char *column)
{
	const char *text = fb_result_text(result, column);
	char *end;
	double value = strtod(text, &end);

	return end == text || *end ? (double)NAN : value;
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
	free(results->row);
	free(results->fact);
	free(results->rank_fact);
	*results = (struct fb_results){0};
}
