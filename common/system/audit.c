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
	device->gbit_s = 0;
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

void fb_audit_add(struct fb_audit *audit, const char *device, const char *event, uint64_t count)
{
	struct fb_audit_event *made = &audit->event[audit->events];

	if (audit->events == FB_AUDIT_EVENTS)
		return;
	snprintf(made->name, sizeof(made->name), "%.23s.%.39s", device, event);
	made->count = count;
	audit->events++;
}

/* Reads the file of an event, if there is one. */
static void read_event(struct fb_audit *audit, const char *device, const char *folder,
		       const char *event)
{
	char path[PATH_CHARS];
	uint64_t count = 0;

	snprintf(path, sizeof(path), "%.400s/%.63s", folder, event);
	if (add_counter(path, &count))
		fb_audit_add(audit, device, event, count);
}

static void read_interface(struct fb_audit *audit, const char *folder, const char *name)
{
	static const char *const events[] = {"rx_errors", "tx_errors", "rx_dropped", "tx_dropped"};
	char path[PATH_CHARS];
	uint64_t bytes = 0;

	for (int sent = 0; sent < 2; sent++) {
		snprintf(path, sizeof(path), "%.255s/%.63s/statistics/%s", folder, name,
			 sent ? "tx_bytes" : "rx_bytes");
		(void)add_counter(path, &bytes);
	}
	add(audit, name, bytes);
	snprintf(path, sizeof(path), "%.255s/%.63s/statistics", folder, name);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		read_event(audit, name, path, events[i]);
}

static bool has_part(const char *name, const char *const *parts)
{
	while (*parts && !strstr(name, *parts))
		parts++;
	return *parts != NULL;
}

/* Every driver names the counters of a port differently; the useful ones contain these parts. */
static const char *const port_events[] = {
	"err", "retr", "timeout", "cnp", "ecn", "out_of", "discard", "wait", "rnr", "seq",
	"drop", "restart", "downed", "recovery", NULL};

static void read_events(struct fb_audit *audit, const char *port, const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (has_part(entry->d_name, port_events))
			read_event(audit, port, folder, entry->d_name);
	if (dir)
		closedir(dir);
}

/* The number that a file begins with, as "4: ACTIVE" or "400 Gb/sec (4X NDR)"; 0: there is none. */
static uint32_t read_number(const char *folder, const char *port, const char *name)
{
	char path[PATH_CHARS];
	uint64_t number = 0;

	snprintf(path, sizeof(path), "%.255s/%.15s/%s", folder, port, name);
	(void)add_counter(path, &number);
	return (uint32_t)number;
}

/* folder is .../infiniband/DEVICE/ports. The counters are in units of four bytes. */
static void read_port(struct fb_audit *audit, const char *folder, const char *port)
{
	enum { ACTIVE = 4 };
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
	if (made && counts && read_number(folder, port, "state") == ACTIVE)
		made->gbit_s = read_number(folder, port, "rate");
	for (int hw = 0; hw < 2; hw++) {
		snprintf(path, sizeof(path), "%.255s/%.15s/%s", folder, port,
			 hw ? "hw_counters" : "counters");
		read_events(audit, name, path);
	}
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

/* "Tcp: RtoAlgorithm RtoMin ..." and below it "Tcp: 1 200 ...": the counters that matter here. */
static void read_protocols(struct fb_audit *audit, const char *path)
{
	static const char *const events[] = {"RetransSegs", "InErrs", "TCPTimeouts", "InCEPkts",
					     "RcvbufErrors", NULL};
	char *names = NULL, *values = NULL;
	size_t room[2] = {0, 0};
	FILE *file = fopen(path, "re");

	while (file && getline(&names, &room[0], file) > 0 &&
	       getline(&values, &room[1], file) > 0) {
		char *name_end, *value_end, *value = strtok_r(values, " \n", &value_end);
		char *name = strtok_r(names, ": \n", &name_end), *protocol = name;

		while (name && value && (name = strtok_r(NULL, " :\n", &name_end)) &&
		       (value = strtok_r(NULL, " \n", &value_end)))
			for (int i = 0; events[i]; i++)
				if (!strcmp(name, events[i]))
					fb_audit_add(audit, protocol, name,
						     strtoull(value, NULL, 10));
	}
	free(names);
	free(values);
	if (file)
		fclose(file);
}

enum fb_audit_sort fb_audit_sort(const char *event)
{
	static const char *const again[] = {"retr", "Retr", "timeout", "Timeout", "rnr", "seq",
					    "out_of_sequence", NULL};
	static const char *const wrong[] = {"err", "Err", "downed", "recovery", "discard", NULL};

	if (has_part(event, again))
		return FB_AUDIT_RETRANSMIT;
	return has_part(event, wrong) ? FB_AUDIT_ERROR : FB_AUDIT_REMARK;
}

void fb_audit_read(struct fb_audit *audit, const char *root)
{
	char path[PATH_CHARS];

	audit->count = 0;
	audit->events = 0;
	snprintf(path, sizeof(path), "%.200s/sys/class/net", root);
	walk(path, audit, read_interface);
	snprintf(path, sizeof(path), "%.200s/sys/class/infiniband", root);
	walk(path, audit, read_device);
	for (int more = 0; more < 2; more++) {
		snprintf(path, sizeof(path), "%.200s/proc/net/%s", root, more ? "netstat" : "snmp");
		read_protocols(audit, path);
	}
	for (int i = 0; i < audit->count && !*root; i++)
		if (!strchr(audit->device[i].name, ':'))
			fb_audit_read_pause(audit, audit->device[i].name);
}

uint64_t fb_audit_bytes(const struct fb_audit *before, const struct fb_audit_device *now)
{
	for (int i = 0; i < before->count; i++)
		if (!strcmp(before->device[i].name, now->name))
			return now->bytes > before->device[i].bytes
				       ? now->bytes - before->device[i].bytes
				       : 0;
	return 0;
}

uint64_t fb_audit_events(const struct fb_audit *before, const struct fb_audit_event *now)
{
	for (int i = 0; i < before->events; i++)
		if (!strcmp(before->event[i].name, now->name))
			return now->count > before->event[i].count
				       ? now->count - before->event[i].count
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
		carried.device[i].bytes = fb_audit_bytes(before, &after->device[i]);
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

double fb_audit_balance(const struct fb_audit *before, const struct fb_audit *after,
			const char *expected, double least)
{
	double low = 0, high = 0;
	int n = 0;

	for (int i = 0; i < after->count; i++) {
		double passed = (double)fb_audit_bytes(before, &after->device[i]);

		if (!has_name(expected, after->device[i].name) || after->device[i].over[0])
			continue;
		low = n && low < passed ? low : passed;
		high = passed > high ? passed : high;
		n++;
	}
	return n < 2 || high < least ? 1 : low / high;
}

int fb_audit_idle(const struct fb_audit *before, const struct fb_audit *after,
		  const char *expected, double least, char *text, size_t n)
{
	static const double nothing = 0.01;
	double most = 0;
	uint32_t slowest = 0;
	size_t used = 0;
	int count = 0;

	text[0] = '\0';
	for (int i = 0; i < after->count; i++) {
		const struct fb_audit_device *port = &after->device[i];
		double passed = (double)fb_audit_bytes(before, port);

		if (!port->gbit_s || !has_name(expected, port->name))
			continue;
		most = passed > most ? passed : most;
		slowest = !slowest || port->gbit_s < slowest ? port->gbit_s : slowest;
	}
	for (int i = 0; i < after->count && slowest && most >= least; i++) {
		const struct fb_audit_device *port = &after->device[i];

		if (port->gbit_s < slowest || has_name(expected, port->name) ||
		    (double)fb_audit_bytes(before, port) >= nothing * most)
			continue;
		if (used < n)
			used += (size_t)snprintf(text + used, n - used, "%s%s", count ? " " : "",
						 port->name);
		count++;
	}
	return count;
}

double fb_audit_stray(const struct fb_audit *before, const struct fb_audit *after, double bytes,
		      const char *expected)
{
	double right = 0, wrong = 0;

	for (int i = 0; i < after->count; i++) {
		double passed = (double)fb_audit_bytes(before, &after->device[i]);

		if (is_expected(after, after->device[i].name, expected))
			right += passed;
		else
			wrong += passed;
	}
	if (bytes <= 0 || right >= all_there * bytes || wrong < astray * bytes)
		return 0;
	return wrong / bytes;
}
