/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the page at which a rank waits for small messages. The second-level cache of a large GPU
 * has two halves. A hash of the physical address, which is not documented, decides in which half a
 * page of 4 KiB is cached. A load by a multiprocessor that is near the other half takes some 100
 * cycles longer. So the time of a ping-pong would vary by 0.06 us on either side by chance (H200).
 * Therefore each rank measures all pages at which it could wait, and takes the nearest.
 */
#ifndef FB_P2P_ENGINE_CUDA_CUDA_NEAR_H
#define FB_P2P_ENGINE_CUDA_CUDA_NEAR_H

#include <stdint.h>

#include "common/memory/segment.h"
#include "common/system/group.h"

/*
 * Collective. Sets near[r], for each rank r, to the offset in that rank's part of the links of the
 * page that the multiprocessor of a kernel's first block loads fastest. No kernel may use the links
 * meanwhile; their bytes are zero before and after. Returns FB_OK, or the error of a failed CUDA
 * call (printed), on all ranks.
 */
int fb_p2p_find_near(const struct fb_segment *links, const struct fb_group *world,
		     uint32_t near[]);

#endif
