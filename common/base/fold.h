/* SPDX-License-Identifier: BSD-3-Clause */
/* Text for terminals: no line is longer than a terminal or a page of a document is wide. */
#ifndef FB_COMMON_BASE_FOLD_H
#define FB_COMMON_BASE_FOLD_H

#include <stdio.h>

enum { FB_LINE_MOST = 110 }; /* letters */

struct fb_fold {
	FILE *stream; /* what is written here is kept */
	char *text;
	size_t bytes;
};

/* 0 or FB_ENOMEM (printed). */
int fb_fold_open(struct fb_fold *fold);

/*
 * Writes what was kept to `out`, but for spaces at the ends of lines, and ends. A line that is too
 * long is continued in the next one, indented, from a space on, or behind a comma or semicolon
 * where there is no space. 0 or FB_ENOMEM (printed).
 */
int fb_fold_close(struct fb_fold *fold, FILE *out);

#endif
