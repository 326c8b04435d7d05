/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the file system of a folder; see mount.h. */
#include "common/system/mount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

bool fb_mount_of(const char *table, const char *folder, struct fb_mount *mount)
{
	const char *temporary = getenv("TMPDIR");
	FILE *mounts = fopen(table, "re");
	char line[4096], options[256], kind[64], source[1024], own[400];
	unsigned high, low;
	bool found = false;
	struct stat at, device;

	folder = folder ? folder : temporary ? temporary : "/tmp";
	while (mounts && !found && !stat(folder, &at) && fgets(line, sizeof(line), mounts)) {
		const char *rest = strstr(line, " - ");

		if (!rest ||
		    sscanf(line, "%*d %*d %u:%u %*s %*s %255s", &high, &low, options) != 3 ||
		    sscanf(rest, " - %63s %1023s %399s", kind, source, own) != 3 ||
		    makedev(high, low) != at.st_dev)
			continue;
		snprintf(mount->file_system, FB_MOUNT_CHARS, "%s %s;%s", kind, options, own);
		/* Some have a device number that is no disk's. */
		if (!stat(source, &device) && S_ISBLK(device.st_mode))
			at.st_dev = device.st_rdev;
		mount->major = major(at.st_dev);
		mount->minor = minor(at.st_dev);
		found = true;
	}
	if (mounts)
		fclose(mounts);
	return found;
}
