/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the tool topology. */
#ifndef FB_SCRIPTS_TOOLS_TOPOLOGY_TOPOLOGY_H
#define FB_SCRIPTS_TOOLS_TOPOLOGY_TOPOLOGY_H

/*
 * Prints the contents of a file that NCCL writes for NCCL_TOPO_DUMP_FILE (processors, PCIe slots,
 * GPUs, NVLinks and network devices with their speeds) or NCCL_GRAPH_DUMP_FILE (the channels of
 * rings and trees). Returns 0 or FB_EINPUT (not there, or no such file; printed).
 */
int fb_topology_nccl(const char *path);

#endif
