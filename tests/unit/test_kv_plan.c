/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a KV cache's way from prefill to decode ranks, carried out on small memories and
 * compared element by element with what each page has to hold: all numbers of ranks that divide or
 * replicate the heads, odd numbers of tokens, blocks filled in part, both layouts, and units of all
 * kinds; and plans broken on purpose.
 */
#include "kvtransfer/plan.h"

#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/model.h"
#include "tests/unit/check.h"

enum { MOST = 12, UNTOUCHED = 0xffff, CHUNK = 3 };

/* Each element is 2 bytes and says which it is; UNTOUCHED elsewhere. */
struct world {
	struct fb_kv_plan plan;
	uint16_t *area[FB_KV_SIDES][MOST];
};

static uint16_t label(const struct fb_kv_shape *s, uint32_t region, uint32_t head, uint32_t token,
		      uint32_t e)
{
	return (uint16_t)((fb_kv_index(s, region, head, token) + e) % 65521);
}

/* What a page's element has to be, from the definition of the layout. */
static uint16_t oracle(const struct world *w, enum fb_kv_side side, uint32_t rank, uint64_t i)
{
	const struct fb_kv_shape *s = &w->plan.shape;
	uint64_t tp = s->tp[side] > 1 ? s->tp[side] : 1;
	uint64_t all = s->kv_heads > 1 ? s->kv_heads : 1;
	uint64_t heads = all / tp ? all / tp : 1, group = tp / all ? tp / all : 1;
	uint64_t e = i % s->head_dim, rest = i / s->head_dim, head, token, page, region = 0;
	const char *layout = fb_kv_layouts[s->layout[side]];
	uint64_t parts = s->parts ? s->parts : 2;

	if (strstr(layout, "hnd")) {
		token = rest % s->block_tokens;
		rest /= s->block_tokens;
		head = rest % heads;
		rest /= heads;
	} else {
		head = rest % heads;
		rest /= heads;
		token = rest % s->block_tokens;
		rest /= s->block_tokens;
	}
	if (!strncmp(layout, "block-first", 11)) {
		region = rest % (parts * s->layers);
		page = rest / (parts * s->layers);
	} else if (!strncmp(layout, "paired", 6)) {
		page = rest / parts % fb_kv_pool(s);
		region = rest / parts / fb_kv_pool(s) * parts + rest % parts;
	} else {
		page = rest % fb_kv_pool(s);
		region = rest / fb_kv_pool(s);
	}
	for (uint32_t b = 0; b < fb_kv_blocks(s); b++)
		if (w->plan.table[side][b] == page && b * s->block_tokens + token < s->tokens)
			return label(s, (uint32_t)region, (uint32_t)(rank / group * heads + head),
				     (uint32_t)(b * s->block_tokens + token), (uint32_t)e);
	return UNTOUCHED;
}

static void open_world(struct world *w, const struct fb_kv_shape *shape, enum fb_kv_cut cut,
		       bool by_layer)
{
	memset(w, 0, sizeof(*w));
	if (fb_kv_plan_open(&w->plan, shape, 7))
		abort();
	w->plan.cut = cut;
	w->plan.chunk_tokens = CHUNK;
	w->plan.by_layer = by_layer;
	for (uint32_t p = 0; p < w->plan.pairs; p++)
		if (fb_kv_plan_runs(&w->plan, &w->plan.pair[p]))
			abort();
	for (enum fb_kv_side side = FB_KV_PREFILL; side < FB_KV_SIDES; side++)
		for (uint32_t r = 0; r < shape->tp[side]; r++) {
			uint64_t n = fb_kv_area_bytes(shape, side) / 2;

			w->area[side][r] = malloc(n * 2);
			if (!w->area[side][r])
				abort();
			for (uint64_t i = 0; i < n; i++)
				w->area[side][r][i] = side == FB_KV_PREFILL
							      ? oracle(w, side, r, i)
							      : UNTOUCHED;
		}
}

static void close_world(struct world *w)
{
	for (enum fb_kv_side side = FB_KV_PREFILL; side < FB_KV_SIDES; side++)
		for (uint32_t r = 0; r < w->plan.shape.tp[side]; r++)
			free(w->area[side][r]);
	fb_kv_plan_close(&w->plan);
}

/* Every run by memcpy, unit by unit. */
static void carry_out(struct world *w)
{
	const struct fb_kv_shape *s = &w->plan.shape;
	uint32_t span = fb_kv_span(&w->plan);

	for (uint32_t p = 0; p < w->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &w->plan.pair[p];
		char *from = (char *)w->area[FB_KV_PREFILL][pair->prefill];
		char *to = (char *)w->area[FB_KV_DECODE][pair->decode];

		for (uint32_t k = 0; k < fb_kv_regions(s) / span; k++)
			for (uint32_t r = pair->unit[0]; r < pair->unit[pair->units]; r++) {
				const struct fb_kv_run *run = &pair->run[r];

				/* Steps between repeats, as movers have them. */
				memcpy(to + k * fb_kv_region_at(s, FB_KV_DECODE, span) + run->dst,
				       from + k * fb_kv_region_at(s, FB_KV_PREFILL, span) +
					       run->src,
				       run->bytes);
			}
	}
}

static uint64_t wrong(const struct world *w)
{
	const struct fb_kv_shape *s = &w->plan.shape;
	uint64_t errors = 0;

	for (enum fb_kv_side side = FB_KV_PREFILL; side < FB_KV_SIDES; side++)
		for (uint32_t r = 0; r < s->tp[side]; r++)
			for (uint64_t i = 0; i < fb_kv_area_bytes(s, side) / 2; i++)
				errors += w->area[side][r][i] != oracle(w, side, r, i);
	return errors;
}

/* Units are as many as there are blocks, heads of blocks, or chunks, and none is empty. */
static void check_units(const struct fb_kv_plan *plan, const struct fb_kv_pair *pair)
{
	uint32_t blocks = fb_kv_blocks(&plan->shape);
	const uint32_t units[] = {
		[FB_KV_CUT_NONE] = 1, [FB_KV_CUT_RUN] = pair->runs, [FB_KV_CUT_BLOCK] = blocks,
		[FB_KV_CUT_HEAD] = blocks * pair->heads,
		[FB_KV_CUT_CHUNK] = (plan->shape.tokens + CHUNK - 1) / CHUNK};

	CHECK_INT(pair->units, units[plan->cut]);
	CHECK_INT(pair->unit[0], 0);
	CHECK_INT(pair->unit[pair->units], pair->runs);
	for (uint32_t u = 0; u < pair->units; u++)
		CHECK(pair->unit[u] < pair->unit[u + 1]);
}

/* Runs are in order, as long as they can be in a unit, and packed without gaps. */
static void check_runs(const struct fb_kv_plan *plan)
{
	uint64_t received = 0, span = fb_kv_span(plan);

	for (uint32_t p = 0; p < plan->pairs; p++) {
		const struct fb_kv_pair *pair = &plan->pair[p];
		uint64_t at = 0;

		check_units(plan, pair);
		for (uint32_t r = 0, u = 1; r < pair->runs; r++) {
			const struct fb_kv_run *run = &pair->run[r], *next = run + 1;

			CHECK(run->at == at && run->bytes > 0);
			at += run->bytes;
			if (r + 1 == pair->unit[u])
				u++;
			else
				CHECK(run->src + run->bytes != next->src ||
				      run->dst + run->bytes != next->dst);
		}
		CHECK_INT(at, pair->region_bytes * span);
		received += at / span;
	}
	CHECK_INT(received, (uint64_t)plan->shape.tp[FB_KV_DECODE] *
				    fb_kv_heads(&plan->shape, FB_KV_DECODE) * plan->shape.tokens *
				    fb_kv_row(&plan->shape));
}

/* No prefill rank sends a head to more decode ranks than another that holds it, but by one. */
static void check_balance(const struct fb_kv_plan *plan)
{
	const struct fb_kv_shape *s = &plan->shape;
	uint32_t count[MOST] = {0};

	for (uint32_t p = 0; p < plan->pairs; p++)
		count[plan->pair[p].prefill] += plan->pair[p].heads;
	for (uint32_t a = 0; a < s->tp[FB_KV_PREFILL]; a++)
		for (uint32_t b = 0; b < a; b++)
			if (fb_kv_first_head(s, FB_KV_PREFILL, a) ==
			    fb_kv_first_head(s, FB_KV_PREFILL, b))
				CHECK(count[a] <= count[b] + 1 && count[b] <= count[a] + 1);
}

static void carry_and_check(const struct fb_kv_shape *s, enum fb_kv_cut cut, bool by_layer)
{
	struct world w;

	open_world(&w, s, cut, by_layer);
	check_runs(&w.plan);
	check_balance(&w.plan);
	carry_out(&w);
	CHECK_INT(wrong(&w), 0);
	close_world(&w);
}

static const uint32_t tokens[] = {1, 3, 4, 5, 8, 11};

static void test_all(void)
{
	static const uint32_t heads[] = {1, 2, 4, 6, 8};
	struct fb_kv_shape s = {.layers = 2, .head_dim = 2, .element_bytes = 2, .block_tokens = 4};

	for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++)
		for (uint32_t i = 0; i < 8 * 8 * 2 * 6 * 3 * 5; i++) {
			s.kv_heads = heads[h];
			s.tp[FB_KV_PREFILL] = 1 + i % 8;
			s.tp[FB_KV_DECODE] = 1 + i / 8 % 8;
			s.layout[FB_KV_PREFILL] = (enum fb_kv_layout)(i / 64 % 2);
			s.layout[FB_KV_DECODE] = s.layout[FB_KV_PREFILL];
			s.tokens = tokens[i / 128 % 6];
			s.page_run = i / 768 % 3; /* 0, 1, 2 */
			if (fb_kv_divides(&s))
				carry_and_check(&s, (enum fb_kv_cut)(i / 2304), false);
		}
}

/* All pairs of layouts, of groups whose sizes are alike, divide or replicate, by all cuts. */
static void test_layouts(void)
{
	static const uint32_t tp[][3] = {{8, 1, 1}, {8, 4, 4}, {8, 2, 4}, {8, 4, 1},
					 {2, 4, 4}, {2, 1, 8}, {1, 1, 1}, {1, 2, 4}};
	enum { CASES = 8, LAYOUTS = FB_KV_LAYOUTS, RUNS = 3, CUTS = 5 };

	for (uint32_t i = 0; i < CASES * LAYOUTS * LAYOUTS * RUNS * CUTS * 4; i++) {
		struct fb_kv_shape s = {.layers = 3, .head_dim = 2, .element_bytes = 2,
					.block_tokens = 4, .tokens = 11};
		uint32_t rest = i;

		s.kv_heads = tp[rest % CASES][0];
		s.tp[FB_KV_PREFILL] = tp[rest % CASES][1];
		s.tp[FB_KV_DECODE] = tp[rest % CASES][2];
		rest /= CASES;
		s.layout[FB_KV_PREFILL] = (enum fb_kv_layout)(rest % LAYOUTS);
		rest /= LAYOUTS;
		s.layout[FB_KV_DECODE] = (enum fb_kv_layout)(rest % LAYOUTS);
		rest /= LAYOUTS;
		s.page_run = rest % RUNS; /* 0, 1, 2 */
		s.decode_run = (rest % RUNS + 1) % RUNS;
		rest /= RUNS;
		s.parts = rest / CUTS % 2 ? 1 : 2;
		carry_and_check(&s, (enum fb_kv_cut)(rest % CUTS), rest / CUTS / 2);
	}
}

/* How many descriptors there are, in cases that can be counted by hand. */
static void test_counts(void)
{
	static const struct {
		enum fb_kv_layout layout, decode;
		uint32_t p, d, page_run, tokens, pairs, runs, span;
	} cases[] = {
		/* 16 blocks of 4 tokens, 8 heads. Whole pages: one run a block, or all in one. */
		{FB_KV_HND, FB_KV_HND, 2, 2, 1, 64, 2, 16, 1},
		{FB_KV_NHD, FB_KV_NHD, 2, 2, 1, 64, 2, 16, 1},
		{FB_KV_HND, FB_KV_HND, 2, 2, 0, 64, 2, 1, 1},
		{FB_KV_NHD, FB_KV_NHD, 2, 2, 0, 64, 2, 1, 1},
		/* A slice of heads: one run a block, or one a token. */
		{FB_KV_HND, FB_KV_HND, 1, 4, 1, 64, 4, 16, 1},
		{FB_KV_NHD, FB_KV_NHD, 1, 4, 1, 64, 4, 64, 1},
		{FB_KV_HND, FB_KV_HND, 4, 1, 1, 64, 4, 16, 1},
		{FB_KV_NHD, FB_KV_NHD, 8, 2, 1, 64, 8, 64, 1},
		/* The last block has 1 token: in HND its heads are apart. */
		{FB_KV_HND, FB_KV_HND, 1, 2, 1, 61, 2, 15 + 4, 1},
		{FB_KV_NHD, FB_KV_NHD, 1, 1, 1, 61, 1, 16, 1},
		/* A block of K and V, or of all layers, is one run of a list of both, or all. */
		{FB_KV_PAIRED_HND, FB_KV_PAIRED_HND, 2, 2, 1, 64, 2, 16, 2},
		{FB_KV_PAIRED_NHD, FB_KV_BLOCK_NHD, 2, 2, 1, 64, 2, 16, 2},
		{FB_KV_BLOCK_HND, FB_KV_BLOCK_HND, 2, 2, 1, 64, 2, 16, 6},
		{FB_KV_BLOCK_NHD, FB_KV_BLOCK_NHD, 1, 1, 0, 64, 1, 1, 6},
		/* Layers are apart on one side: a run of each; and with slices K and V are, too. */
		{FB_KV_BLOCK_HND, FB_KV_HND, 2, 2, 1, 64, 2, 16, 1},
		{FB_KV_BLOCK_HND, FB_KV_BLOCK_HND, 1, 4, 1, 64, 4, 2 * 16, 2},
		/* Other orders of 4 heads: each token of each head; blocks meet at a corner. */
		{FB_KV_NHD, FB_KV_HND, 2, 2, 0, 64, 2, 64 * 4 - 15, 1},
		{FB_KV_BLOCK_HND, FB_KV_NHD, 2, 2, 1, 64, 2, 64 * 4, 1},
		/* One head is in the same order in both. */
		{FB_KV_NHD, FB_KV_HND, 8, 8, 1, 64, 8, 16, 1},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct fb_kv_shape s = {.layers = 3, .kv_heads = 8, .head_dim = 2,
					.element_bytes = 2, .tokens = cases[c].tokens,
					.block_tokens = 4, .page_run = cases[c].page_run,
					.layout = {cases[c].layout, cases[c].decode},
					.tp = {cases[c].p, cases[c].d}};
		struct world w;
		uint32_t runs;

		open_world(&w, &s, FB_KV_CUT_NONE, false);
		CHECK_INT(w.plan.pairs, cases[c].pairs);
		CHECK_INT(fb_kv_span(&w.plan), cases[c].span);
		runs = w.plan.pair[0].runs;
		/* Two neighbours of one table may by chance be neighbours in the other, too. */
		CHECK(runs <= cases[c].runs && runs + 3 >= cases[c].runs);
		close_world(&w);
	}
}

static void test_mutants(void)
{
	for (int i = 0; i < 6 * FB_KV_LAYOUTS * FB_KV_LAYOUTS; i++) {
		int mutant = i % 6, layouts = i / 6;
		struct fb_kv_shape s = {.layers = 2, .kv_heads = 8, .head_dim = 2,
					.element_bytes = 2, .tokens = 27, .block_tokens = 4,
					.page_run = 1, .tp = {2, 4}};
		struct fb_kv_pair *pair;
		struct world w;

		s.layout[FB_KV_PREFILL] = (enum fb_kv_layout)(layouts % FB_KV_LAYOUTS);
		s.layout[FB_KV_DECODE] = (enum fb_kv_layout)(layouts / FB_KV_LAYOUTS);
		open_world(&w, &s, FB_KV_CUT_NONE, false);
		pair = &w.plan.pair[2];
		if (mutant == 0)
			pair->run[3].dst += 4;
		else if (mutant == 1)
			pair->run[5].src += 4;
		else if (mutant == 2)
			pair->unit[pair->units]--;
		else if (mutant == 3)
			pair->run[0].bytes -= 2;
		else if (mutant == 4)
			pair->prefill = 1 - pair->prefill;
		else if (fb_kv_is_hnd(&s, FB_KV_PREFILL)) /* behind it is nothing of anybody */
			pair->run[pair->runs - 1].src -= 4;
		else
			pair->run[pair->runs - 1].bytes += 4;
		carry_out(&w);
		CHECK(wrong(&w) > 0);
		close_world(&w);
	}
}

/* Elements of matrices from the published widths; and plans of small models', carried out. */
static void test_weights(void)
{
	const struct fb_kv_model small[] = {
		{.layers = 2, .kv_heads = 2, .head_dim = 4, .hidden = 24, .heads = 4,
		 .query_dim = 6, .ffn = 20, .dense_layers = 2},
		{.layers = 3, .kv_heads = 1, .head_dim = 7, .hidden = 8, .heads = 4,
		 .query_dim = 6, .ffn = 12, .dense_layers = 1, .experts = 4, .expert_ffn = 4,
		 .shared = 1, .query_latent = 5, .value_dim = 4}};
	const uint64_t a_layer = UINT64_C(2) * 4096 * 4096 + UINT64_C(2) * 1024 * 4096 +
				 UINT64_C(3) * 4096 * 14336;
	struct fb_kv_shape asked = {.element_bytes = 2, .tp = {1, 1}}, list[FB_KV_LISTS];
	int n = fb_kv_model_weights(fb_kv_model_find("llama-3.1-8b"), &asked, list);
	uint64_t bytes = 0;

	for (int l = 0; l < n; l++)
		bytes += fb_kv_bytes(&list[l]);
	CHECK_INT(bytes, a_layer * 32 * 2);
	for (uint32_t p = 1; p <= 4; p *= 2)
		for (uint32_t k = 0; k < 6; k++) {
			bool sparse = k >= 3;

			asked.tp[FB_KV_PREFILL] = p;
			asked.tp[FB_KV_DECODE] = 1u << k % 3;
			n = fb_kv_model_weights(&small[sparse], &asked, list);
			CHECK_INT(n, sparse ? 12 : 5);
			for (int l = 0; l < n; l++) {
				struct world w;

				open_world(&w, &list[l], FB_KV_CUT_NONE, false);
				carry_out(&w);
				CHECK_INT(wrong(&w), 0);
				close_world(&w);
			}
		}
}

int main(void)
{
	test_all();
	test_layouts();
	test_counts();
	test_mutants();
	test_weights();
	return check_done("kv_plan");
}
