/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The most that single links carry, by the facts of nodes: NVLink by the number and speed of a
 * GPU's links or by its model, NVLink-C2C likewise, PCIe by lanes and generation, RDMA ports and
 * interfaces by their rate. Protocols need a part of these rates of wires: 75% to 95% are good.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_LINKS_H
#define FB_SCRIPTS_TOOLS_LIB_LINKS_H

#include "scripts/tools/doctor/doctor.h"

enum { FB_LINK_CHARS = 96 };

struct fb_link {
	char kind[FB_LINK_CHARS]; /* "NVLink", "PCIe", "rdma mlx5_0:1", "tcp eth0", "shm" */
	double GBps;		  /* in each direction; NAN: not known */
	const char *advice;	  /* what the cause may be where it carries much less; or NULL */
};

/*
 * What a row's bytes passed, by its columns path and transport, and what that carries. Of a GPU's
 * NVLinks these are the ones to a single peer, the least of all peers where these have unlike ones.
 */
void fb_link_of(const struct fb_node_facts *facts, const char *path, const char *transport,
		struct fb_link *link);

/* GB/s in each direction of all NVLinks of a GPU ("0000:1b:00.0"); NAN: not known or none. */
double fb_link_nvlink(const struct fb_node_facts *facts, const char *host, const char *gpu);

/* The same of what joins it to its processor: all NVLink-C2C, or else its PCIe slot. */
double fb_link_host(const struct fb_node_facts *facts, const char *host, const char *gpu);

/* The same of an RDMA port "mlx5_0:1", no more than its PCIe slot; port 1 where none is named. */
double fb_link_port(const struct fb_node_facts *facts, const char *host, const char *port);

#endif
