/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows whose column `path` differs from before, counted by pairs of values. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_WAYS_H
#define FB_SCRIPTS_TOOLS_COMPARE_WAYS_H

#include "scripts/tools/compare/label.h"

#include <stdio.h>

enum { FB_WAYS = 8 };

struct fb_ways {
	/* The first FB_WAYS different pairs of ways. Texts are borrowed. */
	struct {
		const char *before, *after;
		uint32_t first; /* the first key that went so */
		size_t count;
	} kind[FB_WAYS];
	size_t kinds, rows; /* `rows` counts those of further kinds as well */
};

/* Whether the two ways are known and differ. */
bool fb_way_differs(const char *before, const char *after);

/* Counts a key if its ways differ. */
void fb_ways_add(struct fb_ways *ways, uint32_t key, const char *before, const char *after);

/* Under a title, two lines for each kind; nothing where no row ran another way. */
void fb_ways_print(const struct fb_ways *ways, const struct fb_labels *labels, const char *title,
		   FILE *out);

#endif
