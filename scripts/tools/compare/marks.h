/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What launches.csv says against launches (docs/studies.md).
 *
 * The sweep that made the launches saw what no row shows: a canary that ran slower at the end
 * than at the start, a GPU that lowered its clock. Such a launch measured something else.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_MARKS_H
#define FB_SCRIPTS_TOOLS_COMPARE_MARKS_H

#include "scripts/tools/compare/launches.h"

/* The last attempt of one start: which rows are its, and what speaks against them. */
struct fb_mark {
	uint64_t index;
	char *run, *ranks, *nodes, *variant; /* "" or "-": any. One allocation, at run */
	char flags[FB_MARK_CHARS];	     /* "drift", "drift;throttle", or "" */
};

struct fb_marks {
	struct fb_mark *mark;
	size_t count;
};

/*
 * Adds the lines of a launches.csv whose column `side` is `tag`, is empty or does not exist, or
 * all lines where tag is NULL. Of several attempts of one start the last counts. Returns 0,
 * FB_EINPUT (malformed, no column launch_index; printed), FB_ENOMEM (printed).
 */
int fb_marks_read(struct fb_marks *marks, const char *path, const char *tag);

/* Marks the rows of a set, and as `out` the launches all of whose rows are marked. */
void fb_marks_apply(const struct fb_marks *marks, struct fb_set *set, const struct fb_keys *keys);

void fb_marks_free(struct fb_marks *marks);

#endif
