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
	for (uint32_t p = 0; p < plan->pairs; p++) {
		free(plan->pair[p].run);
		free(plan->pair[p].unit);
	}
	free(plan->pair);
	for (int side = 0; side < FB_KV_SIDES; side++) {
		free(plan->table[side]);
		free(plan->inverse[side]);
	}
	*plan = (struct fb_kv_plan){.pairs = 0};
}

/* --- lists ------------------------------------------------------------------------------------ */

/* One head of a rank is in the same order in both. */
static bool same_order(const struct fb_kv_shape *s)
{
	return fb_kv_is_hnd(s, FB_KV_PREFILL) == fb_kv_is_hnd(s, FB_KV_DECODE) ||
	       (fb_kv_heads(s, FB_KV_PREFILL) == 1 && fb_kv_heads(s, FB_KV_DECODE) == 1);
}

bool fb_kv_whole_pages(const struct fb_kv_shape *s)
{
	return same_order(s) && fb_kv_heads(s, FB_KV_PREFILL) == fb_kv_heads(s, FB_KV_DECODE);
}

/* Regions in pairs are at uneven distances, but layers are not. */
uint32_t fb_kv_span(const struct fb_kv_plan *plan)
{
	const struct fb_kv_shape *s = &plan->shape;
	uint32_t parts = fb_kv_parts(s), from = fb_kv_grouped(s, FB_KV_PREFILL);
	uint32_t to = fb_kv_grouped(s, FB_KV_DECODE), both = from < to ? from : to;
	bool cuts = plan->cut == FB_KV_CUT_CHUNK && plan->chunk_tokens % s->block_tokens;

	if (both > parts && fb_kv_whole_pages(s) && !plan->by_layer && !cuts)
		return both;
	return from == parts || to == parts || both > parts ? parts : 1;
}

double fb_kv_about_runs(const struct fb_kv_shape *s)
{
	uint32_t from = fb_kv_heads(s, FB_KV_PREFILL), to = fb_kv_heads(s, FB_KV_DECODE);

	if (!same_order(s))
		return (double)s->tokens * (from < to ? from : to);
	return fb_kv_whole_pages(s) || fb_kv_is_hnd(s, FB_KV_PREFILL) ? fb_kv_blocks(s)
								      : s->tokens;
}

double fb_kv_about_pieces(const struct fb_kv_plan *plan)
{
	const struct fb_kv_shape *s = &plan->shape;

	return fb_kv_about_runs(s) * fb_kv_regions(s) /
	       (fb_kv_whole_pages(s) ? fb_kv_span(plan) : 1);
}

/*
 * Adds bytes to the last unit, to its last run where they are next to that on both sides, unless
 * they are `apart`.
 */
static int add_bytes(struct fb_kv_pair *pair, uint64_t src, uint64_t dst, uint64_t bytes,
		     bool apart)
{
	struct fb_kv_run *last = pair->run + pair->runs - 1;
	bool first = pair->runs == pair->unit[pair->units - 1];
	uint64_t at = pair->runs ? last->at + last->bytes : 0;

	if (!first && !apart && last->src + last->bytes == src && last->dst + last->bytes == dst) {
		last->bytes += bytes;
		return FB_OK;
	}
	if (pair->runs == pair->room) {
		uint32_t room = pair->room > UINT32_MAX / 2 ? 0 : 2 * pair->room;
		struct fb_kv_run *more = room ? realloc(pair->run, room * sizeof(*more)) : NULL;

		if (!more)
			return FB_ENOMEM;
		pair->run = more;
		pair->room = room;
	}
	pair->run[pair->runs++] = (struct fb_kv_run){src, dst, at, bytes};
	return FB_OK;
}

/*
 * Tokens of a head are neighbours in HND, heads of a token in NHD. Between the two only elements of
 * a head of a token are.
 */
static int add_rows(const struct fb_kv_plan *plan, struct fb_kv_pair *pair, uint32_t region,
		    uint32_t block, uint32_t token, uint32_t tokens, uint32_t head, uint32_t heads)
{
	const struct fb_kv_shape *s = &plan->shape;
	bool from_hnd = fb_kv_is_hnd(s, FB_KV_PREFILL), to_hnd = fb_kv_is_hnd(s, FB_KV_DECODE);
	uint32_t from = plan->table[FB_KV_PREFILL][block], to = plan->table[FB_KV_DECODE][block];
	uint32_t src_head = head - fb_kv_first_head(s, FB_KV_PREFILL, pair->prefill);
	uint32_t dst_head = head - fb_kv_first_head(s, FB_KV_DECODE, pair->decode);
	uint32_t run_heads = from_hnd || to_hnd ? 1 : heads;
	uint32_t run_tokens = from_hnd && to_hnd ? tokens : 1;
	int err = FB_OK;

	for (uint32_t h = 0; h < heads && !err; h += run_heads)
		for (uint32_t t = 0; t < tokens && !err; t += run_tokens)
			err = add_bytes(pair,
					fb_kv_offset(s, FB_KV_PREFILL, region, from, src_head + h,
						     token + t),
					fb_kv_offset(s, FB_KV_DECODE, region, to, dst_head + h,
						     token + t),
					fb_kv_row(s) * run_heads * run_tokens,
					plan->apart && !(region | token | h | t));
	return err;
}

static void begin_unit(struct fb_kv_pair *pair)
{
	pair->unit[pair->units++] = pair->runs;
}

/* So many tokens from one of a block on are of one unit; and whether a unit begins there. */
static uint32_t tokens_of(const struct fb_kv_plan *plan, uint32_t block, uint32_t token,
			  bool *begins)
{
	uint32_t left = fb_kv_block_fill(&plan->shape, block) - token, past;

	*begins = plan->cut == FB_KV_CUT_BLOCK || !(block | token);
	if (plan->cut != FB_KV_CUT_CHUNK)
		return left;
	past = (block * plan->shape.block_tokens + token) % plan->chunk_tokens;
	*begins = past == 0;
	return left < plan->chunk_tokens - past ? left : plan->chunk_tokens - past;
}

/* No pair has more units, but where each run is one. */
static uint64_t most_units(const struct fb_kv_plan *plan, const struct fb_kv_pair *pair)
{
	const struct fb_kv_shape *s = &plan->shape;

	if (plan->cut == FB_KV_CUT_CHUNK)
		return s->tokens / plan->chunk_tokens + 1;
	return (uint64_t)fb_kv_blocks(s) * (plan->cut == FB_KV_CUT_HEAD ? pair->heads : 1);
}

/* Each run becomes a unit. */
static int make_units(struct fb_kv_pair *pair)
{
	uint32_t *unit = realloc(pair->unit, (pair->runs + UINT64_C(1)) * sizeof(*unit));

	if (!unit)
		return FB_ENOMEM;
	pair->unit = unit;
	for (uint32_t r = 0; r <= pair->runs; r++)
		pair->unit[r] = r;
	pair->units = pair->runs;
	return FB_OK;
}

static int add_runs(const struct fb_kv_plan *plan, struct fb_kv_pair *pair)
{
	const struct fb_kv_shape *s = &plan->shape;
	bool by_head = plan->cut == FB_KV_CUT_HEAD, begins;
	uint32_t heads = by_head ? 1 : pair->heads, span = fb_kv_span(plan), n;
	int err = FB_OK;

	for (uint32_t b = 0; b < fb_kv_blocks(s); b++)
		for (uint32_t t = 0; t < fb_kv_block_fill(s, b); t += n) {
			n = tokens_of(plan, b, t, &begins);
			for (uint32_t h = 0; h < pair->heads; h += heads) {
				if (begins || by_head)
					begin_unit(pair);
				for (uint32_t region = 0; region < span && !err; region++)
					err = add_rows(plan, pair, region, b, t, n, pair->head + h,
						       heads);
			}
		}
	return err;
}

int fb_kv_plan_runs(const struct fb_kv_plan *plan, struct fb_kv_pair *pair)
{
	int err;

	free(pair->run);
	free(pair->unit);
	pair->runs = pair->units = 0;
	pair->room = fb_kv_blocks(&plan->shape) + 1;
	pair->run = calloc(pair->room, sizeof(*pair->run));
	pair->unit = calloc(most_units(plan, pair) + 1, sizeof(*pair->unit));
	err = pair->run && pair->unit ? add_runs(plan, pair) : FB_ENOMEM;
	if (err || plan->cut == FB_KV_CUT_RUN)
		return err ? err : make_units(pair);
	pair->unit[pair->units] = pair->runs;
	return FB_OK;
}
