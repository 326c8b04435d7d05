/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments in NVSHMEM's symmetric memory, which every rank has at the same place of its heap. */
#ifndef FB_COMMON_CUDA_SYMMETRIC_H
#define FB_COMMON_CUDA_SYMMETRIC_H

#include "common/library/nvshmem.h"
#include "common/memory/segment.h"

/*
 * Collective over all ranks of the job, whose group is given: a zeroed part of at least
 * `part_bytes` bytes (the largest any rank asks for) per rank; each sees its own part. 0, or
 * FB_ENOMEM or FB_ESYS (printed), the same on all ranks. fb_segment_close of it is collective, and
 * comes before the session is closed.
 */
int fb_symmetric_open(struct fb_segment *segment, const struct fb_nvshmem *nvshmem,
		      const struct fb_group *group, size_t part_bytes);

#endif
