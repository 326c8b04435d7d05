/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the file system of a folder; see mount.h. */
#include "common/system/mount.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The mount point as a path: mountinfo writes blanks and the like as \040. */
static void unescape(char *text)
{
	unsigned code;
	char *to = text;

	for (; *text; text++, to++) {
		*to = *text;
		if (*text == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
			*to = (char)code;
			text += 3;
		}
	}
	*to = '\0';
}

/* Whether the path is the mount point or lies below it. */
static bool is_below(const char *path, const char *point)
{
	size_t n = strlen(point);

	return !strncmp(path, point, n) && (point[n - 1] == '/' || !path[n] || path[n] == '/');
}

bool fb_mount_of(const char *table, const char *folder, struct fb_mount *mount)
{
	const char *temporary = getenv("TMPDIR");
	FILE *mounts = fopen(table, "re");
	char line[4096], point[1024], options[256], kind[64], source[1024], own[400];
	char path[PATH_MAX];
	unsigned high, low;
	bool found = false, same = false;
	size_t depth = 0;
	struct stat at, device;

	folder = folder ? folder : temporary ? temporary : "/tmp";
	while (mounts && !same && !stat(folder, &at) && realpath(folder, path) &&
	       fgets(line, sizeof(line), mounts)) {
		const char *rest = strstr(line, " - ");

		if (!rest ||
		    sscanf(line, "%*d %*d %u:%u %*s %1023s %255s", &high, &low, point, options) !=
			    4 ||
		    sscanf(rest, " - %63s %1023s %399s", kind, source, own) != 3)
			continue;
		unescape(point);
		same = makedev(high, low) == at.st_dev;
		if (!same && (!is_below(path, point) || strlen(point) < depth))
			continue;
		depth = strlen(point);
		found = same || (!high && !major(at.st_dev));
		snprintf(mount->file_system, FB_MOUNT_CHARS, "%s %s;%s", kind, options, own);
		/* Some have a device number that is no disk's. */
		if (stat(source, &device) || !S_ISBLK(device.st_mode))
			device.st_rdev = at.st_dev;
		mount->major = major(device.st_rdev);
		mount->minor = minor(device.st_rdev);
	}
	if (mounts)
		fclose(mounts);
	return found;
}
