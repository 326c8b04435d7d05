/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The highest rate of single links, by the facts of nodes: NVLink by the number and speed of a
 * GPU's links or by its model, NVLink-C2C likewise, PCIe by lanes and generation, RDMA ports and
 * interfaces by their rate. Protocols use up a part of these rates, so 75% to 95% of them is good.
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
 * Finds the link that a row's bytes passed, by its columns path and transport, and its rate. For
 * NVLink only the links to a single peer count; if peers have different rates, the least counts.
 */
void fb_link_of(const struct fb_node_facts *facts, const char *path, const char *transport,
		struct fb_link *link);

/* GB/s in each direction of all NVLinks of a GPU ("0000:1b:00.0"); NAN: not known or none. */
double fb_link_nvlink(const struct fb_node_facts *facts, const char *host, const char *gpu);

/* The same between a GPU and its processor: all NVLink-C2C links, or else the PCIe slot. */
double fb_link_host(const struct fb_node_facts *facts, const char *host, const char *gpu);

/* The same of an RDMA port "mlx5_0:1" (default: port 1), at most the rate of its PCIe slot. */
double fb_link_port(const struct fb_node_facts *facts, const char *host, const char *port);

#endif
