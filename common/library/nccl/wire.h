/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of NCCL's bytes, read from its log (NCCL_DEBUG=INFO; subsystems INIT, BOOTSTRAP, ENV,
 * GRAPH, P2P, SHM, NET).
 *
 * A rank logs a line for each connection that it sends on, when an algorithm is first used, and its
 * network interfaces once in a process. So facts about a communicator are collected call by call.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_WIRE_H
#define FB_COMMON_LIBRARY_NCCL_WIRE_H

#include <stdbool.h>

struct fb_session;

/*
 * What NCCL logs once in a process, or for the process's first communicator. Empty texts: not
 * logged.
 */
struct fb_nccl_setup {
	char network[32];    /* "IB", "Socket" or a plugin's name */
	char devices[768];   /* with their numbers: "[0]mlx5_0:1/RoCE [RO]"; 16 adapters, merged */
	char bootstrap[96];  /* interface of the bootstrap: "eth0:10.0.0.1<0>" */
	char channels[128];  /* "24 coll, 24 collnet, 16 nvls, 32 p2p, 2 p2p per peer" */
	char ring[256];      /* of channel 0, in its order: "0 1 2 3" */
	char graph[128];     /* the search for rings: "crossNic 0, nChannels 12, bw ..." */
	char tree[48];       /* of channel 0: children->this rank->parent, -1: none */
	char multicast[96];  /* "available on dev 0 (NVLS_NCHANNELS 16)" */
	char collnet[64];    /* the plugin, as SHARP's */
	char data_direct[96]; /* adapters with a DMA function of their own beside the GPU (2.27) */
	char rma[96]; /* why a transport for one-sided calls was refused (2.32): "Socket : ..." */
	char settings[2048]; /* NCCL's variables that were set: "NCCL_IB_HCA=mlx5_0;..." */
	bool settings_cut;   /* there were more */
};

/* Plain data, to be broadcast as bytes. Empty texts: not logged. */
struct fb_nccl_wire {
	struct fb_nccl_setup setup;
	char via[320];     /* "P2P/CUMEM", "SHM/direct", "NET/IB/mlx5_0:1/GDRDMA"; each once */
	int warnings;      /* lines of level WARN, and lines that report a slower path */
	char warning[128]; /* the first one */
};

/* Adds the log's contents to *wire. Pure. */
void fb_nccl_wire_parse(const char *log, struct fb_nccl_wire *wire);

/*
 * Local: adds the setup to the facts of the launch, such as "nccl.ring", and this version's (22809)
 * defaults of the variables that were not set; see defaults.h.
 */
void fb_nccl_wire_facts(const struct fb_session *session, int version,
			const struct fb_nccl_setup *setup);

#endif
