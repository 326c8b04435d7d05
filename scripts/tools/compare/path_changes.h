/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows whose column `path` differs from before, counted by pairs of values. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_PATH_CHANGES_H
#define FB_SCRIPTS_TOOLS_COMPARE_PATH_CHANGES_H

#include "scripts/tools/compare/label.h"

#include <stdio.h>

enum { FB_PATH_CHANGES = 8 };

struct fb_path_changes {
	/* The first FB_PATH_CHANGES different pairs of paths. Texts are borrowed. */
	struct {
		const char *before, *after;
		uint32_t first; /* the first key that went so */
		size_t count;
	} kind[FB_PATH_CHANGES];
	size_t kinds, rows; /* `rows` counts those of further kinds as well */
};

/* Whether the two paths are known and differ. */
bool fb_path_differs(const char *before, const char *after);

/* Counts a key if its paths differ. */
void fb_path_changes_add(struct fb_path_changes *changes, uint32_t key, const char *before,
			 const char *after);

/* Under a title, two lines for each kind; nothing where no row took another path. */
void fb_path_changes_print(const struct fb_path_changes *changes, const struct fb_labels *labels,
			   const char *title, FILE *out);

#endif
