/* SPDX-License-Identifier: BSD-3-Clause */
/* The results folder that import adds rows to. Private to import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_FOLDER_H
#define FB_SCRIPTS_TOOLS_IMPORT_FOLDER_H

#include "scripts/tools/import/import.h"

/*
 * Numbers the sections' launches: for each program after those in the folder, or from `first` on.
 * Returns 0 or FB_EINPUT (printed): the same file was imported before, and would count as another
 * launch, or the folder has a launch of that number.
 */
int fb_import_number(struct fb_import *import, const char *folder, bool numbered, uint64_t first);

/*
 * Adds the sections' facts to environment.csv: for each launch as program.NAME.LAUNCH.KEY, and,
 * in a folder that had none, once for all where all sections agree. Returns 0, FB_EINPUT or
 * FB_EIO (printed).
 */
int fb_import_write_facts(const struct fb_import *import, const char *folder, const char *run);

#endif
