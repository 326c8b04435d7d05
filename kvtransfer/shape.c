/* SPDX-License-Identifier: BSD-3-Clause */
/* Where elements of a paged KV cache are; see shape.h. */
#include "kvtransfer/shape.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/rng.h"

#define LAYOUTS "hnd", "nhd", "paired-hnd", "paired-nhd", "block-first-hnd", "block-first-nhd", NULL

const char *const fb_kv_layouts[] = {LAYOUTS};
const char *const fb_kv_decode_layouts[] = {"same", LAYOUTS};

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

/* Bytes of a page of a region of a rank. */
static uint64_t page_bytes(const struct fb_kv_shape *shape, enum fb_kv_side side)
{
	return (uint64_t)fb_kv_heads(shape, side) * shape->block_tokens * fb_kv_row(shape);
}

uint64_t fb_kv_area_bytes(const struct fb_kv_shape *shape, enum fb_kv_side side)
{
	return (uint64_t)fb_kv_regions(shape) * fb_kv_pool(shape) * page_bytes(shape, side);
}

uint64_t fb_kv_region_at(const struct fb_kv_shape *shape, enum fb_kv_side side, uint32_t region)
{
	uint64_t grouped = fb_kv_grouped(shape, side), group = region / grouped;

	return (group * grouped * fb_kv_pool(shape) + region % grouped) *
	       page_bytes(shape, side);
}

uint64_t fb_kv_offset(const struct fb_kv_shape *shape, enum fb_kv_side side, uint32_t region,
		      uint32_t page, uint32_t head, uint32_t token)
{
	uint64_t heads = fb_kv_heads(shape, side), tokens = shape->block_tokens;
	uint64_t row = fb_kv_is_hnd(shape, side) ? head * tokens + token : token * heads + head;

	return fb_kv_region_at(shape, side, region) +
	       (uint64_t)page * fb_kv_grouped(shape, side) * page_bytes(shape, side) +
	       row * fb_kv_row(shape);
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

/* --- an allocator that has been used ---------------------------------------------------------- */

enum { CHURN_ROUNDS = 40 };

struct allocator {
	uint32_t *queue; /* [pool]: free pages from `head` on, `free` of them, round and round */
	uint32_t *page;	 /* [pool]: pages in use, requests one behind the other */
	uint32_t *begin; /* [pool + 1]: of each request in `page` */
	uint32_t pool, head, free, requests;
};

static void allocate(struct allocator *a, uint32_t n, uint32_t *to)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = a->queue[(a->head + i) % a->pool];
	a->head = (a->head + n) % a->pool;
	a->free -= n;
}

static void give_back(struct allocator *a, uint32_t request)
{
	uint32_t from = a->begin[request], to = a->begin[request + 1];

	for (uint32_t i = to; i > from; i--)
		a->queue[(a->head + a->free++) % a->pool] = a->page[i - 1];
	memmove(a->page + from, a->page + to,
		(a->begin[a->requests] - to) * sizeof(*a->page));
	for (uint32_t r = request; r < a->requests; r++)
		a->begin[r] = a->begin[r + 1] - (to - from);
	a->requests--;
}

static void churn(struct allocator *a, const struct fb_kv_shape *s, struct fb_rng *rng,
		  uint32_t *table)
{
	uint32_t blocks = fb_kv_blocks(s);
	uint64_t most = (uint64_t)a->pool * s->churn / 100;

	for (uint32_t k = 0; k < CHURN_ROUNDS * 8; k++) {
		uint32_t n = 1 + (uint32_t)fb_rng_below(rng, blocks / 4 + 1);

		if (a->pool - a->free + n <= most) {
			allocate(a, n, a->page + a->begin[a->requests]);
			a->requests++;
			a->begin[a->requests] = a->begin[a->requests - 1] + n;
		} else if (a->requests) {
			give_back(a, (uint32_t)fb_rng_below(rng, a->requests));
		}
	}
	while (a->free < blocks)
		give_back(a, (uint32_t)fb_rng_below(rng, a->requests));
	allocate(a, blocks, table);
}

int fb_kv_table_churned(const struct fb_kv_shape *s, uint64_t seed, uint32_t *table)
{
	struct allocator a = {.pool = fb_kv_pool(s), .free = fb_kv_pool(s)};
	struct fb_rng rng;
	bool there;

	a.queue = calloc(a.pool, sizeof(*a.queue));
	a.page = calloc(a.pool, sizeof(*a.page));
	a.begin = calloc(a.pool + 1, sizeof(*a.begin));
	there = a.queue && a.page && a.begin;
	for (uint32_t i = 0; i < a.pool && there; i++)
		a.queue[i] = i;
	fb_rng_seed(&rng, seed);
	if (there)
		churn(&a, s, &rng, table);
	free(a.queue);
	free(a.page);
	free(a.begin);
	return there ? FB_OK : FB_ENOMEM;
}
