/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds what a file system lies on; see environment.h. */
#include "common/system/environment_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* DEPTH: devices on devices, as LVM on RAID on partitions. */
enum { DEPTH = 4, PATH_CHARS = 512, FIELD_CHARS = 64 };

/* The vendor of ConnectX and BlueField: an NVMe device of it is storage behind a DPU (SNAP). */
static const char dpu_vendor[] = "0x15b3";

struct disk {
	const char *root;
	char *text;
	size_t n;
};

static void add(const struct disk *d, const char *before, const char *text)
{
	size_t used = strlen(d->text);

	snprintf(d->text + used, d->n - used, "%s%s", *text ? before : "", text);
}

/* The first line of folder/name, or "". */
static const char *field(const struct disk *d, const char *folder, const char *name,
			 char line[FB_LINE_CHARS])
{
	char path[PATH_CHARS + FIELD_CHARS];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fb_read_line(d->root, path, line, FB_LINE_CHARS) ? line : "";
}

/* Sets path to the i-th entry of a folder that begins so. False where there are not so many. */
static bool entry(const struct disk *d, const char *folder, const char *begin, size_t i,
		  char path[PATH_CHARS])
{
	char full[PATH_MAX];
	struct dirent **list;
	bool found = false;
	int count;

	snprintf(full, sizeof(full), "%s%s", d->root, folder);
	count = scandir(full, &list, NULL, alphasort);
	for (int k = 0; k < count; k++) {
		const char *name = list[k]->d_name;

		if (!found && *name != '.' && !strncmp(name, begin, strlen(begin)) && !i--)
			found = snprintf(path, PATH_CHARS, "%s/%s", folder, name) < PATH_CHARS;
		free(list[k]);
	}
	if (count >= 0)
		free(list);
	return found;
}

/* With several paths to a device its folder is that of the subsystem, which has controllers. */
static void add_nvme(const struct disk *d, const char *device)
{
	char line[FB_LINE_CHARS], controller[PATH_CHARS];
	bool pcie;

	if (*field(d, device, "transport", line) || !entry(d, device, "nvme", 0, controller))
		snprintf(controller, sizeof(controller), "%s", device);
	pcie = !strcmp(field(d, controller, "transport", line), "pcie");
	add(d, ": NVMe by ", pcie ? "PCIe" : line);
	add(d, " at ", field(d, controller, "address", line));
	add(d, ", ", field(d, controller, "model", line));
	if (pcie && !strcmp(field(d, controller, "device/vendor", line), dpu_vendor))
		add(d, ", ", "emulated by a DPU");
}

/* The folder of /sys of a disk, of a part of it, or of a device that is made of others. */
static void add_device(const struct disk *d, const char *folder, int depth)
{
	char line[FB_LINE_CHARS], path[PATH_CHARS], full[PATH_MAX], real[PATH_MAX];
	const char *name;

	snprintf(path, sizeof(path), "%s/partition", folder);
	snprintf(full, sizeof(full), "%s%s%s", d->root, folder,
		 fb_path_exists(d->root, path) ? "/.." : "");
	if (!realpath(full, real))
		return;
	folder = real + strlen(d->root);
	name = strrchr(real, '/') + 1;
	add(d, "", name);
	if (snprintf(path, sizeof(path), "%s/device", folder) >= (int)sizeof(path))
		return;
	if (!strncmp(name, "nvme", 4)) {
		add_nvme(d, path);
	} else {
		bool known = *field(d, path, "model", line);

		add(d, ": ", known ? line : "");
		/* Disks of virtual machines say that they rotate, and have no model. */
		if (known && !strcmp(field(d, folder, "queue/rotational", line), "1"))
			add(d, ", ", "rotates");
	}
	snprintf(full, sizeof(full), "%s/slaves", folder);
	for (size_t i = 0; depth < DEPTH && entry(d, full, "", i, path); i++) {
		add(d, "", i ? "; " : " on ");
		add_device(d, path, depth + 1);
	}
}

/* The other devices of a Btrfs that this one belongs to, each of which may hold any block. */
static void add_partners(const struct disk *d, const char *device)
{
	char pool[PATH_CHARS], member[PATH_CHARS], own[PATH_MAX], full[PATH_MAX], other[PATH_MAX];
	bool ours = false;

	snprintf(full, sizeof(full), "%s%s", d->root, device);
	if (!realpath(full, own))
		return;
	for (size_t p = 0; !ours && entry(d, "/sys/fs/btrfs", "", p, pool); p++) {
		strncat(pool, "/devices", sizeof(pool) - strlen(pool) - 1);
		for (size_t i = 0; !ours && entry(d, pool, "", i, member); i++) {
			snprintf(full, sizeof(full), "%s%s", d->root, member);
			ours = realpath(full, other) && !strcmp(own, other);
		}
	}
	for (size_t i = 0; ours && entry(d, pool, "", i, member); i++) {
		snprintf(full, sizeof(full), "%s%s", d->root, member);
		if (!realpath(full, other) || !strcmp(own, other))
			continue;
		add(d, "", "; ");
		add_device(d, member, 0);
	}
}

bool fb_environment_disk(const char *root, unsigned major, unsigned minor, char *text, size_t n)
{
	char given[PATH_MAX], folder[FIELD_CHARS];
	const struct disk d = {.root = *root ? given : "", .text = text, .n = n};

	*text = '\0';
	/* Links below the root are resolved, so the root must be without links. */
	if (*root && !realpath(root, given))
		return false;
	snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u", major, minor);
	add_device(&d, folder, 0);
	add_partners(&d, folder);
	return *text;
}
