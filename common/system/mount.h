/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the file system of a folder, and the device that it lies on. */
#ifndef FB_COMMON_SYSTEM_MOUNT_H
#define FB_COMMON_SYSTEM_MOUNT_H

#include <stdbool.h>

enum { FB_MOUNT_CHARS = 768 };

struct fb_mount {
	/* Its type, and the options of its mount and of itself: "ext4 rw,relatime;rw,discard". */
	char file_system[FB_MOUNT_CHARS];
	/* Of the device; of Btrfs over several of them one. 0 and an anonymous number: no disk. */
	unsigned major, minor;
};

/*
 * Fills in the file system that the folder (NULL: $TMPDIR, or /tmp) is on. False: the table of
 * mounts (/proc/self/mountinfo) does not say. Files of Btrfs and some others have other device
 * numbers than that table; then the innermost mount above the folder counts, if its number is
 * anonymous too.
 */
bool fb_mount_of(const char *table, const char *folder, struct fb_mount *mount);

#endif
