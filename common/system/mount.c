/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the file system of a folder; see mount.h. */
#include "common/system/mount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

bool fb_mount_of(const char *folder, char mount[FB_MOUNT_CHARS])
{
	const char *temporary = getenv("TMPDIR");
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	char line[4096], options[256], kind[64], own[400];
	unsigned major, minor;
	bool found = false;
	struct stat at;

	folder = folder ? folder : temporary ? temporary : "/tmp";
	while (mounts && !found && !stat(folder, &at) && fgets(line, sizeof(line), mounts)) {
		const char *rest = strstr(line, " - ");

		if (!rest ||
		    sscanf(line, "%*d %*d %u:%u %*s %*s %255s", &major, &minor, options) != 3 ||
		    sscanf(rest, " - %63s %*s %399s", kind, own) != 2 ||
		    makedev(major, minor) != at.st_dev)
			continue;
		snprintf(mount, FB_MOUNT_CHARS, "%s %s;%s", kind, options, own);
		found = true;
	}
	if (mounts)
		fclose(mounts);
	return found;
}
