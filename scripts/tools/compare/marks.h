/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which launches launches.csv marks as disturbed (docs/studies.md).
 *
 * The sweep that made the launches knows what no row shows, for example that the canary was slower
 * after a launch than before it, or that a GPU lowered its clock. Such a launch does not measure
 * what the others measure.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_MARKS_H
#define FB_SCRIPTS_TOOLS_COMPARE_MARKS_H

#include "scripts/tools/compare/launches.h"

/* The last attempt of one start: which rows belong to it, and its flags. */
struct fb_mark {
	uint64_t index;
	const char *run, *ranks, *nodes, *variant; /* "" or "-": any */
	char flags[FB_MARK_CHARS];		   /* "drift", "drift;throttle", or "" */
	/* Geometric mean of the canary's times before and after; NAN: not known. */
	double canary_us;
};

struct fb_marks {
	struct fb_mark *mark;
	size_t count;
};

/*
 * Adds the lines of a launches.csv whose column `side` is `tag`, is empty or does not exist, or all
 * lines where tag is NULL. If one start has several attempts, the last one counts. Returns 0,
 * FB_EINPUT (malformed, no column launch_index; printed).
 */
int fb_marks_read(struct fb_marks *marks, const char *path, const char *tag);

/*
 * canary.c: gives the flag `canary-apart` to launches whose canary is unlike the others. So is a
 * canary if fewer than a quarter of all launches of the same ranks, nodes and variant, and fewer
 * than the smaller side has, are within a factor of 1.5 of it. The side of a launch is not used, so
 * permutations of the launches stay exact, and a side that is slower as a whole keeps its launches.
 */
void fb_marks_judge_canaries(struct fb_marks *const *side, size_t sides);

/*
 * Sets flags[FB_MARK_CHARS] to what the marks say against a row, given by its launch_index, run,
 * ranks, nodes and variant; "" for nothing.
 */
void fb_marks_of(const struct fb_marks *marks, const struct fb_mark *row, char *flags);

/* Marks the rows of a set, and as `out` the launches all of whose rows are marked. */
void fb_marks_apply(const struct fb_marks *marks, struct fb_set *set, const struct fb_keys *keys);

#endif
