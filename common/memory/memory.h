/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory the buffers may take, and whether huge pages exist for them.
 *
 * Shared memory is promised freely and taken away by the kernel's out-of-memory killer, so a
 * size that cannot work has to be refused beforehand.
 */
#ifndef FB_COMMON_MEMORY_MEMORY_H
#define FB_COMMON_MEMORY_MEMORY_H

#include <stdint.h>

#include "common/system/group.h"

/*
 * Collective. *limit: bytes that each rank may have of its host's memory, where three quarters
 * of it are for buffers, in the poorest host; *huge_pages: whether every host gives them for
 * shared memory that asks. The same on all ranks.
 */
void fb_memory_survey(const struct fb_group *world, uint64_t *limit, bool *huge_pages);

#endif
