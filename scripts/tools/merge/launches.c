/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins the launches.csv of sweeps; see merge.h.
 *
 * A line must belong to the same rows as before. So its launch_index changes as that of its rows
 * does, and its `run` separates them from rows that another source has under that number.
 */
#include "common/base/error.h"
#include "common/record/csv.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/merge/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Two lines are of one start if these columns are equal; compare takes the same ones. */
static const char *const start_columns[] = {"side", "ranks", "nodes", "variant"};

enum { START_COLUMNS = sizeof(start_columns) / sizeof(start_columns[0]), FLAGS_CHARS = 256 };

struct line {
	const struct fb_sheet *sheet;
	const struct fb_sheet_row *row;
	size_t source, order;
	uint64_t after;
	const char *run; /* borrowed */
	bool twice;	 /* an earlier line is equal */
};

struct lines {
	struct line *line; /* [count] */
	size_t count;
	size_t lost;	     /* lines of launches without rows */
	const char **column; /* [ncolumns] of the result, `run` last; borrowed */
	size_t ncolumns;
};

static const char *cell(const struct line *line, const char *column)
{
	int at = fb_sheet_column(line->sheet, column);

	return at < 0 ? "" : line->row->cell[at];
}

static bool is_launches(const struct fb_merge *merge, size_t sheet)
{
	return merge->sheets->sheet[sheet].kind == FB_CSV_LAUNCHES;
}

bool fb_merge_has_launches(const struct fb_merge *merge)
{
	for (size_t i = 0; i < merge->sheets->count; i++)
		if (is_launches(merge, i))
			return true;
	return false;
}

static void add_column(struct lines *lines, const char *name)
{
	for (size_t i = 0; i < lines->ncolumns; i++)
		if (!strcmp(lines->column[i], name))
			return;
	*FB_ADD(lines->column, lines->ncolumns) = name;
}

static void find_columns(const struct fb_merge *merge, struct lines *lines)
{
	for (size_t s = 0; s < merge->sheets->count; s++) {
		const struct fb_sheet *sheet = &merge->sheets->sheet[s];

		for (size_t c = 0; is_launches(merge, s) && c < sheet->ncolumns; c++)
			if (strcmp(sheet->column[c], "run"))
				add_column(lines, sheet->column[c]);
	}
	add_column(lines, "run");
}

/* Adds a line for each number and run that the rows of its launch have in the result. */
static void add_line(const struct fb_merge *merge, struct lines *lines, struct line *line,
		     uint64_t before)
{
	const char *run = cell(line, "run");
	size_t first = lines->count;

	for (size_t i = 0; i < merge->nlaunches; i++) {
		const struct fb_merge_launch *launch = &merge->launch[i];
		bool there = false;

		if (launch->source != line->source || launch->before != before ||
		    (*run && *launch->run && strcmp(run, launch->run)))
			continue;
		line->after = launch->after;
		line->run = *run ? run : launch->run;
		line->order = lines->count;
		for (size_t j = first; j < lines->count; j++)
			there |= lines->line[j].after == line->after &&
				 !strcmp(lines->line[j].run, line->run);
		if (!there)
			*FB_ADD(lines->line, lines->count) = *line;
	}
	lines->lost += lines->count == first;
}

static int collect(const struct fb_merge *merge, struct lines *lines)
{
	for (size_t s = 0; s < merge->sheets->count; s++) {
		const struct fb_sheet *sheet = &merge->sheets->sheet[s];
		size_t source = merge->sheets->sheet[s].source;
		char side = fb_side_of(merge->paths[source]);

		for (size_t i = 0; is_launches(merge, s) && i < sheet->nrows; i++) {
			struct line line = {sheet, &sheet->row[i], .source = source};
			const char *text = cell(&line, "launch_index"), *of = cell(&line, "side");
			uint64_t before;

			if (!fb_launch_index(text, &before))
				return fb_sheet_refuse(sheet, i,
						       fb_sheet_column(sheet, "launch_index"),
						       FB_LAUNCH_INDEX);
			if (side && *of && (*of != side || of[1]))
				continue;
			add_line(merge, lines, &line, before);
		}
	}
	return FB_OK;
}

static int by_launch(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool same_start(const struct line *a, const struct line *b)
{
	if (a->after != b->after || strcmp(a->run, b->run))
		return false;
	for (int i = 0; i < START_COLUMNS; i++)
		if (strcmp(cell(a, start_columns[i]), cell(b, start_columns[i])))
			return false;
	return true;
}

static bool same_line(const struct lines *lines, const struct line *a, const struct line *b)
{
	if (!same_start(a, b))
		return false;
	for (size_t c = 0; c + 1 < lines->ncolumns; c++)
		if (strcmp(cell(a, lines->column[c]), cell(b, lines->column[c])))
			return false;
	return true;
}

/* Writes line[0 .. n), which have the same number. */
static void find_twice(const struct lines *lines, struct line *line, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = 0; j < i && !line[i].twice; j++)
			line[i].twice = line[j].source != line[i].source &&
					same_line(lines, &line[j], &line[i]);
}

/* Whether line[i] of line[0 .. n) is the last of its source about its start. */
static bool is_last(const struct line *line, size_t n, size_t i)
{
	for (size_t j = i + 1; j < n; j++)
		if (line[j].source == line[i].source && same_start(&line[j], &line[i]))
			return false;
	return true;
}

static void add_words(char text[FLAGS_CHARS], const char *words)
{
	for (size_t n; *words; words += n + (words[n] == ';')) {
		n = strcspn(words, ";");
		if (n)
			fb_add_flag(text, FLAGS_CHARS, words, n);
	}
}

/*
 * The flags of line[i]. The last line of a source also gets the flags of other sources' last lines.
 */
static void join_flags(const struct line *line, size_t n, size_t i, char text[FLAGS_CHARS])
{
	*text = '\0';
	add_words(text, cell(&line[i], "flags"));
	for (size_t j = 0; is_last(line, n, i) && j < n; j++)
		if (line[j].source != line[i].source && same_start(&line[j], &line[i]) &&
		    is_last(line, n, j))
			add_words(text, cell(&line[j], "flags"));
}

static void put_line(const struct lines *lines, const struct line *line, const char *flags,
		     FILE *out)
{
	for (size_t c = 0; c < lines->ncolumns; c++) {
		const char *name = lines->column[c];

		if (c)
			fputc(',', out);
		if (!strcmp(name, "launch_index"))
			fprintf(out, "%" PRIu64, line->after);
		else if (!strcmp(name, "flags"))
			fb_csv_put_field(out, flags);
		else
			fb_csv_put_field(out,
					 c + 1 == lines->ncolumns ? line->run : cell(line, name));
	}
	fputc('\n', out);
}

static void put_lines(const struct lines *lines, FILE *out)
{
	char flags[FLAGS_CHARS];
	size_t n;

	for (size_t c = 0; c < lines->ncolumns; c++)
		fprintf(out, "%s%s", c ? "," : "", lines->column[c]);
	fputc('\n', out);
	for (size_t first = 0; first < lines->count; first += n) {
		struct line *line = &lines->line[first];

		n = 1;
		while (first + n < lines->count && line[n].after == line->after)
			n++;
		find_twice(lines, line, n);
		for (size_t i = 0; i < n; i++) {
			if (line[i].twice)
				continue;
			join_flags(line, n, i, flags);
			put_line(lines, &line[i], flags, out);
		}
	}
}

int fb_merge_put_launches(const struct fb_merge *merge, FILE *out, bool *checked)
{
	struct lines lines = {.count = 0};
	int err;

	find_columns(merge, &lines);
	err = collect(merge, &lines);
	if (!err && lines.count)
		qsort(lines.line, lines.count, sizeof(*lines.line), by_launch);
	if (!err)
		put_lines(&lines, out);
	if (!err && lines.lost)
		printf("launches.csv: %zu lines of launches without rows are left out\n",
		       lines.lost);
	*checked = lines.ncolumns && !strcmp(lines.column[0], "index");
	return err;
}
