/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The router's account of the blocks of a worker's KV cache: which requests use them, and which
 * blocks hold the beginning of a prompt that may come again. An unused block keeps its content
 * until it is needed; the least recently used block is taken first.
 */
#ifndef FB_KVTRANSFER_SERVE_POOL_H
#define FB_KVTRANSFER_SERVE_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct fb_pool_block {
	uint64_t hash;
	uint64_t used; /* when it was last taken or given back; counts up */
	uint32_t pins; /* requests that use it */
	bool ready;    /* it holds what the hash stands for, and may be found */
};

struct fb_pool {
	struct fb_pool_block *block; /* [blocks] */
	uint32_t blocks, idle;	     /* idle: nobody uses them */
	int32_t *bucket, *next;	     /* ready blocks by hash; -1: end */
	uint64_t clock;
};

/* 0 or FB_ENOMEM (printed). Closing is safe on a zeroed structure. */
int fb_pool_open(struct fb_pool *pool, uint32_t blocks);
void fb_pool_close(struct fb_pool *pool);

/* Forgets everything. */
void fb_pool_reset(struct fb_pool *pool);

/* How many blocks of a prompt, counted from its beginning, are in the cache. */
uint32_t fb_pool_find(const struct fb_pool *pool, const uint64_t *hash, uint32_t n);

/*
 * Takes n blocks for a prompt: the first *held blocks of the prompt are in the cache already, and
 * idle blocks serve for the rest. False (nothing changed): too few blocks are idle.
 */
bool fb_pool_take(struct fb_pool *pool, const uint64_t *hash, uint32_t n, uint32_t *block,
		  uint32_t *held);

/* The blocks hold what their hashes stand for: from now on they are found. */
void fb_pool_ready(struct fb_pool *pool, const uint32_t *block, uint32_t n);

/* The request does not use them any more. */
void fb_pool_give(struct fb_pool *pool, const uint32_t *block, uint32_t n);

#endif
