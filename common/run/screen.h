/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table for people that a run ends with: what is the same for all rows in one line, then a row
 * per size in ascending order, the quickest first. Keys that would make it wider than FB_LINE_MOST
 * are no columns but break it into tables, the widest first. Rows come in a random order, so they
 * are kept as text until the end. Used by rank 0 only.
 */
#ifndef FB_COMMON_RUN_SCREEN_H
#define FB_COMMON_RUN_SCREEN_H

#include <stdio.h>

#include "common/record/schema.h"

struct fb_screen {
	const struct fb_column *own; /* [nown] the program's; NULL where there are none */
	size_t nown;
	const char *const *shown; /* those of `own` in the table, ending in NULL; NULL: none */
	struct fb_screen_row {
		double bytes, us; /* us NAN: no time */
		char **field;     /* [fixed and own columns] */
		char *group;      /* keys that are no columns, "engine host, ..."; or NULL */
	} *row; /* [nrows] */
	size_t nrows, room;
};

/* Keeps a row. False, and the table will lack it, where memory is out. */
bool fb_screen_add(struct fb_screen *screen, const struct fb_row *row);

/* Writes the table. Rows that were skipped are a line for each reason. */
void fb_screen_print(struct fb_screen *screen, FILE *out);

void fb_screen_free(struct fb_screen *screen);

/*
 * Whether what this process writes to stdout is read on a terminal. Launchers give their ranks a
 * pipe or a terminal of their own, so the launcher's standard output counts, if there is one among
 * the process's ancestors on this host.
 */
bool fb_screen_is_terminal(void);

#endif
