/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes from a job what engine cuda launches on a rank: blocks, flows, and addresses. Pure and
 * without CUDA, so that tests run it with the emulator.
 *
 * The links are memory in which ranks signal each other. A rank's part holds: the number of calls
 * that each of its blocks has made, times by the device's clock, counters of the flows that it
 * receives, the lines into which messages of protocol ll arrive, and pages of which it chooses the
 * nearest to wait at in ping_pong (cuda_near.h).
 */
#ifndef FB_P2P_ENGINE_CUDA_BUILD_H
#define FB_P2P_ENGINE_CUDA_BUILD_H

#include "p2p/engine/cuda/launch.h"
#include "p2p/job.h"

enum {
	FB_P2P_LINKS_EPOCHS = 0,
	FB_P2P_LINKS_TIMES = 4 << 10,
	FB_P2P_LINKS_COUNTERS = 16 << 10, /* 8 bytes for each block, one flow after the other */
	FB_P2P_LINKS_LINES = 256 << 10,
	FB_P2P_LINKS_NEAR = 384 << 10,    /* pages; the nearest is used in place of both above */
	FB_P2P_LINKS_BYTES = 512 << 10,
};

/* What is launched, the same on all ranks but for `blocks`. */
struct fb_p2p_shape {
	uint32_t movers;  /* blocks that a message, or a window of them, is moved by */
	uint32_t threads; /* of a block */
	uint32_t blocks;  /* of this rank's launch: movers, or 1 where it only waits */
};

/* What options demand (0: no option), and the multiprocessors of the GPU that has fewest. */
struct fb_p2p_limits {
	uint64_t channels, threads;
	int sms;
};

/* A job as a rank sees it. */
struct fb_p2p_view {
	const struct fb_job *job;
	const struct fb_segment *links; /* FB_P2P_LINKS_BYTES of each rank's part */
	int rank;
	bool ll; /* protocol ll, in ping_pong */
	const uint32_t *near; /* [nranks]: offset of the nearest page in the links, or NULL */
};

void fb_p2p_choose_shape(const struct fb_p2p_view *view, const struct fb_p2p_limits *limits,
			 struct fb_p2p_shape *shape);

/* All patterns but ping_pong. shape->blocks becomes 1 where the rank moves nothing. */
void fb_p2p_build_window(const struct fb_p2p_view *view, struct fb_p2p_shape *shape,
			 struct fb_p2p_window *window);

/* For the two ranks that have a part in it. */
void fb_p2p_build_ping_pong(const struct fb_p2p_view *view, struct fb_p2p_ping_pong *launch);

#endif
