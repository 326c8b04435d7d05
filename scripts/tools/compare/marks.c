/* SPDX-License-Identifier: BSD-3-Clause */
/* See marks.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX, SIDE, RUN, RANKS, NODES, VARIANT, FLAGS, BEFORE, AFTER, COLUMNS };

static const char *const columns[COLUMNS] = {
	[INDEX] = "launch_index", [SIDE] = "side",   [RUN] = "run",	    [RANKS] = "ranks",
	[NODES] = "nodes",	  [FLAGS] = "flags", [VARIANT] = "variant",
	[BEFORE] = "canary_before_us", [AFTER] = "canary_after_us",
};

/* Flags that speak against a launch. */
static const char *const bad_flags[] = {"drift", "throttle", "canary-apart"};

struct reader {
	struct fb_marks *marks;
	const char *tag;
	int at[COLUMNS];
};

static const char *field(const struct reader *r, const struct fb_record *record, int column)
{
	return r->at[column] < 0 ? "" : record->field[r->at[column]];
}

/* Whether one of the words of `words`, which ';' or blanks separate, is word[0 .. n). */
static bool has_word(const char *words, const char *word, size_t n)
{
	while (*words) {
		size_t length = strcspn(words, "; ");

		if (length == n && !strncmp(words, word, n))
			return true;
		words += length + strspn(words + length, "; ");
	}
	return false;
}

static void add_flags(char mark[FB_MARK_CHARS], const char *flags)
{
	for (size_t i = 0; i < sizeof(bad_flags) / sizeof(bad_flags[0]); i++) {
		size_t used = strlen(mark), n = strlen(bad_flags[i]);

		if (has_word(flags, bad_flags[i], n) && !has_word(mark, bad_flags[i], n))
			snprintf(mark + used, FB_MARK_CHARS - used, "%s%s", used ? ";" : "",
				 bad_flags[i]);
	}
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
	*mark = (struct fb_mark){
		.index = wanted->index,
		.run = fb_new_copy(wanted->run),
		.ranks = fb_new_copy(wanted->ranks),
		.nodes = fb_new_copy(wanted->nodes),
		.variant = fb_new_copy(wanted->variant),
	};
	return mark;
}

static int read_header(struct reader *r, const struct fb_record *record)
{
	for (int i = 0; i < COLUMNS; i++)
		r->at[i] = fb_record_find(record, columns[i]);
	if (r->at[INDEX] < 0)
		return fb_error(FB_EINPUT, "%s: no column launch_index", record->path);
	return FB_OK;
}

static double canary_of(const char *before, const char *after)
{
	double product = strtod(before, NULL) * strtod(after, NULL);

	return product > 0 && product < (double)INFINITY ? sqrt(product) : (double)NAN;
}

static int use(void *arg, const struct fb_record *record)
{
	struct reader *r = arg;
	const char *side, *text;
	struct fb_mark wanted, *mark;
	char *end;

	if (record->number == 1)
		return read_header(r, record);
	text = field(r, record, INDEX);
	side = field(r, record, SIDE);
	wanted = (struct fb_mark){
		.index = strtoull(text, &end, 10),
		.run = field(r, record, RUN),
		.ranks = field(r, record, RANKS),
		.nodes = field(r, record, NODES),
		.variant = field(r, record, VARIANT),
	};
	if (!*text || *end)
		return fb_error(FB_EINPUT,
				"%s: record %llu: launch_index '%.40s': expected a number",
				record->path, (unsigned long long)record->number, text);
	if (r->tag && *side && strcmp(side, r->tag) != 0)
		return FB_OK;
	mark = find(r->marks, &wanted);
	*mark->flags = '\0';
	add_flags(mark->flags, field(r, record, FLAGS));
	mark->canary_us = canary_of(field(r, record, BEFORE), field(r, record, AFTER));
	return FB_OK;
}

int fb_marks_read(struct fb_marks *marks, const char *path, const char *tag)
{
	struct reader r = {.marks = marks, .tag = tag};

	return fb_records_read(path, use, &r, NULL);
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

static bool is_of(const struct fb_mark *mark, const struct fb_launch *launch,
		  const struct fb_key *key)
{
	if (mark->index != launch->index || (*mark->run && strcmp(mark->run, launch->run) != 0))
		return false;
	if (!is_any(mark->ranks) && strcmp(mark->ranks, fb_key_text(key, "ranks")) != 0)
		return false;
	if (!is_any(mark->nodes) && strcmp(mark->nodes, fb_key_text(key, "nodes")) != 0)
		return false;
	return is_any(mark->variant) || has_variant(fb_key_text(key, "variant"), mark->variant);
}

void fb_marks_apply(const struct fb_marks *marks, struct fb_set *set, const struct fb_keys *keys)
{
	for (size_t i = 0; i < set->nlaunches; i++) {
		set->launch[i].out = true;
		set->launch[i].marked = 0;
	}
	for (size_t i = 0; i < set->count; i++) {
		struct fb_observation *row = &set->row[i];
		struct fb_launch *launch = &set->launch[row->launch];

		for (size_t m = 0; m < marks->count; m++) {
			const struct fb_mark *mark = &marks->mark[m];

			if (!*mark->flags || !is_of(mark, launch, &keys->key[row->key]))
				continue;
			row->marked = true;
			add_flags(launch->mark, mark->flags);
		}
		launch->marked += row->marked;
		launch->out &= row->marked;
	}
}
