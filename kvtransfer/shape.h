/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The paged KV cache of a group of ranks with tensor parallelism: which heads a rank holds, where
 * its pages lie, and where in them an element is.
 *
 * A rank has two regions for each layer (layer 0 K, layer 0 V, layer 1 K, ...), or one if the cache
 * is a latent (MLA), each with `pool` pages. A page of a region holds `block_tokens` tokens of all
 * heads of the rank: [head][token][dim] in layouts HND, [token][head][dim] in NHD. Regions follow
 * each other in memory. In layouts PAIRED, pages of a layer's K and V alternate instead, so that a
 * block of a layer is contiguous. In layouts BLOCK, pages of all regions alternate, so that a block
 * of all layers is contiguous ("cross-layer"). A block table, the same for all layers and ranks of
 * the group, says in which page a block of tokens is. Other pages belong to other requests. Prefill
 * and decode group may have different layouts.
 *
 * A rank holds consecutive heads. If there are more ranks than heads, consecutive ranks hold copies
 * of the same head.
 */
#ifndef FB_KVTRANSFER_SHAPE_H
#define FB_KVTRANSFER_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* Those of HND are even. */
enum fb_kv_layout {
	FB_KV_HND,
	FB_KV_NHD,
	FB_KV_PAIRED_HND,
	FB_KV_PAIRED_NHD,
	FB_KV_BLOCK_HND,
	FB_KV_BLOCK_NHD,
	FB_KV_LAYOUTS
};

/* "hnd", "nhd", ..., NULL; and "same" before them: the prefill group's. */
extern const char *const fb_kv_layouts[FB_KV_LAYOUTS + 1];
extern const char *const fb_kv_decode_layouts[FB_KV_LAYOUTS + 2];

enum fb_kv_side { FB_KV_PREFILL, FB_KV_DECODE, FB_KV_SIDES };

struct fb_kv_shape {
	uint32_t layers, kv_heads, head_dim, element_bytes;
	uint32_t parts; /* regions of a layer; 0: 2 */
	uint32_t tokens, block_tokens;
	uint32_t page_run; /* prefill: blocks in a row whose pages are contiguous; 0: all blocks */
	uint32_t decode_run; /* the same for the decode group; 0: as page_run */
	uint32_t churn; /* tables by fb_kv_table_churned(), with this percentage; 0: by page_run */
	bool whole; /* no pages: a region is one block with exactly the request's tokens */
	const char *heads_are; /* what a message calls kv_heads; NULL: "heads" */
	enum fb_kv_layout layout[FB_KV_SIDES];
	uint32_t tp[FB_KV_SIDES]; /* ranks of each group */
};

/* Whether the ranks of each group can get equal shares of the heads, or copies of them. */
bool fb_kv_divides(const struct fb_kv_shape *shape);

/* Heads of each rank of a group, and the first of a rank. */
uint32_t fb_kv_heads(const struct fb_kv_shape *shape, enum fb_kv_side side);
uint32_t fb_kv_first_head(const struct fb_kv_shape *shape, enum fb_kv_side side, uint32_t index);

static inline uint32_t fb_kv_parts(const struct fb_kv_shape *shape)
{
	return shape->parts ? shape->parts : 2;
}

static inline uint32_t fb_kv_regions(const struct fb_kv_shape *shape)
{
	return fb_kv_parts(shape) * shape->layers;
}

static inline bool fb_kv_is_hnd(const struct fb_kv_shape *shape, enum fb_kv_side side)
{
	return shape->layout[side] % 2 == 0;
}

/* How many regions have contiguous pages of a block: one, those of a layer, or all. */
static inline uint32_t fb_kv_grouped(const struct fb_kv_shape *shape, enum fb_kv_side side)
{
	return shape->layout[side] < FB_KV_PAIRED_HND ? 1
	       : shape->layout[side] < FB_KV_BLOCK_HND ? fb_kv_parts(shape)
							: fb_kv_regions(shape);
}

/* Bytes of one token of one head. */
static inline uint64_t fb_kv_row(const struct fb_kv_shape *shape)
{
	return (uint64_t)shape->head_dim * shape->element_bytes;
}

static inline uint32_t fb_kv_blocks(const struct fb_kv_shape *shape)
{
	return (shape->tokens + shape->block_tokens - 1) / shape->block_tokens;
}

/* Pages of a region: a quarter more than the request needs, plus two; with `whole` one. */
static inline uint32_t fb_kv_pool(const struct fb_kv_shape *shape)
{
	uint32_t blocks = fb_kv_blocks(shape);

	return shape->whole ? blocks : blocks + blocks / 4 + 2;
}

/* Tokens in a block: the last one may be filled in part. */
uint32_t fb_kv_block_fill(const struct fb_kv_shape *shape, uint32_t block);

/* Bytes of all pages of all regions of a rank. */
uint64_t fb_kv_area_bytes(const struct fb_kv_shape *shape, enum fb_kv_side side);

/* Where a region's first page begins, behind the rank's first page. */
uint64_t fb_kv_region_at(const struct fb_kv_shape *shape, enum fb_kv_side side, uint32_t region);

/* The same of token `token` of a page of a region, of the rank's own head `head`. */
uint64_t fb_kv_offset(const struct fb_kv_shape *shape, enum fb_kv_side side, uint32_t region,
		      uint32_t page, uint32_t head, uint32_t token);

/* Bytes of the whole KV cache of the request, each head once. */
uint64_t fb_kv_bytes(const struct fb_kv_shape *shape);

/*
 * A block table from a seed: table[fb_kv_blocks()] gets pages, no page twice, in runs of page_run
 * neighbours. `scratch` has fb_kv_pool() elements.
 */
void fb_kv_table(const struct fb_kv_shape *shape, uint64_t seed, uint32_t *table,
		 uint32_t *scratch);

/*
 * A block table as a used allocator would give it. Requests of random lengths have taken pages from
 * the head of a queue of free pages and given them back to its tail, last page first, while `churn`
 * percent of the pool were in use. 0 or FB_ENOMEM (not printed).
 */
int fb_kv_table_churned(const struct fb_kv_shape *shape, uint64_t seed, uint32_t *table);

/*
 * Number of an element in the request, the same on all ranks and in all layouts: it counts by
 * element, then token, head, and region.
 */
static inline uint64_t fb_kv_index(const struct fb_kv_shape *shape, uint32_t region, uint32_t head,
				   uint32_t token)
{
	return (((uint64_t)region * shape->kv_heads + head) * shape->tokens + token) *
	       shape->head_dim;
}

#endif
