/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs and runs; see plan.h. */
#include "kvtransfer/plan.h"

#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/rng.h"

/* The prefill rank that sends a head to a decode rank. */
static uint32_t source_of(const struct fb_kv_shape *shape, uint32_t head, uint32_t decode)
{
	uint32_t p = shape->tp[FB_KV_PREFILL], d = shape->tp[FB_KV_DECODE];
	uint32_t replicas, copies;

	if (p <= shape->kv_heads)
		return head / (shape->kv_heads / p);
	replicas = p / shape->kv_heads;
	copies = d > shape->kv_heads ? d / shape->kv_heads : 1;
	return head * replicas + decode % copies * replicas / copies;
}

static int add_pair(struct fb_kv_plan *plan, uint32_t prefill, uint32_t decode, uint32_t head)
{
	struct fb_kv_pair *pair;

	pair = realloc(plan->pair, (plan->pairs + 1) * sizeof(*pair));
	if (!pair)
		return FB_ENOMEM;
	plan->pair = pair;
	plan->pair[plan->pairs++] =
		(struct fb_kv_pair){.prefill = prefill, .decode = decode, .head = head, .heads = 1};
	return FB_OK;
}

static int add_pairs(struct fb_kv_plan *plan)
{
	const struct fb_kv_shape *s = &plan->shape;
	int err = FB_OK;

	for (uint32_t j = 0; j < s->tp[FB_KV_DECODE]; j++) {
		uint32_t first = fb_kv_first_head(s, FB_KV_DECODE, j);
		uint32_t began = plan->pairs;

		for (uint32_t h = first; h < first + fb_kv_heads(s, FB_KV_DECODE) && !err; h++) {
			uint32_t i = source_of(s, h, j);

			if (plan->pairs > began && plan->pair[plan->pairs - 1].prefill == i)
				plan->pair[plan->pairs - 1].heads++;
			else
				err = add_pair(plan, i, j, h);
		}
	}
	return err;
}

/* Where each pair's packed regions lie in the staging memory of its two ranks. */
static void lay_out(struct fb_kv_plan *plan)
{
	const struct fb_kv_shape *s = &plan->shape;

	for (uint32_t p = 0; p < plan->pairs; p++) {
		struct fb_kv_pair *pair = &plan->pair[p];
		uint64_t bytes, end;

		pair->region_bytes = (uint64_t)pair->heads * s->tokens * fb_kv_row(s);
		bytes = pair->region_bytes * fb_kv_regions(s);
		for (uint32_t q = 0; q < p; q++) {
			const struct fb_kv_pair *before = &plan->pair[q];
			uint64_t other = before->region_bytes * fb_kv_regions(s);

			pair->out_at += before->prefill == pair->prefill ? other : 0;
			pair->in_at += before->decode == pair->decode ? other : 0;
		}
		end = pair->out_at + bytes;
		plan->out_bytes = end > plan->out_bytes ? end : plan->out_bytes;
		end = pair->in_at + bytes;
		plan->in_bytes = end > plan->in_bytes ? end : plan->in_bytes;
	}
}

static int make_table(struct fb_kv_plan *plan, enum fb_kv_side side, uint64_t seed)
{
	struct fb_kv_shape own = plan->shape, *s = &own;
	uint32_t blocks = fb_kv_blocks(s), pool = fb_kv_pool(s);
	uint32_t *scratch = calloc(pool, sizeof(*scratch));
	uint64_t salt = fb_mix64(seed + (uint64_t)side);
	int err = FB_OK;

	if (side == FB_KV_DECODE && s->decode_run)
		own.page_run = s->decode_run;

	plan->table[side] = calloc(blocks, sizeof(*plan->table[side]));
	plan->inverse[side] = calloc(pool, sizeof(*plan->inverse[side]));
	if (!scratch || !plan->table[side] || !plan->inverse[side]) {
		free(scratch);
		return FB_ENOMEM;
	}
	if (s->churn)
		err = fb_kv_table_churned(s, salt, plan->table[side]);
	else
		fb_kv_table(s, salt, plan->table[side], scratch);
	free(scratch);
	if (err)
		return err;
	for (uint32_t p = 0; p < pool; p++)
		plan->inverse[side][p] = -1;
	for (uint32_t b = 0; b < blocks; b++)
		plan->inverse[side][plan->table[side][b]] = (int32_t)b;
	return FB_OK;
}

int fb_kv_plan_open(struct fb_kv_plan *plan, const struct fb_kv_shape *shape, uint64_t seed)
{
	int err;

	*plan = (struct fb_kv_plan){.shape = *shape};
	err = make_table(plan, FB_KV_PREFILL, seed);
	if (!err)
		err = make_table(plan, FB_KV_DECODE, seed);
	if (!err)
		err = add_pairs(plan);
	if (err)
		fb_kv_plan_close(plan);
	else
		lay_out(plan);
	return err;
}

void fb_kv_plan_close(struct fb_kv_plan *plan)
{
	for (uint32_t p = 0; p < plan->pairs; p++)
		free(plan->pair[p].run);
	free(plan->pair);
	for (int side = 0; side < FB_KV_SIDES; side++) {
		free(plan->table[side]);
		free(plan->inverse[side]);
	}
	*plan = (struct fb_kv_plan){.pairs = 0};
}

/* Adds bytes at the end of the list, to its last run where they are next to that on both sides. */
static void add_bytes(struct fb_kv_pair *pair, uint64_t src, uint64_t dst, uint64_t bytes)
{
	struct fb_kv_run *last = pair->run + pair->runs;

	if (pair->runs) {
		last--;
		if (last->src + last->bytes == src && last->dst + last->bytes == dst) {
			last->bytes += bytes;
			return;
		}
		last++;
		last->at = last[-1].at + last[-1].bytes;
	} else {
		last->at = 0;
	}
	last->src = src;
	last->dst = dst;
	last->bytes = bytes;
	pair->runs++;
}

int fb_kv_plan_runs(const struct fb_kv_plan *plan, struct fb_kv_pair *pair)
{
	const struct fb_kv_shape *s = &plan->shape;
	uint32_t blocks = fb_kv_blocks(s), hnd = s->layout == FB_KV_HND;
	uint32_t src_head = pair->head - fb_kv_first_head(s, FB_KV_PREFILL, pair->prefill);
	uint32_t dst_head = pair->head - fb_kv_first_head(s, FB_KV_DECODE, pair->decode);
	uint64_t row = fb_kv_row(s), most = hnd ? (uint64_t)blocks * pair->heads : s->tokens;

	free(pair->run);
	pair->runs = 0;
	pair->run = malloc(most * sizeof(*pair->run));
	if (!pair->run)
		return FB_ENOMEM;
	for (uint32_t b = 0; b < blocks; b++) {
		uint32_t from = plan->table[FB_KV_PREFILL][b], to = plan->table[FB_KV_DECODE][b];
		uint32_t fill = fb_kv_block_fill(s, b), n = hnd ? pair->heads : fill;

		/* Tokens of a head are neighbours in HND, heads of a token in NHD. */
		for (uint32_t i = 0; i < n; i++) {
			uint32_t head = hnd ? i : 0, token = hnd ? 0 : i;

			add_bytes(pair,
				  fb_kv_offset(s, FB_KV_PREFILL, from, src_head + head, token),
				  fb_kv_offset(s, FB_KV_DECODE, to, dst_head + head, token),
				  row * (hnd ? fill : pair->heads));
		}
	}
	return FB_OK;
}
