/* SPDX-License-Identifier: BSD-3-Clause */
/* See marks.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/sheet.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX, SIDE, RUN, RANKS, NODES, VARIANT, FLAGS, BEFORE, AFTER, COLUMNS };

static const char *const columns[COLUMNS] = {
	[INDEX] = "launch_index", [SIDE] = "side",   [RUN] = "run",	    [RANKS] = "ranks",
	[NODES] = "nodes",	  [FLAGS] = "flags", [VARIANT] = "variant",
	[BEFORE] = "canary_before_us", [AFTER] = "canary_after_us",
};

/* Flags because of which a launch is left out. */
static const char *const bad_flags[] = {"drift", "throttle", "canary-apart"};

static void add_flags(char mark[FB_MARK_CHARS], const char *flags)
{
	for (size_t i = 0; i < FB_COUNT_OF(bad_flags); i++)
		if (fb_list_has(flags, "; ", bad_flags[i], strlen(bad_flags[i])))
			fb_add_flag(mark, FB_MARK_CHARS, bad_flags[i], strlen(bad_flags[i]));
}

/* The mark of the same start, which an earlier attempt made, or a new one. */
static struct fb_mark *find(struct fb_marks *marks, const struct fb_mark *wanted)
{
	struct fb_mark *mark;

	for (size_t i = 0; i < marks->count; i++) {
		mark = &marks->mark[i];
		if (mark->index == wanted->index && !strcmp(mark->run, wanted->run) &&
		    !strcmp(mark->ranks, wanted->ranks) && !strcmp(mark->nodes, wanted->nodes) &&
		    !strcmp(mark->variant, wanted->variant))
			return mark;
	}
	mark = FB_ADD(marks->mark, marks->count);
	*mark = *wanted;
	return mark;
}

static double canary_of(const char *before, const char *after)
{
	double product = strtod(before, NULL) * strtod(after, NULL);

	return product > 0 && product < (double)INFINITY ? sqrt(product) : (double)NAN;
}

int fb_marks_read(struct fb_marks *marks, const char *path, const char *tag)
{
	const char *text[COLUMNS];
	int at[COLUMNS], err;
	struct fb_sheet sheet;

	err = fb_sheet_read_kinds(&sheet, path, ~0U);
	if (err || !sheet.column)
		return err;
	for (int i = 0; i < COLUMNS; i++)
		at[i] = fb_sheet_column(&sheet, columns[i]);
	if (at[INDEX] < 0)
		return fb_error(FB_EINPUT, "%s: no column launch_index", path);
	for (size_t row = 0; row < sheet.nrows; row++) {
		struct fb_mark wanted, *mark;

		for (int i = 0; i < COLUMNS; i++)
			text[i] = fb_sheet_text(&sheet, row, at[i]);
		wanted = (struct fb_mark){.run = text[RUN],
					  .ranks = text[RANKS],
					  .nodes = text[NODES],
					  .variant = text[VARIANT]};
		if (!fb_launch_index(text[INDEX], &wanted.index))
			return fb_sheet_refuse(&sheet, row, at[INDEX], FB_LAUNCH_INDEX);
		if (tag && *text[SIDE] && strcmp(text[SIDE], tag) != 0)
			continue;
		mark = find(marks, &wanted);
		*mark->flags = '\0';
		add_flags(mark->flags, text[FLAGS]);
		mark->canary_us = canary_of(text[BEFORE], text[AFTER]);
	}
	return FB_OK;
}

static bool is_any(const char *text)
{
	return !*text || !strcmp(text, "-");
}

/* "A=1;B=2" of a launch against "env.A=1;env.B=2;..." of a row. */
static bool has_variant(const char *row, const char *launch)
{
	while (*launch) {
		size_t n = strcspn(launch, ";");
		bool found = false;

		for (const char *at = row; at && !found; at = strchr(at, ';')) {
			at += *at == ';';
			found = !strncmp(at, "env.", 4) && !strncmp(at + 4, launch, n) &&
				(!at[4 + n] || at[4 + n] == ';');
		}
		if (!found)
			return false;
		launch += n + (launch[n] == ';');
	}
	return true;
}

static bool is_of(const struct fb_mark *mark, const struct fb_mark *row)
{
	return mark->index == row->index && (!*mark->run || !strcmp(mark->run, row->run)) &&
	       (is_any(mark->ranks) || !strcmp(mark->ranks, row->ranks)) &&
	       (is_any(mark->nodes) || !strcmp(mark->nodes, row->nodes)) &&
	       (is_any(mark->variant) || has_variant(row->variant, mark->variant));
}

void fb_marks_of(const struct fb_marks *marks, const struct fb_mark *row, char *flags)
{
	*flags = '\0';
	for (size_t i = 0; i < marks->count; i++)
		if (*marks->mark[i].flags && is_of(&marks->mark[i], row))
			add_flags(flags, marks->mark[i].flags);
}

static void mark_row(const struct fb_marks *marks, struct fb_observation *row,
		     struct fb_launch *launch, const struct fb_key *key)
{
	const struct fb_mark of = {
		.index = launch->index,
		.run = launch->run,
		.ranks = fb_key_text(key, "ranks"),
		.nodes = fb_key_text(key, "nodes"),
		.variant = fb_key_text(key, "variant"),
	};
	char flags[FB_MARK_CHARS];

	fb_marks_of(marks, &of, flags);
	row->marked |= *flags != '\0';
	add_flags(launch->mark, flags);
}

void fb_marks_apply(const struct fb_marks *marks, struct fb_set *set, const struct fb_keys *keys)
{
	bool any = false; /* most folders have no mark, and a set may have millions of rows */

	for (size_t i = 0; i < marks->count; i++)
		any |= *marks->mark[i].flags != '\0';
	for (size_t i = 0; i < set->nlaunches; i++) {
		set->launch[i].out = true;
		set->launch[i].marked = 0;
	}
	for (size_t i = 0; i < set->count; i++) {
		struct fb_observation *row = &set->row[i];
		struct fb_launch *launch = &set->launch[row->launch];

		if (any)
			mark_row(marks, row, launch, &keys->key[row->key]);
		launch->marked += row->marked;
		launch->out &= row->marked;
	}
}
