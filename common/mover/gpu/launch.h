/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments of the kernels that move pieces: plain data, for C and for CUDA. Addresses are
 * numbers.
 */
#ifndef FB_COMMON_MOVER_GPU_LAUNCH_H
#define FB_COMMON_MOVER_GPU_LAUNCH_H

#include <stdint.h>

enum {
	FB_MOVE_MOST_WAYS = 32,    /* transfers of a launch, and waits */
	FB_MOVE_MOST_BLOCKS = 256, /* of a launch, and counters of a notice */
	FB_MOVE_THREADS = 512,
	FB_MOVE_CHUNK = 8192,      /* most bytes of a chunk */
	/* Form tma: few warps, each with stages of a chunk; shorter pieces are moved by threads. */
	FB_MOVE_BULK_THREADS = 128,
	FB_MOVE_BULK_LEAST = 1024,
	FB_MOVE_POOL = 4 * 4 * FB_MOVE_CHUNK + 128,
};

/* A piece, or a part of one; cut so that a team of at most a warp moves it. */
struct fb_move_chunk {
	uint64_t from, to, bytes;
};

/* What a launch does for one transfer. */
struct fb_move_way {
	uint64_t from, to;           /* base addresses of the chunks' offsets */
	uint64_t from_step, to_step; /* from repeat to repeat */
	uint64_t chunk; /* struct fb_move_chunk[chunks] on this GPU; 0: `bytes` contiguous bytes */
	uint64_t bytes; /* without chunks; 0: nothing is moved */
	uint64_t post;  /* the peer's counters of the notice; 0: none */
	uint64_t post_value;
	uint32_t chunks, repeats;
};

/* This rank's counters of a notice, which have to reach the value before anything is moved. */
struct fb_move_wait {
	uint64_t counters, value;
};

struct fb_move_launch {
	struct fb_move_way way[FB_MOVE_MOST_WAYS];   /* [ways] */
	struct fb_move_wait wait[FB_MOVE_MOST_WAYS]; /* [waits] */
	uint32_t ways, waits;
	uint32_t team;            /* threads for a chunk, a power of two */
	uint32_t chunks, repeats; /* the most of any way; a way without chunks has parts instead */
	uint32_t counters;        /* of a notice */
};

#endif
