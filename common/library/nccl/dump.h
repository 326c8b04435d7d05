/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's view of the machine, kept beside the results: the first communicator writes
 * nccl-topology.xml and nccl-graph.xml, which the tool topology reads.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_DUMP_H
#define FB_COMMON_LIBRARY_NCCL_DUMP_H

#include "common/system/group.h"

/*
 * Local: where to, in a launch of so many ranks; by all of them, before their first communicator.
 * Nothing is written where the user has set NCCL_TOPO_DUMP_FILE or NCCL_GRAPH_DUMP_FILE, as NCCL
 * then writes these.
 */
void fb_nccl_dump_to(const char *folder, int nranks);

/*
 * Around the making of a communicator of the group, by the process's one thread and until the call
 * has made it; to begin is collective. They set and unset NCCL's variables for the first one of
 * all ranks, so that neither the times of others nor the recorded environment change. All ranks do
 * so, though only one writes: where NCCL_TOPO_DUMP_FILE is set, NCCL (2.28) exchanges topologies
 * once more, and waits for ever for a rank that does not.
 */
void fb_nccl_dump_begin(const struct fb_group *group);
void fb_nccl_dump_end(void);

#endif
