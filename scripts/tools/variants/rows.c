/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the rows and the marks of their launches; see variants.h. */
#include "common/base/error.h"
#include "common/record/schema.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/query/query.h"
#include "scripts/tools/variants/variants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One folder or file. */
struct source {
	struct fb_query_table table;
	struct fb_marks marks;
	const char *side; /* its path where it is one of two, else NULL */
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *fb_variant_sorted(const char *assignments)
{
	struct fb_span_text name, value;
	char **word = NULL, *all = fb_new_copy("");
	size_t count = 0;

	while (fb_variant_next(&assignments, &name, &value))
		*FB_ADD(word, count) = fb_new_text("%.*s=%.*s", (int)name.length, name.text,
						   (int)value.length, value.text);
	if (count)
		qsort(word, count, sizeof(*word), by_text);
	for (size_t i = 0; i < count; i++)
		all = fb_new_text("%s%s%s", all, i ? ";" : "", word[i]);
	return all;
}

/* Splits a row's variant into variables of the environment and the programs' own keys. */
static void split_variant(const char *text, char **environment, char **own)
{
	struct fb_span_text name, value;

	*environment = fb_new_copy("");
	*own = fb_new_copy("");
	while (fb_variant_next(&text, &name, &value)) {
		bool variable = name.length > 4 && !strncmp(name.text, "env.", 4);
		int length = (int)(name.length + 1 + value.length) - (variable ? 4 : 0);
		char **to = variable ? environment : own;

		*to = fb_new_text("%s%.*s;", *to, length, name.text + (variable ? 4 : 0));
	}
	*environment = fb_variant_sorted(*environment);
}

static const char *cell(const struct fb_query_table *table, size_t row, const char *name)
{
	for (size_t i = 0; i < table->ncolumns; i++)
		if (!strcmp(table->column[i], name))
			return table->row[row][i];
	return "";
}

static bool is_marked(const struct source *source, size_t at, uint64_t launch)
{
	const struct fb_query_table *table = &source->table;
	const struct fb_mark row = {
		.index = launch,
		.run = cell(table, at, "run"),
		.ranks = cell(table, at, "ranks"),
		.nodes = cell(table, at, "nodes"),
		.variant = cell(table, at, "variant"),
	};
	char flags[FB_MARK_CHARS];

	fb_marks_of(&source->marks, &row, flags);
	return *flags != '\0';
}

static void add_row(struct fb_variant_rows *rows, const struct source *source, size_t at,
		    const char *metric)
{
	const struct fb_query_table *table = &source->table;
	struct fb_variant_row *row = FB_ADD(rows->item, rows->count);
	int status = fb_status_parse(cell(table, at, "status"));
	char *environment, *own;

	split_variant(cell(table, at, "variant"), &environment, &own);
	row->variant = source->side ? source->side : environment;
	row->key = source->side ? fb_new_text("%s%s", environment, own) : own;
	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY && strcmp(fb_columns[i].name, "variant"))
			row->key = fb_new_text("%s\n%s", row->key,
					       cell(table, at, fb_columns[i].name));
	if (!fb_launch_index(cell(table, at, "launch_index"), &row->launch))
		row->launch = 0;
	if ((status != FB_STATUS_OK && status != FB_STATUS_FEW) ||
	    !fb_query_number(cell(table, at, metric), &row->value) || !(row->value > 0))
		row->value = (double)NAN;
	row->marked = is_marked(source, at, row->launch);
	row->path = cell(table, at, "path");
	row->channels = cell(table, at, "channels");
}

static int read_source(struct source *source, char *path, char *const *condition,
		       size_t conditions, const char *metric)
{
	struct fb_sheets sheets = {.sheet = NULL};
	char tag[] = {fb_side_of(path), '\0'};
	size_t column;
	int err = fb_sheets_read(&sheets, &path, 1);

	for (size_t i = 0; i < sheets.count && !err; i++)
		if (sheets.sheet[i].kind == FB_CSV_LAUNCHES)
			err = fb_marks_read(&source->marks, sheets.sheet[i].path,
					    *tag ? tag : NULL);
	if (err)
		return err;
	fb_query_load(&source->table, &sheets);
	err = fb_query_find(&source->table, metric, &column);
	for (size_t i = 0; i < conditions && !err; i++)
		err = fb_query_filter(&source->table, condition[i]);
	return err;
}

int fb_variant_rows_read(struct fb_variant_rows *rows, char **path, size_t paths,
			 char *const *condition, size_t conditions, const char *metric,
			 bool keep_marked)
{
	struct source source[2] = {{.side = NULL}};
	struct fb_marks *marks[] = {&source[0].marks, &source[1].marks};
	int err = FB_OK;

	for (size_t i = 0; i < paths && !err; i++) {
		source[i].side = paths == 2 ? path[i] : NULL;
		err = read_source(&source[i], path[i], condition, conditions, metric);
		if (keep_marked)
			marks[i]->count = 0;
	}
	if (err)
		return err;
	fb_marks_judge_canaries(marks, paths);
	for (size_t i = 0; i < paths; i++)
		for (size_t at = 0; at < source[i].table.nrows; at++)
			add_row(rows, &source[i], at, metric);
	return FB_OK;
}
