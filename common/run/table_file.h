/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that users name on the command line: rank 0 reads the file, all ranks get its text. */
#ifndef FB_COMMON_RUN_TABLE_FILE_H
#define FB_COMMON_RUN_TABLE_FILE_H

#include "common/system/group.h"

/*
 * Collective: *text of all ranks, to be freed, is that of rank 0's file. Returns the same on all
 * ranks: 0; FB_EINPUT (printed by rank 0 as of --tuning) where it cannot be read, or holds no text
 * of at most 16 MiB; or FB_ENOMEM (printed). `writer`: the tool that writes such tables.
 */
int fb_table_file_share(const struct fb_group *group, const char *path, const char *writer,
			char **text);

#endif
