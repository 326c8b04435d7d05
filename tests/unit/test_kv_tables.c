/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block tables: no page twice, none outside of the pool, and not in order when an allocator has
 * been used. And which numbers of heads and ranks go together.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "kvtransfer/plan.h"
#include "tests/unit/check.h"

static void test_refused(void)
{
	struct fb_kv_shape s = {.kv_heads = 8, .tp = {3, 1}};

	CHECK(!fb_kv_divides(&s));
	s.tp[FB_KV_PREFILL] = 16;
	CHECK(fb_kv_divides(&s));
	s.tp[FB_KV_DECODE] = 12;
	CHECK(!fb_kv_divides(&s));
}

/* A table names no page twice and none outside of the pool. */
static void test_tables(void)
{
	struct fb_kv_shape s = {.kv_heads = 1, .head_dim = 1, .element_bytes = 1,
				.block_tokens = 1, .tp = {1, 1}, .layers = 1};

	for (s.tokens = 1; s.tokens < 40; s.tokens++)
		for (s.page_run = 0; s.page_run < 9; s.page_run++) {
			struct fb_kv_plan plan;
			uint32_t found = 0;

			if (!CHECK_INT(fb_kv_plan_open(&plan, &s, s.tokens), FB_OK))
				return;
			for (uint32_t b = 0; b < s.tokens; b++) {
				uint32_t page = plan.table[FB_KV_DECODE][b];

				CHECK(page < fb_kv_pool(&s));
				found += plan.inverse[FB_KV_DECODE][page] == (int32_t)b;
			}
			CHECK_INT(found, s.tokens);
			fb_kv_plan_close(&plan);
		}
}

/* A used allocator's table: no page twice, all in the pool, and not in order. */
static void test_churn(void)
{
	for (uint32_t churn = 5; churn <= 95; churn += 15) {
		struct fb_kv_shape s = {.layers = 1, .kv_heads = 1, .head_dim = 8,
					.element_bytes = 2, .tokens = 1000, .block_tokens = 4,
					.churn = churn, .tp = {1, 1}};
		struct fb_kv_plan plan;
		uint32_t twice = 0, next = 0, blocks = fb_kv_blocks(&s), pool = fb_kv_pool(&s);
		bool *seen = calloc(pool, sizeof(*seen));

		CHECK_INT(fb_kv_plan_open(&plan, &s, churn), FB_OK);
		for (uint32_t b = 0; b < blocks && seen; b++) {
			uint32_t page = plan.table[FB_KV_PREFILL][b];

			if (!CHECK(page < pool))
				continue;
			twice += seen[page];
			seen[page] = true;
			next += b && page == plan.table[FB_KV_PREFILL][b - 1] + 1;
		}
		CHECK_INT(twice, 0);
		CHECK(next < blocks - 1);
		CHECK(memcmp(plan.table[0], plan.table[1], blocks * sizeof(uint32_t)) != 0);
		fb_kv_plan_close(&plan);
		free(seen);
	}
}

int main(void)
{
	test_refused();
	test_tables();
	test_churn();
	return check_done("kv_tables");
}
