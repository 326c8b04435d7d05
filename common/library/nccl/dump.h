/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL found of the machine, kept beside the results: its first communicator writes
 * nccl-topology.xml and nccl-graph.xml, which the tool topology reads.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_DUMP_H
#define FB_COMMON_LIBRARY_NCCL_DUMP_H

/*
 * Local: where to; by one rank of a launch, before its first communicator. Nothing is written where
 * the user has set NCCL_TOPO_DUMP_FILE or NCCL_GRAPH_DUMP_FILE, as NCCL then writes these.
 */
void fb_nccl_dump_to(const char *folder);

/*
 * Local, around the making of a communicator by the process's one thread. They set and unset NCCL's
 * variables for the first one only, so that neither the times of others nor the recorded
 * environment change.
 */
void fb_nccl_dump_begin(void);
void fb_nccl_dump_end(void);

#endif
