/* SPDX-License-Identifier: BSD-3-Clause */
/* The results folder that import adds rows to. Private to import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_FOLDER_H
#define FB_SCRIPTS_TOOLS_IMPORT_FOLDER_H

#include "scripts/tools/import/import.h"

/*
 * Sets the sections' launches: for each program those behind the folder's, or from `first` on.
 * Returns 0; FB_EINPUT where the very same file was imported before (it would count as another
 * launch) or a launch of that number is there. Printed.
 */
int fb_import_number(struct fb_import *import, const char *folder, bool numbered, uint64_t first);

/*
 * Adds the sections' facts to environment.csv: for each launch as program.NAME.LAUNCH.KEY, and,
 * in a folder that had none, once for all where all sections agree. Returns 0, FB_EINPUT or
 * FB_EIO (printed).
 */
int fb_import_write_facts(const struct fb_import *import, const char *folder, const char *run);

#endif
