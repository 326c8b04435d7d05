/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small block of memory shared by the ranks of one host, for the harness itself (barrier and
 * watchdog).
 *
 * A file in memory (node_file.h) and not an MPI window: it does not depend on MPI being in
 * order, so the watchdog can read it while MPI hangs.
 */
#ifndef FB_COMMON_SYSTEM_NODE_MEMORY_H
#define FB_COMMON_SYSTEM_NODE_MEMORY_H

#include "common/system/group.h"

#include <stddef.h>

struct fb_node_memory {
	void *base; /* zeroed when fresh; page aligned */
	size_t bytes;
};

/*
 * Collective over the world; each host (rank order of node_comm) gets a block of its own, all
 * of `bytes` bytes, which are there when it returns. Returns the same value on all ranks: FB_OK,
 * or FB_ESYS (printed by the rank that failed) with *memory untouched.
 */
int fb_node_memory_open(struct fb_node_memory *memory, const struct fb_group *world, size_t bytes);

/* Local. Safe on a zeroed structure. */
void fb_node_memory_close(struct fb_node_memory *memory);

#endif
