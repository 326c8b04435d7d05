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
	const char *run, *ranks, *nodes, *variant; /* "" or "-": any */
	char flags[FB_MARK_CHARS];		   /* "drift", "drift;throttle", or "" */
	/* Geometric mean of the one before and the one after; NAN: unknown. */
	double canary_us;
};

struct fb_marks {
	struct fb_mark *mark;
	size_t count;
};

/*
 * Adds the lines of a launches.csv whose column `side` is `tag`, is empty or does not exist, or
 * all lines where tag is NULL. Of several attempts of one start the last counts. Returns 0,
 * FB_EINPUT (malformed, no column launch_index; printed).
 */
int fb_marks_read(struct fb_marks *marks, const char *path, const char *tag);

/*
 * canary.c: marks as `canary-apart` the launches of the sides whose canary has no company: fewer
 * than a quarter of all launches of the same ranks, nodes and variant, and fewer than the smaller
 * side has, are within a factor of 1.5 of it. It does not look at which side a launch is of, so
 * that permutations of the launches stay exact, and a side that is slower as a whole keeps its
 * launches.
 */
void fb_marks_judge_canaries(struct fb_marks *const *side, size_t sides);

/* Marks the rows of a set, and as `out` the launches all of whose rows are marked. */
void fb_marks_apply(const struct fb_marks *marks, struct fb_set *set, const struct fb_keys *keys);

#endif
