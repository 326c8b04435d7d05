/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What engine cuda launches: plain data, for C and for CUDA. Addresses are numbers.
 *
 * Counters and flags are never reset within a request. The value that a block waits for follows
 * from the number of calls that it has made (its epoch). The block keeps the epoch in device
 * memory. So a launch has no arguments that change, and can be captured and replayed.
 */
#ifndef FB_P2P_ENGINE_CUDA_LAUNCH_H
#define FB_P2P_ENGINE_CUDA_LAUNCH_H

#include <stdint.h>

enum {
	FB_P2P_MOST_FLOWS = 32,
	FB_P2P_MOST_BLOCKS = 256,
	FB_P2P_MOST_THREADS = 640,
	FB_P2P_TIMES = 1024,         /* calls of which the device's clock is kept */
	FB_P2P_LL_BYTES = 64 << 10,  /* longest message of protocol ll */
	FB_P2P_PAGE = 4 << 10,       /* all its bytes are equally far from a multiprocessor */
	FB_P2P_NEAR_PAGES = 32,      /* a rank waits at the nearest of these */
};

/* Which threads move a message together. */
enum fb_p2p_team {
	FB_P2P_WARP,
	FB_P2P_BLOCK,
	FB_P2P_GRID,
};

/* Source and destination of a flow's messages; message k is at k % regions * stride of both. */
struct fb_p2p_way {
	uint64_t from, to;
	uint64_t counters; /* at the receiver, one of 8 bytes for each block; 0: nobody waits */
};

/* A window of messages of each of several flows, out and in. */
struct fb_p2p_window {
	struct fb_p2p_way out[FB_P2P_MOST_FLOWS]; /* [nout] */
	uint64_t in[FB_P2P_MOST_FLOWS];           /* [nin]: own counters of flows that come in */
	uint64_t bytes, stride;
	uint64_t epochs;    /* [blocks] in own memory: calls made */
	uint32_t nout, nin, window, regions;
	uint32_t in_blocks; /* blocks of the sender that move each incoming flow */
	uint32_t team;      /* enum fb_p2p_team */
};

/* Messages back and forth: `rounds` round trips in a launch. */
struct fb_p2p_ping_pong {
	uint64_t from;         /* own message */
	uint64_t to;           /* direct: where the peer gets it */
	uint64_t landed;       /* ll: where a message that has arrived is copied to */
	uint64_t out, in;      /* direct: counters as above; ll: lines, the peer's and own */
	uint64_t bytes;
	uint64_t epochs;       /* [blocks] in own memory: calls made */
	uint64_t times;        /* [FB_P2P_TIMES] in own memory: ns of all rounds but the first */
	uint32_t rounds, first; /* first: this rank begins */
};

/* How long looks at each of some pages take. */
struct fb_p2p_near {
	uint64_t pages;  /* FB_P2P_NEAR_PAGES of zeros in own memory */
	uint64_t cycles; /* [FB_P2P_NEAR_PAGES] in own memory: the answer */
};

#endif
