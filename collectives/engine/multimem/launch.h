/* SPDX-License-Identifier: BSD-3-Clause */
/* What a launch of multimem.cu is told; for C and CUDA. Not run on hardware. */
#ifndef FB_COLLECTIVES_ENGINE_MULTIMEM_LAUNCH_H
#define FB_COLLECTIVES_ENGINE_MULTIMEM_LAUNCH_H

#include <stdint.h>

enum { FB_MULTIMEM_MOST_RANKS = 72, FB_MULTIMEM_MOST_BLOCKS = 64, FB_MULTIMEM_THREADS = 512 };

/* What a kernel does to the ranks' elements. */
enum fb_multimem_kind {
	FB_MULTIMEM_MOVE, /* one rank's bytes; nothing is reduced */
	FB_MULTIMEM_F32_SUM,
	FB_MULTIMEM_F16_SUM,
	FB_MULTIMEM_F16_MIN,
	FB_MULTIMEM_F16_MAX,
	FB_MULTIMEM_BF16_SUM,
	FB_MULTIMEM_BF16_MIN,
	FB_MULTIMEM_BF16_MAX,
	FB_MULTIMEM_KINDS,
};

/*
 * A rank's memory for the barriers, which peers write to: of each block the number of the last
 * barrier that it has come to, by the block itself, and one by each peer.
 */
struct fb_multimem_flags {
	uint64_t own[FB_MULTIMEM_MOST_BLOCKS];
	uint64_t arrived[FB_MULTIMEM_MOST_BLOCKS][FB_MULTIMEM_MOST_RANKS];
};

/*
 * One rank's part of a call: `bytes` bytes, from all ranks by ld_reduce or from this rank's memory,
 * to all ranks by st or to this rank's memory. A broadcast moves none but at the root.
 */
struct fb_multimem_launch {
	uint64_t flags[FB_MULTIMEM_MOST_RANKS]; /* struct fb_multimem_flags of each rank */
	/* Where these bytes are in each rank's memory, or in this rank's alone. */
	uint64_t in[FB_MULTIMEM_MOST_RANKS], out[FB_MULTIMEM_MOST_RANKS];
	uint64_t all_in, all_out; /* multimem addresses of the same; 0: this rank's memory */
	uint64_t bytes;
	uint32_t rank, ranks;
};

#endif
