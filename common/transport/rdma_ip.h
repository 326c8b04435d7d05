/* SPDX-License-Identifier: BSD-3-Clause */
/* The IP address of a rail, by which the connection manager connects. */
#ifndef FB_COMMON_TRANSPORT_RDMA_IP_H
#define FB_COMMON_TRANSPORT_RDMA_IP_H

#include <netinet/in.h>

#include "common/transport/rdma_device.h"

#if FB_HAVE_VERBS

union fb_rdma_ip {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/*
 * Local. The IP address that the rail's GID stands for; for an InfiniBand port, whose GID is no IP
 * address, that of its IPoIB interface. The port in *ip is 0. FB_OK, or FB_EUNSUPPORTED (not
 * printed) where there is no address or only a link-local one.
 */
int fb_rdma_rail_ip(const struct fb_rdma_rail *rail, union fb_rdma_ip *ip);

#endif
#endif
