/* SPDX-License-Identifier: BSD-3-Clause */
/* The IP address of a rail; see rdma_ip.h. */
#include "common/transport/rdma_ip.h"

#if FB_HAVE_VERBS

#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"

/* Whether the network interface belongs to the rail's device and port. */
static bool belongs(const struct fb_rdma_rail *rail, const char *interface)
{
	char path[256], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net/%s/dev_port", rail->name,
		 interface);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return text[0] && atoi(text) + 1 == rail->number;
}

static int interface_ip(const struct fb_rdma_rail *rail, union fb_rdma_ip *ip)
{
	struct ifaddrs *all = NULL;
	int err = FB_EUNSUPPORTED;

	if (getifaddrs(&all))
		return err;
	for (const struct ifaddrs *a = all; a && err; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET ||
		    !belongs(rail, a->ifa_name))
			continue;
		memcpy(&ip->v4, a->ifa_addr, sizeof(ip->v4));
		ip->v4.sin_port = 0;
		err = FB_OK;
	}
	freeifaddrs(all);
	return err;
}

int fb_rdma_rail_ip(const struct fb_rdma_rail *rail, union fb_rdma_ip *ip)
{
	char text[FB_RDMA_GID_TEXT];

	memset(ip, 0, sizeof(*ip));
	if (!rail->ethernet)
		return interface_ip(rail, ip);
	/* IPv6 addresses have ':' in their text. */
	if (!strchr(fb_rdma_gid_text(rail->gid, text), ':')) {
		ip->v4.sin_family = AF_INET;
		memcpy(&ip->v4.sin_addr, rail->gid + 12, sizeof(ip->v4.sin_addr));
		return FB_OK;
	}
	ip->v6.sin6_family = AF_INET6;
	memcpy(&ip->v6.sin6_addr, rail->gid, sizeof(ip->v6.sin6_addr));
	return IN6_IS_ADDR_LINKLOCAL(&ip->v6.sin6_addr) ? FB_EUNSUPPORTED : FB_OK;
}

#endif
