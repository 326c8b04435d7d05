/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of carriers; see carrier.h. */
#include "common/run/carrier.h"

#include <stdio.h>
#include <string.h>

void fb_carrier_add(char *text, size_t n, const char *more)
{
	size_t used = strlen(text);

	if (*more && used + strlen(more) + (used ? 2 : 0) < n)
		snprintf(text + used, n - used, "%s%s", used ? ", " : "", more);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

bool fb_carrier_merge(char names[FB_CARRIER_CHARS], const char *more)
{
	size_t used, length;

	for (; *more; more += length + (more[length] == ' ')) {
		bool has = false;

		length = strcspn(more, " ");
		for (const char *at = names; *at && !has; at += *at == ' ') {
			has = strcspn(at, " ") == length && !strncmp(at, more, length);
			at += strcspn(at, " ");
		}
		if (has)
			continue;
		used = strlen(names);
		if (used + length + 2 > FB_CARRIER_CHARS)
			return false;
		snprintf(names + used, FB_CARRIER_CHARS - used, "%s%.*s", used ? " " : "",
			 (int)length, more);
	}
	return true;
}

/* Adds the ports of "mlx5_0:1 RoCE v2, IPv4 10.0.0.1 mtu 4096+mlx5_1:1 ...". */
static bool add_rails(const char *rails, char names[FB_CARRIER_CHARS])
{
	char name[FB_CARRIER_CHARS];
	bool room = true;

	for (; rails && *rails && room; rails = strchr(rails, '+')) {
		rails += *rails == '+';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(rails, " "), rails);
		room = fb_carrier_merge(names, name);
	}
	return room;
}

/* Beginnings of paths that move bytes without a network. */
static const char *const inside[] = {"shm", "processors, ", "kernel, ", "peer memory",
				     "pinned host memory", "copy engines"};

/*
 * Adds the port of a transport that NCCL names, "NET/IB/mlx5_0:1/GDRDMA": it is between the second
 * and the third slash. The direct path of that adapter to GPU memory is called mlx5_0_dma.
 */
static bool add_nccl_port(const char *way, size_t n, char names[FB_CARRIER_CHARS])
{
	static const char direct[] = "_dma";
	char name[FB_CARRIER_CHARS], *dma;
	const char *at = way + (begins(way, "NET/IB/") ? strlen("NET/IB/") : strlen("NET/Socket/"));
	size_t length = strcspn(at, "/,");

	if (!begins(way, "NET/IB/") && !begins(way, "NET/Socket/"))
		return false;
	if (at + length > way + n)
		length = (size_t)(way + n - at);
	snprintf(name, sizeof(name), "%.*s", (int)length, at);
	dma = strstr(name, "_dma:");
	if (dma)
		memmove(dma, dma + strlen(direct), strlen(dma + strlen(direct)) + 1);
	/* False for a number (NCCL's log has no name), and for two ports that it uses as one. */
	return *name && strspn(name, "0123456789") < strlen(name) && !strpbrk(name, "+") &&
	       fb_carrier_merge(names, name);
}

/* Adds the ports of "... via P2P/CUMEM/read, NET/IB/mlx5_0:1/GDRDMA, network IB". */
static bool add_nccl_ports(const char *carrier, char names[FB_CARRIER_CHARS])
{
	const char *way = strstr(carrier, " via ");
	bool known = way != NULL;
	size_t n;

	for (way = known ? way + strlen(" via ") : ""; *way && known; way += n) {
		way += strspn(way, ", ");
		n = strcspn(way, ",;(");
		if (begins(way, "NET/"))
			known = add_nccl_port(way, n, names);
		else if (!begins(way, "P2P/") && !begins(way, "SHM/"))
			break;
	}
	return known;
}

bool fb_carrier_devices(const char *carrier, char names[FB_CARRIER_CHARS])
{
	char name[FB_CARRIER_CHARS];
	const char *more = strchr(carrier, '+');

	names[0] = '\0';
	if (begins(carrier, "NCCL "))
		return add_nccl_ports(carrier, names);
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		if (!begins(carrier, inside[i]))
			continue;
		if (!more)
			return true;
		carrier = more + 1;
		break;
	}
	if (begins(carrier, "rdma "))
		return add_rails(carrier + strlen("rdma "), names);
	if (!begins(carrier, "tcp "))
		return false;
	carrier += strlen("tcp ");
	/* The text after a colon is the label of an address: "eth0:1". */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(carrier, " :"), carrier);
	return fb_carrier_merge(names, name);
}
