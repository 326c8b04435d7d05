/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the file system of a folder. */
#ifndef FB_COMMON_SYSTEM_MOUNT_H
#define FB_COMMON_SYSTEM_MOUNT_H

#include <stdbool.h>

enum { FB_MOUNT_CHARS = 768 };

/*
 * The type of the file system that the folder (NULL: $TMPDIR, or /tmp) is on, and the options of
 * its mount and of itself: "ext4 rw,relatime;rw,discard". False: the table of mounts does not say.
 * Some file systems have other device numbers in their files than in that table.
 */
bool fb_mount_of(const char *folder, char mount[FB_MOUNT_CHARS]);

#endif
