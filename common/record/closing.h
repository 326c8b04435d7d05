/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the incomplete launches of a results folder: launches with rows for which environment.csv
 * has the first fact (program.NAME.LAUNCH.cases) but not the closing fact that a program writes
 * last (program.NAME.LAUNCH.exit_code). Launches that environment.csv does not name are not judged,
 * because imported results have no such facts.
 */
#ifndef FB_COMMON_RECORD_CLOSING_H
#define FB_COMMON_RECORD_CLOSING_H

#include <stddef.h>

enum { FB_CLOSING_CHARS = 160 };

struct fb_closing {
	struct fb_closing_launch *launch; /* [count] */
	size_t count, last;
};

/* Takes the key of a fact; ignores facts of other kinds. Returns 0 or FB_ENOMEM (printed). */
int fb_closing_fact(struct fb_closing *closing, const char *key);

/* Takes a row's program and launch_index. Returns 0 or FB_ENOMEM (printed). */
int fb_closing_row(struct fb_closing *closing, const char *program, const char *launch);

/*
 * How many launches are incomplete; appends the first of them to `text`, which holds a text or "",
 * as "all_reduce 0, barrier 2 and others". To be called once everything of a folder was added.
 */
size_t fb_closing_lacking(const struct fb_closing *closing, char text[FB_CLOSING_CHARS]);

/* Safe on a zeroed structure, which it leaves. */
void fb_closing_free(struct fb_closing *closing);

#endif
