/* SPDX-License-Identifier: BSD-3-Clause */
/* Book-keeping of a KV cache's blocks; see pool.h. */
#include "kvtransfer/serve/pool.h"

#include <stdlib.h>

#include "common/base/error.h"

int fb_pool_open(struct fb_pool *p, uint32_t blocks)
{
	*p = (struct fb_pool){.blocks = blocks};
	p->block = calloc(blocks, sizeof(*p->block));
	p->bucket = calloc(blocks, sizeof(*p->bucket));
	p->next = calloc(blocks, sizeof(*p->next));
	if (!p->block || !p->bucket || !p->next) {
		fb_pool_close(p);
		return fb_error(FB_ENOMEM, "out of memory for %u blocks", blocks);
	}
	fb_pool_reset(p);
	return FB_OK;
}

void fb_pool_close(struct fb_pool *p)
{
	free(p->block);
	free(p->bucket);
	free(p->next);
	*p = (struct fb_pool){.blocks = 0};
}

void fb_pool_reset(struct fb_pool *p)
{
	for (uint32_t i = 0; i < p->blocks; i++) {
		p->block[i] = (struct fb_pool_block){.pins = 0};
		p->bucket[i] = p->next[i] = -1;
	}
	p->idle = p->blocks;
	p->clock = 0;
}

static int32_t find(const struct fb_pool *p, uint64_t hash)
{
	int32_t at = p->bucket[hash % p->blocks];

	while (at >= 0 && p->block[at].hash != hash)
		at = p->next[at];
	return at;
}

uint32_t fb_pool_find(const struct fb_pool *p, const uint64_t *hash, uint32_t n)
{
	uint32_t held = 0;

	while (held < n && find(p, hash[held]) >= 0)
		held++;
	return held;
}

static void pin(struct fb_pool *p, uint32_t block)
{
	p->idle -= p->block[block].pins == 0;
	p->block[block].pins++;
	p->block[block].used = ++p->clock;
}

/* Takes a block out of the list of those that are found. */
static void forget(struct fb_pool *p, uint32_t block)
{
	int32_t *at = &p->bucket[p->block[block].hash % p->blocks];

	if (!p->block[block].ready)
		return;
	while (*at != (int32_t)block)
		at = &p->next[*at];
	*at = p->next[block];
	p->block[block].ready = false;
}

/* The block that nobody has used for the longest time; there is an idle one. */
static uint32_t oldest(const struct fb_pool *p)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < p->blocks; i++)
		if (!p->block[i].pins &&
		    (best == UINT32_MAX || p->block[i].used < p->block[best].used))
			best = i;
	return best;
}

bool fb_pool_take(struct fb_pool *p, const uint64_t *hash, uint32_t n, uint32_t *block,
		  uint32_t *held)
{
	uint32_t found = fb_pool_find(p, hash, n), idle = 0;

	for (uint32_t i = 0; i < found; i++)
		idle += p->block[find(p, hash[i])].pins == 0;
	if (p->idle - idle < n - found)
		return false;
	for (uint32_t i = 0; i < found; i++) {
		block[i] = (uint32_t)find(p, hash[i]);
		pin(p, block[i]);
	}
	for (uint32_t i = found; i < n; i++) {
		block[i] = oldest(p);
		forget(p, block[i]);
		p->block[block[i]].hash = hash[i];
		pin(p, block[i]);
	}
	*held = found;
	return true;
}

/* A block with the same content may have become ready meanwhile: then that one is found. */
void fb_pool_ready(struct fb_pool *p, const uint32_t *block, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct fb_pool_block *b = &p->block[block[i]];

		if (b->ready || find(p, b->hash) >= 0)
			continue;
		b->ready = true;
		p->next[block[i]] = p->bucket[b->hash % p->blocks];
		p->bucket[b->hash % p->blocks] = (int32_t)block[i];
	}
}

void fb_pool_give(struct fb_pool *p, const uint32_t *block, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		p->block[block[i]].pins--;
		p->block[block[i]].used = ++p->clock;
		p->idle += p->block[block[i]].pins == 0;
	}
}
