/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that no other process sees, and that are removed when they are closed. */
#ifndef FB_COMMON_SYSTEM_TEMPORARY_H
#define FB_COMMON_SYSTEM_TEMPORARY_H

/*
 * Local: opens a new empty file for reading and writing in `folder`, or with NULL in $TMPDIR or
 * /tmp, and takes its name away. Returns the descriptor, which the caller closes, or -1 with errno.
 * Prints nothing.
 */
int fb_temporary_file(const char *folder);

#endif
