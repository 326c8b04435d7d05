/* SPDX-License-Identifier: BSD-3-Clause */
/* Where elements of a paged KV cache are; see shape.h. */
#include "kvtransfer/shape.h"

#include <stddef.h>

#include "common/base/rng.h"

const char *const fb_kv_layouts[] = {
	[FB_KV_HND] = "hnd", [FB_KV_NHD] = "nhd", [FB_KV_LAYOUTS] = NULL};

bool fb_kv_divides(const struct fb_kv_shape *shape)
{
	for (int side = 0; side < FB_KV_SIDES; side++)
		if (shape->kv_heads % shape->tp[side] && shape->tp[side] % shape->kv_heads)
			return false;
	return true;
}

uint32_t fb_kv_heads(const struct fb_kv_shape *shape, enum fb_kv_side side)
{
	uint32_t heads = shape->kv_heads / shape->tp[side];

	return heads ? heads : 1;
}

uint32_t fb_kv_first_head(const struct fb_kv_shape *shape, enum fb_kv_side side, uint32_t index)
{
	uint32_t tp = shape->tp[side];

	if (tp > shape->kv_heads)
		return index / (tp / shape->kv_heads);
	return index * (shape->kv_heads / tp);
}

uint32_t fb_kv_block_fill(const struct fb_kv_shape *shape, uint32_t block)
{
	uint32_t rest = shape->tokens - block * shape->block_tokens;

	return rest < shape->block_tokens ? rest : shape->block_tokens;
}

uint64_t fb_kv_region_bytes(const struct fb_kv_shape *shape, enum fb_kv_side side)
{
	return (uint64_t)fb_kv_pool(shape) * fb_kv_heads(shape, side) * shape->block_tokens *
	       fb_kv_row(shape);
}

uint64_t fb_kv_area_bytes(const struct fb_kv_shape *shape, enum fb_kv_side side)
{
	return fb_kv_regions(shape) * fb_kv_region_bytes(shape, side);
}

uint64_t fb_kv_offset(const struct fb_kv_shape *shape, enum fb_kv_side side, uint32_t page,
		      uint32_t head, uint32_t token)
{
	uint64_t heads = fb_kv_heads(shape, side), tokens = shape->block_tokens;

	if (shape->layout == FB_KV_HND)
		return ((page * heads + head) * tokens + token) * fb_kv_row(shape);
	return ((page * tokens + token) * heads + head) * fb_kv_row(shape);
}

uint64_t fb_kv_bytes(const struct fb_kv_shape *shape)
{
	return (uint64_t)fb_kv_regions(shape) * shape->kv_heads * shape->tokens *
	       fb_kv_row(shape);
}

/* Runs of pages are shuffled as a whole; the pages at the end that make no whole run are left. */
void fb_kv_table(const struct fb_kv_shape *shape, uint64_t seed, uint32_t *table,
		 uint32_t *scratch)
{
	uint32_t blocks = fb_kv_blocks(shape), pool = fb_kv_pool(shape);
	uint32_t run = shape->page_run && shape->page_run < blocks ? shape->page_run : blocks;
	uint32_t runs = pool / run;
	struct fb_rng rng;

	/* A last run that is not whole may be needed: then it overlaps nothing and stays last. */
	for (uint32_t i = 0; i < runs; i++)
		scratch[i] = i * run;
	fb_rng_seed(&rng, seed);
	fb_shuffle(scratch, runs, sizeof(*scratch), &rng);
	if (runs * run < pool)
		scratch[runs] = runs * run;
	for (uint32_t b = 0; b < blocks; b++)
		table[b] = scratch[b / run] + b % run;
}
