/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What carries NCCL's bytes, read from its log (NCCL_DEBUG=INFO; subsystems INIT, P2P, SHM, NET).
 *
 * A rank writes a line for each connection it sends on, when an algorithm is first used; which
 * interfaces there are it writes once in a process. So what is known of a communicator adds up.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_WIRE_H
#define FB_COMMON_LIBRARY_NCCL_WIRE_H

/* Plain data, to be broadcast as bytes. Empty texts: not told. */
struct fb_nccl_wire {
	char network[32];  /* of the process: "IB", "Socket" or a plugin's name */
	char devices[256]; /* of the process, with their numbers: "[0]mlx5_0:1/RoCE [RO]" */
	char via[128];     /* "P2P/CUMEM", "SHM/direct", "NET/IB/mlx5_0/GDRDMA"; each once */
	int warnings;      /* lines of level WARN, and those that tell of a slower way */
	char warning[128]; /* the first one */
};

/* Adds what the log tells to *wire. Pure. */
void fb_nccl_wire_parse(const char *log, struct fb_nccl_wire *wire);

#endif
