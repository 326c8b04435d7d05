/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of this rank, and the choice among those of a peer; see tcp_address.h. */
#include "common/transport/tcp_address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/error.h"

_Static_assert(sizeof(struct fb_tcp_address) == 40, "padding would be sent and compared");

/* The interface's speed in Mbit/s, 0 where it does not say (down, virtual, wireless: -1). */
static uint32_t interface_speed(const char *interface)
{
	char path[64 + FB_TCP_INTERFACE];
	long speed = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", interface);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%ld", &speed) != 1 || speed < 0 || speed > INT32_MAX)
		speed = 0;
	fclose(file);
	return (uint32_t)speed;
}

static uint16_t count_bits(const uint8_t *bytes, size_t n)
{
	int count = 0;

	for (size_t i = 0; i < n; i++)
		count += __builtin_popcount(bytes[i]);
	return (uint16_t)count;
}

/* Bytes of an address of this family. */
static size_t address_bytes(int family)
{
	return family == AF_INET ? 4 : 16;
}

/*
 * Copies the address out of a socket address. Only as memory: the structures of the families
 * are not the storage's type.
 */
static void read_bytes(const void *from, int family, uint8_t bytes[16])
{
	size_t at = family == AF_INET ? offsetof(struct sockaddr_in, sin_addr)
				      : offsetof(struct sockaddr_in6, sin6_addr);

	memset(bytes, 0, 16);
	memcpy(bytes, (const char *)from + at, address_bytes(family));
}

static bool is_link_local(const struct fb_tcp_address *a)
{
	if (a->family == AF_INET)
		return a->bytes[0] == 169 && a->bytes[1] == 254;
	return a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

static bool is_loopback(const struct fb_tcp_address *a)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	return a->family == AF_INET ? a->bytes[0] == 127 : !memcmp(a->bytes, loopback6, 16);
}

/* Whether the first `bits` bits of both are the same. */
static bool same_bits(const struct fb_tcp_address *a, const struct fb_tcp_address *b,
		      unsigned bits)
{
	size_t whole = bits / 8u;
	unsigned rest = bits % 8u;

	if (a->family != b->family || memcmp(a->bytes, b->bytes, whole) != 0)
		return false;
	return !rest || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0;
}

bool fb_tcp_parse_subnet(const char *text, struct fb_tcp_address *subnet)
{
	const char *slash = strchr(text, '/');
	char address[FB_TCP_TEXT], *end;
	long prefix;

	memset(subnet, 0, sizeof(*subnet));
	if (!slash || (size_t)(slash - text) >= sizeof(address) || !isdigit((uint8_t)slash[1]))
		return false;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	subnet->family = strchr(address, ':') ? AF_INET6 : AF_INET;
	prefix = strtol(slash + 1, &end, 10);
	if (*end || prefix > (long)address_bytes(subnet->family) * 8)
		return false;
	subnet->prefix = (uint16_t)prefix;
	return inet_pton(subnet->family, address, subnet->bytes) == 1;
}

/* Whether the user's choice, a name or a subnet, includes the address. */
static bool is_wanted(const struct fb_tcp_address *a, const char *interface)
{
	struct fb_tcp_address subnet;

	if (!interface || !strcmp(interface, "auto"))
		return true;
	if (fb_tcp_parse_subnet(interface, &subnet))
		return same_bits(a, &subnet, subnet.prefix);
	return !strcmp(interface, a->interface);
}

/* Whether peers may connect to the interface's address; if so, fills *a. */
static bool take_address(const struct ifaddrs *i, const char *interface, struct fb_tcp_address *a)
{
	uint8_t mask[16];
	int family;

	if (!i->ifa_addr || !i->ifa_netmask || (i->ifa_flags & IFF_LOOPBACK) ||
	    (i->ifa_flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING))
		return false;
	family = i->ifa_addr->sa_family;
	if (family != AF_INET && family != AF_INET6)
		return false;
	memset(a, 0, sizeof(*a));
	snprintf(a->interface, sizeof(a->interface), "%s", i->ifa_name);
	a->family = (uint16_t)family;
	read_bytes(i->ifa_addr, family, a->bytes);
	read_bytes(i->ifa_netmask, family, mask);
	a->prefix = count_bits(mask, address_bytes(family));
	if (is_link_local(a) || is_loopback(a) || !is_wanted(a, interface))
		return false;
	a->speed_Mbps = interface_speed(a->interface);
	return true;
}

/* Inserts the address by speed, behind equally fast ones; the slowest of too many is dropped. */
static void insert_address(struct fb_tcp_identity *own, const struct fb_tcp_address *a)
{
	uint32_t at = own->naddresses;

	while (at > 0 && own->addresses[at - 1].speed_Mbps < a->speed_Mbps)
		at--;
	if (at == FB_TCP_ADDRESSES)
		return;
	if (own->naddresses < FB_TCP_ADDRESSES)
		own->naddresses++;
	memmove(&own->addresses[at + 1], &own->addresses[at],
		(own->naddresses - at - 1) * sizeof(*a));
	own->addresses[at] = *a;
}

int fb_tcp_identify(struct fb_tcp_identity *own, const char *host, const char *interface)
{
	struct ifaddrs *list;
	struct stat st;
	FILE *file;

	memset(own, 0, sizeof(*own));
	snprintf(own->host, sizeof(own->host), "%s", host);
	file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file) {
		if (fscanf(file, "%39s", own->boot) != 1)
			own->boot[0] = '\0';
		fclose(file);
	}
	if (!stat("/proc/self/ns/net", &st))
		own->netns = st.st_ino;
	if (getifaddrs(&list))
		return fb_error(FB_ESYS, "tcp: cannot list the network interfaces of %s: %s",
				host, strerror(errno));
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		struct fb_tcp_address a;

		if (take_address(i, interface, &a))
			insert_address(own, &a);
	}
	freeifaddrs(list);
	return FB_OK;
}

static bool same_address(const struct fb_tcp_address *a, const struct fb_tcp_address *b)
{
	return a->family == b->family && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static bool same_subnet(const struct fb_tcp_address *a, const struct fb_tcp_address *b)
{
	return a->prefix == b->prefix && same_bits(a, b, a->prefix);
}

bool fb_tcp_same_stack(const struct fb_tcp_identity *a, const struct fb_tcp_identity *b)
{
	return a->boot[0] && a->netns && a->netns == b->netns && !strcmp(a->boot, b->boot);
}

/* Whether the peer's address `to` may be reached, and over which interface best. */
static bool find_route(const struct fb_tcp_identity *own, const struct fb_tcp_address *to,
		       struct fb_tcp_candidate *way)
{
	const struct fb_tcp_address *best = NULL;
	bool shared = false;

	for (uint32_t i = 0; i < own->naddresses; i++) {
		const struct fb_tcp_address *from = &own->addresses[i];

		if (same_address(from, to))
			return false;
		if (from->family != to->family)
			continue;
		/* Addresses are sorted by speed, so the first that fits is the fastest. */
		if (!best || (!shared && same_subnet(from, to)))
			best = from;
		shared = shared || same_subnet(from, to);
	}
	if (!best)
		return false;
	way->address = *to;
	way->class = shared ? FB_TCP_SUBNET : FB_TCP_ROUTED;
	memcpy(way->address.interface, best->interface, sizeof(best->interface));
	if (best->speed_Mbps < to->speed_Mbps)
		way->address.speed_Mbps = best->speed_Mbps;
	return true;
}

static bool better(const struct fb_tcp_candidate *a, const struct fb_tcp_candidate *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->address.speed_Mbps != b->address.speed_Mbps)
		return a->address.speed_Mbps > b->address.speed_Mbps;
	return a->address.family == AF_INET && b->address.family != AF_INET;
}

int fb_tcp_candidates(const struct fb_tcp_identity *own, const struct fb_tcp_identity *peer,
		      struct fb_tcp_candidate list[FB_TCP_CANDIDATES])
{
	static const struct fb_tcp_candidate loopback = {
		.address = {.interface = "lo", .family = AF_INET, .bytes = {127, 0, 0, 1}},
		.class = FB_TCP_LOOPBACK,
	};
	int n = 0;

	if (fb_tcp_same_stack(own, peer))
		list[n++] = loopback;
	for (uint32_t i = 0; i < peer->naddresses && i < FB_TCP_ADDRESSES; i++) {
		struct fb_tcp_candidate way;
		int at = n;

		if (!find_route(own, &peer->addresses[i], &way))
			continue;
		for (; at > 0 && better(&way, &list[at - 1]); at--)
			list[at] = list[at - 1];
		list[at] = way;
		n++;
	}
	return n;
}

void fb_tcp_address_text(const struct fb_tcp_address *address, char text[FB_TCP_TEXT])
{
	if (!inet_ntop(address->family, address->bytes, text, FB_TCP_TEXT))
		snprintf(text, FB_TCP_TEXT, "?");
}

socklen_t fb_tcp_sockaddr(const struct fb_tcp_address *address, uint32_t port,
			  struct sockaddr_storage *to)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

	memset(to, 0, sizeof(*to));
	if (address->family == AF_INET) {
		memcpy(&v4.sin_addr, address->bytes, sizeof(v4.sin_addr));
		memcpy(to, &v4, sizeof(v4));
		return sizeof(v4);
	}
	memcpy(&v6.sin6_addr, address->bytes, sizeof(v6.sin6_addr));
	memcpy(to, &v6, sizeof(v6));
	return sizeof(v6);
}

void fb_tcp_from_sockaddr(const struct sockaddr_storage *from, struct fb_tcp_address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t bytes[16];

	memset(address, 0, sizeof(*address));
	address->family = from->ss_family;
	read_bytes(from, from->ss_family, bytes);
	if (from->ss_family == AF_INET6 && !memcmp(bytes, mapped, sizeof(mapped))) {
		address->family = AF_INET;
		memcpy(address->bytes, bytes + sizeof(mapped), 4);
		return;
	}
	memcpy(address->bytes, bytes, sizeof(bytes));
}

const char *fb_tcp_interface_of(const struct fb_tcp_identity *own,
				const struct fb_tcp_address *address)
{
	if (is_loopback(address))
		return "lo";
	for (uint32_t i = 0; i < own->naddresses; i++)
		if (same_address(&own->addresses[i], address))
			return own->addresses[i].interface;
	return "?";
}
