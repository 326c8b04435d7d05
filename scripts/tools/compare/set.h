/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of reading a result set, each in a file of its own; see launches.h for the whole. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_SET_H
#define FB_SCRIPTS_TOOLS_COMPARE_SET_H

#include "scripts/tools/compare/launches.h"

/*
 * launches.c: adds the rows of one file. With in_folder, files of other kinds are passed over.
 * Returns 0, FB_EINPUT, FB_ENOMEM (printed).
 */
int fb_set_read_rows(struct fb_set *set, const struct fb_reading *reading, const char *path,
		     bool in_folder);

/* paths.c: keeps the first path of each key. Returns 0 or FB_ENOMEM (printed). */
int fb_set_keep_path(struct fb_set *set, uint32_t key, const char *path);
void fb_set_free_paths(struct fb_set *set);

#endif
