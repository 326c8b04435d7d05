/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits how much memory the buffers may take, and checks that huge pages exist for them.
 *
 * The kernel promises more shared memory than it has, and its out-of-memory killer ends the job
 * when the pages are touched. So sizes that cannot work are refused beforehand.
 */
#ifndef FB_COMMON_MEMORY_MEMORY_H
#define FB_COMMON_MEMORY_MEMORY_H

#include <stdint.h>

#include "common/system/group.h"

/*
 * Collective, the same on all ranks. *limit: bytes for each rank, where a host's ranks share three
 * quarters of its memory, on the host with the least per rank. *huge_pages: whether all hosts give
 * transparent huge pages to shared memory that asks for them.
 */
void fb_memory_survey(const struct fb_group *world, uint64_t *limit, bool *huge_pages);

#endif
