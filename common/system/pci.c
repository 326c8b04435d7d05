/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of PCI devices; see pci.h. */
#include "common/system/pci.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/system/environment_file.h"

/* The folders of every device: "/sys", "/devices" and the host bridge's "/pci0000:00". */
enum { TOP = 2, BRIDGE = 3 };

int fb_pci_shared_path(const char *a, const char *b)
{
	int shared = 0;

	for (size_t i = 0; a[i] == b[i] || (!a[i] && b[i] == '/') || (a[i] == '/' && !b[i]); i++) {
		if (i && (!a[i] || a[i] == '/'))
			shared++;
		if (!a[i] || !b[i])
			break;
	}
	return shared;
}

/* The real folder of a device, without what comes before /sys. False: it is no PCI device. */
static bool find(const char *root, const char *link, char path[PATH_MAX])
{
	char full[PATH_MAX], real[PATH_MAX];
	const char *sys;

	if (snprintf(full, sizeof(full), "%s%s", root, link) >= (int)sizeof(full) ||
	    !realpath(full, real))
		return false;
	sys = strstr(real, "/sys/devices/pci");
	if (sys)
		snprintf(path, PATH_MAX, "%s", sys);
	return sys != NULL;
}

static int depth(const char *path)
{
	int folders = 0;

	for (; *path; path++)
		folders += *path == '/';
	return folders;
}

static bool same_node(const char *root, const char *a, const char *b)
{
	const char *const path[] = {a, b};
	char file[PATH_MAX], node[2][32];

	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof(file), "%.4000s/numa_node", path[i]);
		if (!fb_read_line(root, file, node[i], sizeof(node[i])))
			return false;
	}
	return !strcmp(node[0], node[1]) && node[0][0] != '-';
}

const char *fb_pci_level(const char *root, const char *a, const char *b)
{
	char one[PATH_MAX], other[PATH_MAX];
	int shared, most;

	if (!find(root, a, one) || !find(root, b, other))
		return NULL;
	shared = fb_pci_shared_path(one, other);
	most = depth(one) > depth(other) ? depth(one) : depth(other);
	if (shared <= TOP)
		return same_node(root, a, b) ? "NODE" : "SYS";
	if (shared == BRIDGE)
		return "PHB";
	/* Behind one switch only its port and the device itself differ. */
	return most - shared <= 2 ? "PIX" : "PXB";
}
