/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file in memory that all ranks of a host map: what memory that they share is made of.
 *
 * It is anonymous, and the other ranks open it as /proc/PID/fd/N of the host's first rank. So
 * neither the size of /dev/shm (64 MiB in many containers) nor a left-over name matters, and
 * nothing is left behind, whenever a rank is killed. Where that path leads elsewhere, as to ranks
 * in process name spaces of their own, the file has a name in /dev/shm until all have opened it.
 */
#ifndef FB_COMMON_SYSTEM_NODE_FILE_H
#define FB_COMMON_SYSTEM_NODE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/system/group.h"

/*
 * Collective over world->node_comm, with the same arguments on all of its ranks: *base is `bytes`
 * bytes (at least one), zeroed, page aligned, shared, to be freed with munmap. `now`: the memory is
 * there on return; else a page comes to be, and belongs to, whoever touches it first. Returns the
 * same value on all ranks of the host: FB_OK, or FB_ESYS (printed by the ranks that failed) with
 * *base untouched; other hosts may do better.
 */
int fb_node_file_map(const struct fb_group *world, size_t bytes, bool now, void **base);

/*
 * The same of huge pages of `page` bytes, of which `bytes` is a multiple. They are reserved on
 * return, and each comes to be when it is touched.
 */
int fb_node_file_map_huge(const struct fb_group *world, size_t bytes, size_t page, void **base);

#endif
