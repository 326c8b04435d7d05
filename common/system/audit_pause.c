/* SPDX-License-Identifier: BSD-3-Clause */
/* Pause frames of network interfaces, which only drivers' own statistics have; see audit.h. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/system/audit.h"

/* Which numbers of an interface's statistics are pause frames: they stay where they are. */
struct pauses {
	char interface[FB_AUDIT_NAME];
	unsigned statistics; /* how many there are; 0: none that can be read */
	int count;
	struct {
		unsigned index;
		char name[ETH_GSTRING_LEN];
	} at[16];
};

static struct pauses known[FB_AUDIT_DEVICES];
static int interfaces;

static int ask(int fd, const char *interface, void *question)
{
	struct ifreq request = {.ifr_data = question};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", interface);
	return ioctl(fd, SIOCETHTOOL, &request);
}

/* "rx_prio3_pause", but not how long they lasted. */
static int is_pause(const char *name)
{
	return strstr(name, "pause") && !strstr(name, "duration") && !strstr(name, "transition");
}

static void find(int fd, struct pauses *p)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_gstrings *names;

	if (ask(fd, p->interface, &info) || !info.n_stats)
		return;
	names = calloc(1, sizeof(*names) + (size_t)info.n_stats * ETH_GSTRING_LEN);
	if (!names)
		return;
	*names = (struct ethtool_gstrings){.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS,
					   .len = info.n_stats};
	if (!ask(fd, p->interface, names) && names->len == info.n_stats)
		p->statistics = info.n_stats;
	for (unsigned i = 0; i < p->statistics && p->count < 16; i++) {
		const char *name = (const char *)names->data + (size_t)i * ETH_GSTRING_LEN;

		if (!is_pause(name))
			continue;
		p->at[p->count].index = i;
		snprintf(p->at[p->count++].name, ETH_GSTRING_LEN, "%.31s", name);
	}
	free(names);
}

/* NULL: no room. */
static struct pauses *pauses_of(int fd, const char *interface)
{
	for (int i = 0; i < interfaces; i++)
		if (!strcmp(known[i].interface, interface))
			return &known[i];
	if (interfaces == FB_AUDIT_DEVICES)
		return NULL;
	snprintf(known[interfaces].interface, FB_AUDIT_NAME, "%.31s", interface);
	find(fd, &known[interfaces]);
	return &known[interfaces++];
}

void fb_audit_read_pause(struct fb_audit *audit, const char *interface)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_stats *now = NULL;
	const struct pauses *p;

	if (fd < 0)
		return;
	p = pauses_of(fd, interface);
	if (p && p->count)
		now = calloc(1, sizeof(*now) + p->statistics * sizeof(now->data[0]));
	if (!now)
		goto close_socket;
	*now = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = p->statistics};
	if (!ask(fd, interface, now) && now->n_stats == p->statistics)
		for (int i = 0; i < p->count; i++)
			fb_audit_add(audit, interface, p->at[i].name, now->data[p->at[i].index]);
	free(now);
close_socket:
	close(fd);
}
