/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernels of the KV transfer engines are launched with: plain data, for C and for CUDA.
 * Addresses are numbers.
 */
#ifndef FB_KVTRANSFER_ENGINE_GPU_LAUNCH_H
#define FB_KVTRANSFER_ENGINE_GPU_LAUNCH_H

#include <stdint.h>

enum {
	FB_KV_MOST_WAYS = 32,    /* pairs of a rank on one side */
	FB_KV_MOST_BLOCKS = 256, /* of a kernel that counts */
	FB_KV_THREADS = 512,
	FB_KV_PIECE = 8192,      /* bytes that a team moves at most, at a time */
};

/* A run, or a part of one; cut so that a team of at most a warp moves it. */
struct fb_kv_piece {
	uint64_t src, dst, at; /* as in struct fb_kv_run */
	uint64_t bytes;
};

/* What a launch does for one pair of ranks. */
struct fb_kv_way {
	uint64_t from, to;               /* of the first region */
	uint64_t from_stride, to_stride; /* from region to region */
	uint64_t piece;  /* struct fb_kv_piece[pieces] in own memory; 0: `bytes` in a row */
	uint64_t bytes;  /* without pieces; 0: nothing is moved */
	uint64_t await;  /* own counters, one for each block of the peer's; 0: no wait */
	uint64_t post;   /* the peer's, one for each block of this launch; 0: none */
	uint32_t pieces, unused;
};

struct fb_kv_launch {
	struct fb_kv_way way[FB_KV_MOST_WAYS]; /* [ways] */
	uint32_t ways, regions, team;
	uint32_t pieces; /* most of all ways, or parts of `bytes` */
	uint32_t from_packed, to_packed; /* offsets of pieces are `at` there */
	uint32_t await_blocks;
	uint32_t posts; /* 1; a launch of one block may count for this many */
	uint64_t await_value, post_value;
};

#endif
