/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast objects of NVLink switches: one address at which a GPU's kernels access the memory of
 * all ranks of a group at once, by special instructions (multimem). Not run on hardware.
 *
 * Only cuda_multicast.c calls the driver for them. It refuses unless --multicast allow was given
 * and no environment variable forbids multicast (common/system/multicast.h).
 */
#ifndef FB_COMMON_CUDA_GPU_MULTICAST_H
#define FB_COMMON_CUDA_GPU_MULTICAST_H

#include "common/cuda/gpu_segment.h"

struct fb_gpu_multicast; /* opaque */

/*
 * Collective over the GPU's group: whether its ranks can have such objects, as far as this is known
 * without making one. 0, or FB_EUNSUPPORTED with the reason of the first rank that refuses; the
 * same on all ranks.
 */
int fb_gpu_multicast_can(const struct fb_gpu *gpu, char reason[FB_REASON_CHARS]);

/*
 * Collective: an object for the ranks' parts of a segment of FB_GPU_VMM or FB_GPU_FABRIC, after
 * fb_gpu_multicast_can(). The segment must outlive it. 0, or FB_EUNSUPPORTED (printed by rank 0) if
 * the driver refused it on any rank, the same on all ranks; then nothing is left of it.
 */
int fb_gpu_multicast_open(struct fb_gpu_multicast **multicast, const struct fb_gpu *gpu,
			  const struct fb_segment *segment, enum fb_gpu_memory memory);

/* The address at which the ranks' parts begin. Only multimem instructions may use it. */
uint64_t fb_gpu_multicast_address(const struct fb_gpu_multicast *multicast);

/* Local, after the last use by any rank and a barrier. NULL is fine. */
void fb_gpu_multicast_close(struct fb_gpu_multicast *multicast);

#endif
