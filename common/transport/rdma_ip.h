/* SPDX-License-Identifier: BSD-3-Clause */
/* The IP address of a rail, which the connection manager goes by. */
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
 * Local. The address that the rail's own (GID) stands for; of an InfiniBand port, which has no
 * such, that of its IPoIB interface. Port 0. FB_OK, or FB_EUNSUPPORTED (not printed): link-local,
 * or none.
 */
int fb_rdma_rail_ip(const struct fb_rdma_rail *rail, union fb_rdma_ip *ip);

#endif
#endif
