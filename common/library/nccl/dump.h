/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's view of the machine, kept beside the results: the first communicator writes
 * nccl-topology.xml and nccl-graph.xml, which the tool topology reads.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_DUMP_H
#define FB_COMMON_LIBRARY_NCCL_DUMP_H

#include "common/system/group.h"

/*
 * Local: sets the folder, in a launch of so many ranks. All ranks call it before their first
 * communicator. Nothing is written there if the user has set NCCL_TOPO_DUMP_FILE or
 * NCCL_GRAPH_DUMP_FILE, as NCCL then writes the user's files.
 */
void fb_nccl_dump_to(const char *folder, int nranks);

/*
 * To be called around the making of a communicator of the group, by one thread; begin is
 * collective. They set and unset NCCL's variables for the first communicator of all ranks only, so
 * that neither the times of others nor the recorded environment change. All ranks set them, though
 * only one writes: with NCCL_TOPO_DUMP_FILE NCCL (2.28) exchanges topologies once more, and would
 * wait for ever for a rank without it.
 */
void fb_nccl_dump_begin(const struct fb_group *group);
void fb_nccl_dump_end(void);

#endif
