/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments in NVSHMEM's symmetric memory, at the same offset in every rank's symmetric heap. */
#ifndef FB_COMMON_CUDA_SYMMETRIC_H
#define FB_COMMON_CUDA_SYMMETRIC_H

#include "common/library/nvshmem.h"
#include "common/memory/segment.h"

/*
 * Collective over `group`, which has all ranks of the job: a zeroed part of at least `part_bytes`
 * bytes (the largest any rank asks for) per rank; each rank sees its own part only. 0, or FB_ENOMEM
 * or FB_ESYS (printed), the same on all ranks. Its fb_segment_close is collective, and has to come
 * before the session is closed.
 */
int fb_symmetric_open(struct fb_segment *segment, const struct fb_nvshmem *nvshmem,
		      const struct fb_group *group, size_t part_bytes);

#endif
