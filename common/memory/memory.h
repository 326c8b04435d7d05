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
 * Collective. *limit: bytes that each rank may have of its host's memory, where three quarters
 * of it are for buffers, in the poorest host; *huge_pages: whether every host gives them for
 * shared memory that asks. The same on all ranks.
 */
void fb_memory_survey(const struct fb_group *world, uint64_t *limit, bool *huge_pages);

#endif
