/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds rows that are there twice and numbers launches; see merge.h. */
#include "common/base/error.h"
#include "common/record/schema.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/merge/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An item and the text that must be unique in the result. */
struct identity {
	char *text;
	size_t item;
};

/* Columns that identify a repetition of a launch; samples have no rank. */
static const char *const repetition_key[] = {"row", "repetition", "rank"};

const char *fb_merge_cell(const struct fb_merge_item *item, const char *column)
{
	int at = fb_sheet_column(item->sheet, column);

	return at < 0 ? "" : item->row->cell[at];
}

const char *fb_merge_fixed(const struct fb_merge_item *item, size_t index)
{
	const struct fb_sheet *sheet = item->sheet;

	if (index < sheet->ncolumns && !strcmp(sheet->column[index], fb_columns[index].name))
		return item->row->cell[index];
	return fb_merge_cell(item, fb_columns[index].name);
}

const struct fb_merge_launch *fb_merge_find_launch(const struct fb_merge *merge, size_t source,
						   const char *program, uint64_t before)
{
	for (size_t i = merge->nlaunches; i-- > 0;) {
		const struct fb_merge_launch *launch = &merge->launch[i];

		if (launch->source == source && launch->before == before &&
		    !strcmp(launch->program, program))
			return launch;
	}
	return NULL;
}

/* Whether a program's name can be part of a file's name. */
static bool good_program(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < 200 && *name != '.' && strcmp(name, "samples") &&
	       strcmp(name, "environment") && strcmp(name, "launches") && strcmp(name, "ranks") &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_.+-") == n;
}

/* Finds or adds the launch of an item; sets item->launch. */
static int find_launch(struct fb_merge *merge, struct fb_merge_item *item, size_t source)
{
	const char *program = fb_merge_cell(item, "program");
	const char *text = fb_merge_cell(item, "launch_index");
	const char *run = fb_merge_cell(item, "run");
	const struct fb_merge_launch *found;
	uint64_t before;

	if (!fb_launch_index(text, &before))
		return fb_sheet_refuse(item->sheet, (size_t)(item->row - item->sheet->row),
				       fb_sheet_column(item->sheet, "launch_index"),
				       FB_LAUNCH_INDEX);
	if (!good_program(program))
		return fb_error(FB_EINPUT, "%s:%" PRIu64 ": program '%s' cannot name a file",
				item->sheet->path, item->row->line, program);
	found = fb_merge_find_launch(merge, source, program, before);
	if (found) {
		item->launch = (size_t)(found - merge->launch);
		if (strcmp(found->run, run))
			merge->launch[item->launch].run = "";
		return FB_OK;
	}
	item->launch = merge->nlaunches;
	*FB_ADD(merge->launch, merge->nlaunches) = (struct fb_merge_launch){
		.program = program,
		.run = run,
		.source = source,
		.before = before,
		.after = before,
	};
	return FB_OK;
}

static struct fb_merge_items *items_of(struct fb_merge *merge, enum fb_csv_kind kind)
{
	return kind == FB_CSV_RESULTS	  ? &merge->rows
	       : kind == FB_CSV_SAMPLES ? &merge->samples
	       : kind == FB_CSV_RANKS	  ? &merge->ranks
					  : NULL;
}

static int collect(struct fb_merge *merge)
{
	for (size_t s = 0; s < merge->sheets->count; s++) {
		const struct fb_sheet *sheet = &merge->sheets->sheet[s];
		struct fb_merge_items *items = items_of(merge, sheet->kind);

		if (!items)
			continue;
		for (size_t i = 0; i < sheet->nrows; i++) {
			struct fb_merge_item item = {.sheet = sheet, .row = &sheet->row[i]};
			int err = find_launch(merge, &item, merge->sheets->sheet[s].source);

			if (err)
				return err;
			*FB_ADD(items->item, items->count) = item;
		}
	}
	return FB_OK;
}

/* Launch as read, and every key. */
static char *identity_text(const struct fb_merge_item *item, bool samples)
{
	char *text = NULL, *copy;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	fprintf(out, "%s\x1f%s", fb_merge_cell(item, "program"),
		fb_merge_cell(item, "launch_index"));
	for (size_t i = 0; !samples && i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY)
			fprintf(out, "\x1f%s", fb_merge_fixed(item, i));
	for (size_t i = 0; samples && i < sizeof(repetition_key) / sizeof(repetition_key[0]); i++)
		fprintf(out, "\x1f%s", fb_merge_cell(item, repetition_key[i]));
	fclose(out);
	copy = fb_new_copy(text);
	free(text);
	return copy;
}

static int by_text(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : x->item < y->item ? -1 : x->item > y->item;
}

/* Whether all columns are equal; a column that a file lacks counts as empty. */
static bool same_row(const struct fb_merge_item *a, const struct fb_merge_item *b)
{
	for (size_t i = 0; i < a->sheet->ncolumns; i++)
		if (strcmp(a->row->cell[i], fb_merge_cell(b, a->sheet->column[i])))
			return false;
	for (size_t i = 0; a->sheet != b->sheet && i < b->sheet->ncolumns; i++)
		if (strcmp(b->row->cell[i], fb_merge_cell(a, b->sheet->column[i])))
			return false;
	return true;
}

static bool is_fault(const struct fb_merge_item *item)
{
	return !strcmp(fb_merge_cell(item, "status"), fb_status_name(FB_STATUS_FAULT));
}

/* Two items of one identity that differ. A fault may be followed by another attempt. */
static int contradiction(struct fb_merge *merge, const struct fb_merge_item *first,
			 const struct fb_merge_item *second, bool renumber)
{
	size_t source = merge->launch[second->launch].source;
	bool same_source = merge->launch[first->launch].source == source;

	if (is_fault(first) || is_fault(second))
		return FB_OK;
	if (renumber && !same_source) {
		merge->launch[second->launch].contradicts = true;
		return FB_OK;
	}
	return fb_error(FB_EINPUT,
			"%s:%" PRIu64 " and %s:%" PRIu64 " differ, but have the same key and "
			"launch_index %s%s",
			first->sheet->path, first->row->line, second->sheet->path,
			second->row->line, fb_merge_cell(second, "launch_index"),
			same_source ? "" : "; --renumber makes them different launches");
}

/* group[0 .. n) have one identity, in the order of the sources. */
static int judge_group(struct fb_merge *merge, struct fb_merge_items *items,
		       const struct identity *group, size_t n, bool renumber)
{
	for (size_t i = 1; i < n; i++) {
		struct fb_merge_item *item = &items->item[group[i].item];
		int err = FB_OK;

		for (size_t j = 0; j < i && !item->dropped; j++) {
			item->twin = group[j].item;
			item->dropped = same_row(&items->item[item->twin], item);
		}
		for (size_t j = 0; j < i && !item->dropped && !err; j++)
			err = contradiction(merge, &items->item[group[j].item], item, renumber);
		if (err)
			return err;
	}
	return FB_OK;
}

static int find_twice(struct fb_merge *merge, struct fb_merge_items *items, bool samples,
		      bool renumber)
{
	struct identity *list = fb_new(items->count + 1, sizeof(*list));
	size_t n;
	int err = FB_OK;

	for (size_t i = 0; i < items->count; i++)
		list[i] = (struct identity){identity_text(&items->item[i], samples), i};
	if (items->count)
		qsort(list, items->count, sizeof(*list), by_text);
	for (size_t i = 0; i < items->count && !err; i += n) {
		n = 1;
		while (i + n < items->count && !strcmp(list[i].text, list[i + n].text))
			n++;
		err = judge_group(merge, items, list + i, n, renumber);
	}
	fb_drop_since(list);
	return err;
}

/*
 * Counts the rows of each launch that are left, and finds the launch that the others are copies of.
 */
static void count_rows(struct fb_merge *merge)
{
	for (size_t i = 0; i < merge->nlaunches; i++)
		merge->launch[i].rows = merge->launch[i].dropped = 0;
	for (size_t i = 0; i < merge->rows.count; i++) {
		const struct fb_merge_item *item = &merge->rows.item[i];
		const struct fb_merge_item *twin = &merge->rows.item[item->twin];
		struct fb_merge_launch *launch = &merge->launch[item->launch];

		launch->rows++;
		if (!item->dropped)
			continue;
		launch->dropped++;
		if (launch->copied < merge->launch[twin->launch].after)
			launch->copied = merge->launch[twin->launch].after;
	}
}

static bool same_start(const struct fb_merge_launch *a, const struct fb_merge_launch *b)
{
	return a->source == b->source && a->before == b->before;
}

/*
 * A launch starts all programs of a study. If one of its programs contradicts another source, all
 * of them are a different launch, except programs whose rows are all copies.
 */
static void spread_contradictions(struct fb_merge *merge)
{
	count_rows(merge);
	for (size_t i = 0; i < merge->nlaunches; i++)
		for (size_t j = 0; j < merge->nlaunches && merge->launch[i].contradicts; j++)
			if (same_start(&merge->launch[i], &merge->launch[j]) &&
			    merge->launch[j].rows > merge->launch[j].dropped)
				merge->launch[j].contradicts = true;
}

/* Renumbers a launch that contradicts: the new number of its start, or else the next free one. */
static void number_launch(const struct fb_merge *merge, size_t index)
{
	struct fb_merge_launch *launch = &merge->launch[index];
	uint64_t greatest = 0;

	for (size_t j = 0; j < merge->nlaunches; j++) {
		const struct fb_merge_launch *other = &merge->launch[j];

		if (j < index && other->contradicts && same_start(other, launch)) {
			launch->after = other->after;
			return;
		}
		if (greatest < other->after)
			greatest = other->after;
	}
	launch->after = greatest + 1;
}

static void number_launches(const struct fb_merge *merge)
{
	for (size_t i = 0; i < merge->nlaunches; i++) {
		const struct fb_merge_launch *launch = &merge->launch[i];

		if (!launch->contradicts)
			continue;
		number_launch(merge, i);
		printf("%s: launch %" PRIu64 " of %s is now launch %" PRIu64 "\n", launch->program,
		       launch->before, merge->paths[launch->source], launch->after);
	}
}

static void count_dropped(const struct fb_merge *merge, struct fb_merge_items *items,
			  const char *what)
{
	for (size_t i = 0; i < items->count; i++) {
		struct fb_merge_item *item = &items->item[i];

		item->dropped &= !merge->launch[item->launch].contradicts;
		items->dropped += item->dropped ? 1 : 0;
	}
	if (items->dropped)
		printf("%zu %s that were there twice, the same in all columns: kept once\n",
		       items->dropped, what);
}

/*
 * A launch all of whose rows were dropped is a copy. Its facts and marks are those of the launch
 * that it copies, or of the latest one, because it may share rows with several launches.
 */
static void number_copies(struct fb_merge *merge)
{
	count_rows(merge);
	for (size_t i = 0; i < merge->nlaunches; i++)
		if (merge->launch[i].rows && merge->launch[i].dropped == merge->launch[i].rows)
			merge->launch[i].after = merge->launch[i].copied;
}

int fb_merge_collect(struct fb_merge *merge, bool renumber)
{
	int err = collect(merge);

	if (!err)
		err = find_twice(merge, &merge->rows, false, renumber);
	if (!err)
		err = find_twice(merge, &merge->samples, true, renumber);
	if (!err)
		err = find_twice(merge, &merge->ranks, true, renumber);
	if (err)
		return err;
	spread_contradictions(merge);
	number_launches(merge);
	count_dropped(merge, &merge->rows, "rows");
	count_dropped(merge, &merge->samples, "samples");
	count_dropped(merge, &merge->ranks, "times of single ranks");
	number_copies(merge);
	return FB_OK;
}
