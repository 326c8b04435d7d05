/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rail and which address to take; see rdma_choice.h. */
#include "common/transport/rdma_choice.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/option/option.h"

static const char automatic[] = "auto";

static bool parse_rail(char *item, struct fb_rdma_rail_name *rail)
{
	char *colon = strchr(item, ':'), *end;
	long port = 0;

	if (colon) {
		*colon = '\0';
		port = strtol(colon + 1, &end, 10);
		if (!colon[1] || *end || port < 1 || port > 254)
			return false;
	}
	if (!*item || strlen(item) >= FB_RDMA_NAME || !strcmp(item, automatic))
		return false;
	memset(rail, 0, sizeof(*rail));
	memcpy(rail->device, item, strlen(item));
	rail->port = (int)port;
	return true;
}

int fb_rdma_parse_rails(const char *list, struct fb_rdma_rail_name rails[FB_RDMA_RAILS])
{
	char item[FB_RDMA_NAME + 8];
	int n = 0, more;

	while ((more = fb_option_next_item(&list, item, sizeof(item))) > 0) {
		if (n == FB_RDMA_RAILS || !parse_rail(item, &rails[n]))
			return FB_EINPUT;
		for (int i = 0; i < n; i++)
			if (!strcmp(rails[i].device, rails[n].device) &&
			    rails[i].port == rails[n].port)
				return FB_EINPUT;
		n++;
	}
	return more < 0 || !n ? FB_EINPUT : n;
}

int fb_rdma_parse_auto(const char *value)
{
	size_t length = strlen(automatic);
	char *end;
	long n;

	if (strncmp(value, automatic, length) || (value[length] && value[length] != ':'))
		return 0;
	if (!value[length])
		return 1;
	value += length + 1;
	if (!strcmp(value, "all"))
		return FB_RDMA_RAILS;
	n = strtol(value, &end, 10);
	return *value < '1' || *value > '9' || *end || n > FB_RDMA_RAILS ? FB_EINPUT : (int)n;
}

static bool is_ipv4(const uint8_t raw[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(raw, mapped, sizeof(mapped));
}

static bool is_link_local(const uint8_t raw[16])
{
	return raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
}

bool fb_rdma_gid_empty(const uint8_t raw[16])
{
	static const uint8_t none[16];

	/* A port without a subnet manager has the prefix alone, without an interface. */
	return !memcmp(raw, none, 16) || (is_link_local(raw) && !memcmp(raw + 8, none, 8));
}

/* Lower is better. */
static int rank_of(const struct fb_rdma_gid *gid)
{
	int scope = is_ipv4(gid->raw) ? 0 : is_link_local(gid->raw) ? 2 : 1;

	return (gid->type == FB_RDMA_GID_ROCE_V1 ? 100 : 0) + scope * 10 + gid->vlan;
}

const struct fb_rdma_gid *fb_rdma_choose_gid(const struct fb_rdma_gid *table, int n)
{
	const struct fb_rdma_gid *best = NULL;

	for (int i = 0; i < n; i++) {
		const struct fb_rdma_gid *gid = &table[i];

		if (fb_rdma_gid_empty(gid->raw))
			continue;
		if (!best || rank_of(gid) < rank_of(best) ||
		    (rank_of(gid) == rank_of(best) && gid->index < best->index))
			best = gid;
	}
	return best;
}

int fb_rdma_choose_pkey(const uint16_t own[FB_RDMA_PKEYS], const uint16_t peer[FB_RDMA_PKEYS])
{
	int best = -1;
	long least = LONG_MAX;

	for (int k = 0; k < FB_RDMA_PKEYS * FB_RDMA_PKEYS; k++) {
		int i = k / FB_RDMA_PKEYS, j = k % FB_RDMA_PKEYS;
		long partition = own[i] & FB_RDMA_PARTITION;
		bool full = own[i] & peer[j] & FB_RDMA_FULL_MEMBER;
		bool any = (own[i] | peer[j]) & FB_RDMA_FULL_MEMBER;
		long rank = (long)!full << 24 | (long)(i + j) << 16 | partition;

		if (partition && partition == (peer[j] & FB_RDMA_PARTITION) && any &&
		    rank < least) {
			least = rank;
			best = i;
		}
	}
	return best;
}

const char *fb_rdma_pkeys_text(const uint16_t keys[FB_RDMA_PKEYS], char *text, size_t n)
{
	size_t used = 0;

	snprintf(text, n, "none");
	for (int i = 0; i < FB_RDMA_PKEYS && used < n; i++)
		if (keys[i] & FB_RDMA_PARTITION)
			used += (size_t)snprintf(text + used, n - used, "%s0x%04x",
						 used ? ", " : "", (unsigned)keys[i]);
	return text;
}

void fb_rdma_gid_kind(const struct fb_rdma_gid *gid, char *text, size_t n)
{
	static const char *const types[] = {"InfiniBand", "RoCE v1", "RoCE v2"};

	snprintf(text, n, "%s, %s%s", types[gid->type],
		 is_ipv4(gid->raw) ? "IPv4" : is_link_local(gid->raw) ? "link-local" : "IPv6",
		 gid->vlan ? ", VLAN" : "");
}

const char *fb_rdma_gid_text(const uint8_t raw[16], char text[FB_RDMA_GID_TEXT])
{
	bool v4 = is_ipv4(raw);

	if (!inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? raw + 12 : raw, text, FB_RDMA_GID_TEXT))
		text[0] = '\0';
	return text;
}

long fb_rdma_port_rate(unsigned width, unsigned speed)
{
	static const struct {
		unsigned code;
		long value;
	} lanes[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}},
	  rates[] = {{1, 2000},    {2, 4000},    {4, 8000},     {8, 10000},   {16, 13636},
		     {32, 25000}, {64, 50000}, {128, 100000}, {256, 200000}};
	long lane = 0, rate = 0;

	for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
		if (lanes[i].code == width)
			lane = lanes[i].value;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (rates[i].code == speed)
			rate = rates[i].value;
	return lane * rate;
}

const struct fb_rdma_port_offer *fb_rdma_choose_port(const struct fb_rdma_port_offer *ports, int n)
{
	const struct fb_rdma_port_offer *best = NULL;

	for (int i = 0; i < n; i++)
		if (ports[i].active && (!best || ports[i].rate > best->rate))
			best = &ports[i];
	return best;
}

/* Faster, or as fast and nearer. */
static bool is_better(const struct fb_rdma_rail_offer *a, const struct fb_rdma_rail_offer *b)
{
	return a->rate > b->rate || (a->rate == b->rate && a->nearness > b->nearness);
}

int fb_rdma_choose_nearest(const struct fb_rdma_rail_offer *offers, int n, int *taken)
{
	const struct fb_rdma_rail_offer *best = offers;
	int count = 0;

	for (int i = 1; i < n; i++)
		if (is_better(&offers[i], best))
			best = &offers[i];
	for (int i = 0; i < n; i++)
		if (!is_better(best, &offers[i]) && offers[i].ethernet == best->ethernet)
			taken[count++] = i;
	return count;
}

void fb_rdma_stripe(size_t bytes, int rail, int n, size_t *first, size_t *part)
{
	size_t lines = (bytes + 63) / 64;
	size_t from = lines * (size_t)rail / (size_t)n * 64;
	size_t to = lines * ((size_t)rail + 1) / (size_t)n * 64;

	from = from < bytes ? from : bytes;
	to = to < bytes ? to : bytes;
	*first = from;
	*part = to - from;
}
