/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a rank waits for small messages. The second-level cache of a large GPU has two halves, and
 * a page of 4 KiB has its home in one of them, by a hash of physical addresses that is not
 * documented. A look from a multiprocessor beside the other half takes some 100 cycles longer, so a
 * ping-pong would take 0.06 us more or less on either side, by chance (H200). Each rank therefore
 * looks at all pages that it could wait at, and takes the nearest.
 */
#ifndef FB_P2P_ENGINE_CUDA_CUDA_NEAR_H
#define FB_P2P_ENGINE_CUDA_CUDA_NEAR_H

#include <stdint.h>

#include "common/memory/segment.h"
#include "common/system/group.h"

/*
 * Collective, while no kernel uses the links, whose bytes are zero and stay so: near[r], for each
 * rank r, becomes the offset in its part of the page that the multiprocessor of a kernel's first
 * block sees soonest. Returns FB_OK, or what a failed CUDA call is (printed), on all ranks.
 */
int fb_p2p_find_near(const struct fb_segment *links, const struct fb_group *world,
		     uint32_t near[]);

#endif
