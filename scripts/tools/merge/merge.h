/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins results: finds rows that are there twice, gives new numbers to launches, and knows which
 * launch each fact of the environments belongs to. Private to the merge tool.
 *
 * A source is one path of the command line. A launch is a program with a launch_index. Several
 * sources may hold parts of one launch (a job array that splits a study by size), so launches of
 * several sources are joined unless their rows contradict each other.
 */
#ifndef FB_SCRIPTS_TOOLS_MERGE_MERGE_H
#define FB_SCRIPTS_TOOLS_MERGE_MERGE_H

#include "scripts/tools/lib/sheet.h"

#include <stdbool.h>
#include <stdio.h>

/* One program's launch as one source has it. */
struct fb_merge_launch {
	const char *program; /* borrowed from the first row */
	const char *run;     /* the same; "" where its rows are of several */
	size_t source;
	uint64_t before, after; /* launch_index as read and as written */
	const char *seed, *index; /* the options it was started with; NULL: no fact says so */
	bool contradicts;	/* a row differs from the row of equal key of an earlier source */
	size_t rows, dropped;
	uint64_t copied; /* the latest launch (as written) that a dropped row is in */
};

struct fb_merge_item {
	const struct fb_sheet *sheet;
	const struct fb_sheet_row *row;
	size_t launch; /* index into the launches */
	bool dropped;  /* an earlier item is the same in all columns: */
	size_t twin;   /* the index of that item */
};

struct fb_merge_items {
	struct fb_merge_item *item; /* [count], in the order of the sources */
	size_t count;
	size_t dropped;
};

struct fb_merge {
	const struct fb_sheets *sheets; /* borrowed */
	char *const *paths;		/* [nsources] borrowed */
	size_t nsources;
	struct fb_merge_items rows, samples, ranks; /* the last two: repetitions */
	struct fb_merge_launch *launch; /* [nlaunches] */
	size_t nlaunches;
};

/*
 * Collects rows and repetitions, drops those that are there twice, and numbers the launches: with
 * `renumber` one that contradicts an earlier source gets the next free launch_index, the same for
 * all programs of that launch, else that is FB_EINPUT. What was done is said on stdout. Returns
 * 0 or FB_EINPUT (printed, with both places).
 */
int fb_merge_collect(struct fb_merge *merge, bool renumber);

/* The cell of a row in the column of that name, "" where the sheet has none. Borrowed. */
const char *fb_merge_cell(const struct fb_merge_item *item, const char *column);

/* The same for the fixed column of that index in the schema; quick for files in its order. */
const char *fb_merge_fixed(const struct fb_merge_item *item, size_t index);

/* The launch of that name and number in that source, or NULL. */
const struct fb_merge_launch *fb_merge_find_launch(const struct fb_merge *merge, size_t source,
						   const char *program, uint64_t before);

/*
 * Writes the joined facts. A fact that is the same in all sources is written once. Any other fact
 * is written for each launch of the sources that have it, as program.NAME.LAUNCH.env.KEY with its
 * scope, host and rank. Keys of facts that belong to a launch get its new number. If parts of one
 * launch differ in such a fact, the later ones are written as program.NAME.LAUNCH.partN.KEY. The
 * caller checks for write errors. Warns if different launches had the same --seed and
 * --launch-index.
 */
void fb_merge_put_facts(const struct fb_merge *merge, FILE *out);

/* Whether there is a launches.csv, or one for the folder of a side. */
bool fb_merge_has_launches(const struct fb_merge *merge);

/*
 * Writes the joined launches.csv: the lines of each source, with the new numbers of their launches
 * and with the column `run`, so that a line applies to no other source's rows; by launch_index. A
 * line that is there twice is written once. Where parts of one launch have lines of their own,
 * each source's last has the flags of all of them, since readers let the last line count. Lines
 * of launches of which the source has no row are left out, which is said on stdout. Sets *checked
 * to whether the columns are those of a sweep. Returns 0 or FB_EINPUT (printed).
 */
int fb_merge_put_launches(const struct fb_merge *merge, FILE *out, bool *checked);

/*
 * Writes PROGRAM.csv for each program, samples.csv, ranks.csv, environment.csv and launches.csv
 * where there are such, to a new folder beside `folder`, checks them, and renames it to `folder`,
 * which must not exist or be empty. 0, or FB_EINPUT or FB_EIO (printed), and nothing is left.
 */
int fb_merge_write(const struct fb_merge *merge, const char *folder);

#endif
