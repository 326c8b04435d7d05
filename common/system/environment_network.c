/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about how network interfaces are set up: their subnets, and what a network of RoCE needs
 * of them, which is flow control by priority and marks of congestion; see environment.h.
 */
#include "common/system/environment_dcb.h"
#include "common/system/environment_file.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

enum { PATH_CHARS = 256, KEY_CHARS = 128, PRIORITIES = 8 };

/* "0,3", or "none". */
static void add_priorities(struct fb_facts *facts, const char *interface, const char *name,
			   unsigned set)
{
	char key[KEY_CHARS], text[2 * PRIORITIES + 1] = "";
	size_t used = 0;

	for (int p = 0; p < PRIORITIES; p++)
		if (set & 1U << p)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d",
						 used ? "," : "", p);
	snprintf(key, sizeof(key), "network.%.32s.%s", interface, name);
	fb_facts_add(facts, key, "%s", used ? text : "none");
}

/* The vendor's driver has a file for each priority; the kernel's driver has none. */
static void add_marks(struct fb_facts *facts, const char *root, const char *interface,
		      const char *side, const char *name)
{
	char path[PATH_CHARS], text[FB_LINE_CHARS];
	unsigned set = 0;
	bool known = false;

	for (int p = 0; p < PRIORITIES; p++) {
		snprintf(path, sizeof(path), "/sys/class/net/%.32s/ecn/%s/enable/%d", interface,
			 side, p);
		if (!fb_read_line(root, path, text, sizeof(text)))
			continue;
		known = true;
		set |= (unsigned)(*text == '1') << p;
	}
	if (known)
		add_priorities(facts, interface, name, set);
}

static void add_interface(struct fb_facts *facts, const char *root, const char *path,
			  const char *name)
{
	char device[PATH_CHARS], prefix[64];
	unsigned pfc;

	if (!strcmp(name, "lo"))
		return;
	add_marks(facts, root, name, "roce_np", "ecn_receiver");
	add_marks(facts, root, name, "roce_rp", "ecn_sender");
	if (!*root && fb_dcb_pfc(name, &pfc))
		add_priorities(facts, name, "pfc", pfc);
	/* An RDMA device speaks for its interface. */
	snprintf(device, sizeof(device), "%s/%.32s/device/infiniband", path, name);
	if (fb_path_exists(root, device))
		return;
	snprintf(device, sizeof(device), "%s/%.32s/device", path, name);
	snprintf(prefix, sizeof(prefix), "network.%.32s", name);
	fb_facts_add_interrupts(facts, prefix, root, device);
}

/* The network part of an address, "10.1.2.0/24"; the whole address is private. */
static bool format_subnet(const struct sockaddr *address, const struct sockaddr *mask, char *text,
			  size_t n)
{
	bool six = address->sa_family == AF_INET6;
	unsigned char bytes[16], bits[16];
	size_t length = six ? 16 : 4, used;
	int prefix = 0;

	memcpy(bytes, six ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
			  : (const void *)&((const struct sockaddr_in *)address)->sin_addr, length);
	memcpy(bits, six ? (const void *)&((const struct sockaddr_in6 *)mask)->sin6_addr
			 : (const void *)&((const struct sockaddr_in *)mask)->sin_addr, length);
	/* Every interface has a link-local one. */
	if (six && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80)
		return false;
	for (size_t i = 0; i < length; i++) {
		bytes[i] &= bits[i];
		prefix += __builtin_popcount(bits[i]);
	}
	if (!inet_ntop(address->sa_family, bytes, text, (socklen_t)n))
		return false;
	used = strlen(text);
	snprintf(text + used, n - used, "/%d", prefix);
	return true;
}

static void add_subnets(struct fb_facts *facts)
{
	struct ifaddrs *list;

	if (getifaddrs(&list))
		return;
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		char key[KEY_CHARS], text[64];
		const char *others;

		if (!a->ifa_addr || !a->ifa_netmask || a->ifa_flags & IFF_LOOPBACK ||
		    (a->ifa_addr->sa_family != AF_INET && a->ifa_addr->sa_family != AF_INET6) ||
		    !format_subnet(a->ifa_addr, a->ifa_netmask, text, sizeof(text)))
			continue;
		snprintf(key, sizeof(key), "network.%.32s.subnets", a->ifa_name);
		others = fb_facts_get(facts, key);
		if (!others)
			fb_facts_add(facts, key, "%s", text);
		else if (!strstr(others, text))
			fb_facts_add(facts, key, "%s %s", others, text);
	}
	freeifaddrs(list);
}

void fb_environment_network(struct fb_facts *facts, const char *root)
{
	fb_visit_folder(facts, root, "/sys/class/net", add_interface);
	/* Addresses are in no file of a form that would be worth reading. */
	if (!*root)
		add_subnets(facts);
}
