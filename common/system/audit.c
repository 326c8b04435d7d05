/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading interface counters; see audit.h. */
#include "common/system/audit.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_CHARS = 512 };

/* Traffic below this part of the bytes moved is somebody else's, or control messages. */
static const double least_share = 0.1;

/* Headers count, so the right devices pass more than all of the bytes, or something is wrong. */
static const double all_there = 0.9, astray = 0.4;

/* Adds a counter to *sum; false: there is none. */
static bool add_counter(const char *path, uint64_t *sum)
{
	FILE *file = fopen(path, "re");
	uint64_t value = 0;
	bool there;

	if (!file)
		return false;
	there = fscanf(file, "%" SCNu64, &value) == 1;
	*sum += there ? value : 0;
	fclose(file);
	return there;
}

/* NULL: there is no room. */
static struct fb_audit_device *add(struct fb_audit *audit, const char *name, uint64_t bytes)
{
	struct fb_audit_device *device = &audit->device[audit->count];

	if (audit->count == FB_AUDIT_DEVICES)
		return NULL;
	snprintf(device->name, sizeof(device->name), "%.*s", FB_AUDIT_NAME - 1, name);
	device->over[0] = '\0';
	device->bytes = bytes;
	audit->count++;
	return device;
}

/* Calls `each` for every entry of a folder; a folder that is not there has none. */
static void walk(const char *folder, struct fb_audit *audit,
		 void (*each)(struct fb_audit *audit, const char *folder, const char *name))
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			each(audit, folder, entry->d_name);
	if (dir)
		closedir(dir);
}

static void read_interface(struct fb_audit *audit, const char *folder, const char *name)
{
	char path[PATH_CHARS];
	uint64_t bytes = 0;

	for (int sent = 0; sent < 2; sent++) {
		snprintf(path, sizeof(path), "%.255s/%.63s/statistics/%s", folder, name,
			 sent ? "tx_bytes" : "rx_bytes");
		(void)add_counter(path, &bytes);
	}
	add(audit, name, bytes);
}

/* folder is .../infiniband/DEVICE/ports. The counters are in units of four bytes. */
static void read_port(struct fb_audit *audit, const char *folder, const char *port)
{
	char path[PATH_CHARS], name[FB_AUDIT_NAME * 2];
	const char *device = strstr(folder, "/infiniband/") + strlen("/infiniband/");
	struct fb_audit_device *made;
	uint64_t words = 0;
	bool counts = false;
	FILE *file;

	for (int sent = 0; sent < 2; sent++) {
		snprintf(path, sizeof(path), "%.255s/%.15s/counters/%s", folder, port,
			 sent ? "port_xmit_data" : "port_rcv_data");
		counts |= add_counter(path, &words);
	}
	snprintf(name, sizeof(name), "%.*s:%.15s", (int)strcspn(device, "/"), device, port);
	made = add(audit, name, words * 4);
	snprintf(path, sizeof(path), "%.255s/%.15s/gid_attrs/ndevs/0", folder, port);
	file = counts || !made ? NULL : fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%31s", made->over) != 1)
		made->over[0] = '\0';
	fclose(file);
}

static void read_device(struct fb_audit *audit, const char *folder, const char *name)
{
	char path[PATH_CHARS];

	snprintf(path, sizeof(path), "%.255s/%.63s/ports", folder, name);
	walk(path, audit, read_port);
}

void fb_audit_read(struct fb_audit *audit, const char *root)
{
	char path[PATH_CHARS];

	audit->count = 0;
	snprintf(path, sizeof(path), "%.200s/sys/class/net", root);
	walk(path, audit, read_interface);
	snprintf(path, sizeof(path), "%.200s/sys/class/infiniband", root);
	walk(path, audit, read_device);
}

/* Bytes since `before`; 0 for a device that is new or was reset in between. */
static uint64_t grown(const struct fb_audit *before, const struct fb_audit_device *now)
{
	for (int i = 0; i < before->count; i++)
		if (!strcmp(before->device[i].name, now->name))
			return now->bytes > before->device[i].bytes
				       ? now->bytes - before->device[i].bytes
				       : 0;
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct fb_audit_device *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->name, y->name);
}

int fb_audit_text(const struct fb_audit *before, const struct fb_audit *after, double bytes,
		  char *text, size_t n)
{
	struct fb_audit carried = *after;
	size_t used = 0;
	int count = 0;

	text[0] = '\0';
	for (int i = 0; i < carried.count; i++)
		carried.device[i].bytes = grown(before, &after->device[i]);
	qsort(carried.device, (size_t)carried.count, sizeof(carried.device[0]), most_first);
	for (int i = 0; i < carried.count && bytes > 0; i++) {
		double share = (double)carried.device[i].bytes / bytes;

		if (share < least_share)
			break;
		if (used < n)
			used += (size_t)snprintf(text + used, n - used, "%s%s %.2f",
						 count ? ", " : "", carried.device[i].name, share);
		count++;
	}
	return count;
}

/* Whether a list of names between blanks has this one. */
static bool has_name(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; length && (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

static bool is_expected(const struct fb_audit *audit, const char *name, const char *expected)
{
	for (int i = 0; i < audit->count; i++)
		if (!strcmp(audit->device[i].over, name) &&
		    has_name(expected, audit->device[i].name))
			return true;
	return has_name(expected, name);
}

double fb_audit_stray(const struct fb_audit *before, const struct fb_audit *after, double bytes,
		      const char *expected)
{
	double right = 0, wrong = 0;

	for (int i = 0; i < after->count; i++) {
		double passed = (double)grown(before, &after->device[i]);

		if (is_expected(after, after->device[i].name, expected))
			right += passed;
		else
			wrong += passed;
	}
	if (bytes <= 0 || right >= all_there * bytes || wrong < astray * bytes)
		return 0;
	return wrong / bytes;
}
