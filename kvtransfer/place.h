/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds which element of the request is at a place in a rank's pages, for C and for CUDA. shape.h
 * has the reverse, written independently; tests/unit/test_kv_pages.c compares the two.
 */
#ifndef FB_KVTRANSFER_PLACE_H
#define FB_KVTRANSFER_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cuda/data_element.h"

/* The place of a rank's side, with all that determines its runs. */
struct fb_kv_locator {
	const int32_t *inverse; /* [pool]: the block in a page, -1: none */
	uint32_t pool, heads, block_tokens, head_dim; /* heads: of the rank */
	uint32_t kv_heads, first_head, tokens;
	uint32_t hnd; /* else NHD */
	uint32_t grouped; /* regions whose pages alternate (fb_kv_grouped) */
};

/* Where element `place` of a rank's pages is. */
struct fb_kv_place {
	uint32_t region, page, head, token, element; /* head: of the rank; token: of the page */
	bool used;      /* it is one of the request's */
	uint64_t index; /* of it in the request, if used (fb_kv_index) */
	uint32_t model_head, request_token; /* the same */
};

FB_ELEMENT struct fb_kv_place fb_kv_locate(const struct fb_kv_locator *l, uint64_t place)
{
	uint32_t inner = l->hnd ? l->block_tokens : l->heads;
	uint32_t outer = l->hnd ? l->heads : l->block_tokens, low, high;
	uint64_t rest = place / l->head_dim;
	struct fb_kv_place at;
	int32_t block;

	at.element = (uint32_t)(place % l->head_dim);
	low = (uint32_t)(rest % inner);
	rest /= inner;
	high = (uint32_t)(rest % outer);
	rest /= outer;
	at.head = l->hnd ? high : low;
	at.token = l->hnd ? low : high;
	at.region = (uint32_t)(rest % l->grouped);
	rest /= l->grouped;
	at.page = (uint32_t)(rest % l->pool);
	at.region += (uint32_t)(rest / l->pool) * l->grouped;
	block = l->inverse[at.page];
	at.model_head = l->first_head + at.head;
	at.request_token = block < 0 ? 0 : (uint32_t)block * l->block_tokens + at.token;
	at.used = block >= 0 && at.request_token < l->tokens;
	at.index = (((uint64_t)at.region * l->kv_heads + at.model_head) * l->tokens +
		    at.request_token) * l->head_dim + at.element;
	return at;
}

#endif
