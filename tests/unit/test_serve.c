/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of serve: generated traces have the quantiles of the published ones and the mean rate
 * asked for; files of both formats, and lines that are of none; the book of a cache's blocks
 * against a simple model of it; times of requests that a stalled service made wait, which a closed
 * loop would leave out; and which blocks of a cache are moved, carried out and compared by bytes.
 */
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "kvtransfer/serve/account.h"
#include "kvtransfer/serve/pool.h"
#include "kvtransfer/serve/serve.h"
#include "kvtransfer/serve/trace.h"
#include "tests/unit/check.h"

enum { MANY = 20000, BLOCKS = 24, PROMPTS = 12, PROMPT = 6 };

/* The q-quantile of prompts, or of answers. */
static double length(const struct fb_trace *t, double q, bool output)
{
	struct fb_series s = {.value = calloc(t->count, sizeof(double)), .n = t->count};
	double result;

	for (uint32_t i = 0; i < t->count; i++)
		s.value[i] = output ? t->request[i].output : t->request[i].input;
	result = fb_series_quantile(&s, q);
	free(s.value);
	return result;
}

static struct fb_trace_config config(const char *source, uint32_t count)
{
	return (struct fb_trace_config){.source = source, .count = count, .block_tokens = 16,
					.scale = 1, .seed = 3};
}

static void test_lengths(void)
{
	struct fb_trace_config c = config("azure-conv", MANY);
	struct fb_trace t;

	CHECK_INT(fb_trace_open(&t, &c), FB_OK);
	CHECK_NEAR(length(&t, 0.5, false), 1020, 30);
	CHECK_NEAR(length(&t, 0.99, false), 4142, 300);
	CHECK_NEAR(length(&t, 0.5, true), 129, 6);
	CHECK(t.longest_input <= 14050);
	fb_trace_close(&t);
	c.source = "mooncake";
	CHECK_INT(fb_trace_open(&t, &c), FB_OK);
	CHECK_NEAR(length(&t, 0.5, false), 6909, 250);
	CHECK_NEAR(length(&t, 0.9, false), 27367, 1500);
	CHECK(length(&t, 0.99, false) > 75000);
	fb_trace_close(&t);
	c.source = "azure-code";
	c.scale = 0.5;
	CHECK_INT(fb_trace_open(&t, &c), FB_OK);
	CHECK_NEAR(length(&t, 0.5, false), 735, 25);
	fb_trace_close(&t);
}

/* Mean and coefficient of variation of intervals. */
static void intervals(const struct fb_trace *t, double *mean, double *cv)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 1; i < t->count; i++) {
		double d = t->request[i].at - t->request[i - 1].at;

		CHECK(d >= 0);
		sum += d;
		squares += d * d;
	}
	*mean = sum / (t->count - 1);
	*cv = sqrt(fmax(squares / (t->count - 1) - *mean * *mean, 0)) / *mean;
}

static void test_arrivals(void)
{
	struct fb_trace_config c = config("azure-conv", MANY);
	struct fb_trace t;
	double mean, cv;

	CHECK_INT(fb_trace_open(&t, &c), FB_OK);
	fb_trace_arrive(&t, t.count, FB_ARRIVE_POISSON, 50, 0.5, 1);
	intervals(&t, &mean, &cv);
	CHECK_NEAR(mean, 0.02, 0.0006);
	CHECK_NEAR(cv, 1, 0.04);
	for (int k = 0; k < 2; k++) {
		fb_trace_arrive(&t, t.count, FB_ARRIVE_GAMMA, 50, k ? 2 : 0.5, 1);
		intervals(&t, &mean, &cv);
		CHECK_NEAR(mean, 0.02, 0.001);
		CHECK_NEAR(cv, k ? 2 : 0.5, 0.1);
	}
	fb_trace_arrive(&t, t.count, FB_ARRIVE_FIXED, 50, 1, 1);
	intervals(&t, &mean, &cv);
	CHECK_NEAR(mean, 0.02, 1e-9);
	CHECK_NEAR(cv, 0, 1e-3);
	fb_trace_close(&t);
}

static int open_text(struct fb_trace *t, const char *text, uint32_t count, double scale)
{
	char name[] = "/tmp/fabricbench-trace-XXXXXX";
	struct fb_trace_config c = config(name, count);
	int fd = mkstemp(name), err;

	c.scale = scale;
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	err = fb_trace_open(t, &c);
	unlink(name);
	return err;
}

static void test_files(void)
{
	static const char *const bad[] = {
		"", "\n\n", "{\"timestamp\": 1}\n", "1,2\n", "TIMESTAMP,ContextTokens,x\n",
		"{\"timestamp\": 1, \"input_length\": -4, \"output_length\": 3, \"hash_ids\": []}",
		"{\"timestamp\": 1, \"input_length\": 4, \"output_length\": 3, \"hash_ids\": [1",
		"{\"timestamp\": 1, \"input_length\": 4, \"output_length\": 3, \"hash_ids\": [x]}",
		"2023-11-16 18:15:46.68,374,44,9\n", "2023-11-16,374,44\n",
		"2023-11-16 18:15:46.68,many,44\n"};
	struct fb_trace t;

	/* Lines need not be in the order of arrival. */
	CHECK_INT(open_text(&t, "{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 1,"
			    " \"hash_ids\": [7, 10]}\n{\"timestamp\": 0, \"input_length\": 1100,"
			    " \"output_length\": 5, \"hash_ids\": [7, 8, 9]}\n", 10, 1), FB_OK);
	CHECK_INT(t.count, 2);
	CHECK_INT(t.request[0].blocks, 69);
	CHECK_INT(t.request[1].input, 600);
	/* The first 512 tokens are the same ones, what follows is not. */
	CHECK(t.request[0].hash[31] == t.request[1].hash[31]);
	CHECK(t.request[0].hash[32] != t.request[1].hash[32]);
	fb_trace_arrive(&t, t.count, FB_ARRIVE_TRACE, 0, 1, 1);
	CHECK_NEAR(t.request[1].at, 3, 1e-9);
	fb_trace_arrive(&t, t.count, FB_ARRIVE_TRACE, 2, 1, 1);
	CHECK_NEAR(t.request[1].at, 0.5, 1e-9);
	fb_trace_close(&t);
	/* The rate is that of the first two, whatever comes behind them. */
	CHECK_INT(open_text(&t, "2023-11-16 18:15:46,9,1\n2023-11-16 18:15:50,9,1\n"
			    "2023-11-16 18:15:51,9,1\n", 10, 1), FB_OK);
	fb_trace_arrive(&t, 2, FB_ARRIVE_TRACE, 2, 1, 1);
	CHECK_NEAR(t.request[1].at, 0.5, 1e-9);
	fb_trace_close(&t);
	CHECK_INT(open_text(&t, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
			    "2023-11-16 18:15:46.5,374,44\r\n2023-11-16 18:16:01.0,20,1\r\n", 1,
			    0.5), FB_OK);
	CHECK_INT(t.count, 1);
	CHECK_INT(t.request[0].input, 187);
	CHECK_INT(t.request[0].output, 22);
	fb_trace_close(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK_INT(open_text(&t, bad[i], 10, 1), FB_EINPUT))
			printf("\tbad[%zu]\n", i);
}

/* Prompts come and go at random; contents are kept beside the book, as workers would. */
static void test_pool(void)
{
	uint64_t content[BLOCKS] = {0}, hash[PROMPTS][PROMPT];
	uint32_t block[PROMPTS][PROMPT], held[PROMPTS], hits = 0, refused = 0;
	bool open[PROMPTS] = {false}, ready[PROMPTS] = {false};
	unsigned pins[BLOCKS] = {0}, wrong = 0;
	struct fb_pool pool;
	struct fb_rng rng;

	fb_rng_seed(&rng, 5);
	CHECK_INT(fb_pool_open(&pool, BLOCKS), FB_OK);
	for (int k = 0; k < MANY; k++) {
		uint64_t i = fb_rng_below(&rng, PROMPTS), family = fb_rng_below(&rng, 5);

		if (!open[i]) {
			for (uint32_t b = 0; b < PROMPT; b++)
				hash[i][b] = fb_mix64(b + 100 * (b < 3 ? family : 50 + i));
			open[i] = fb_pool_take(&pool, hash[i], PROMPT, block[i], &held[i]);
			refused += !open[i];
			ready[i] = false;
			for (uint32_t b = 0; b < PROMPT && open[i]; b++) {
				uint32_t at = block[i][b];

				wrong += b < held[i] ? content[at] != hash[i][b] : pins[at] != 0;
				pins[at]++;
				hits += b < held[i];
				if (b >= held[i])
					content[at] = 0; /* not computed yet */
			}
		} else if (!ready[i]) {
			for (uint32_t b = held[i]; b < PROMPT; b++)
				content[block[i][b]] = hash[i][b];
			fb_pool_ready(&pool, block[i], PROMPT);
			ready[i] = true;
		} else {
			for (uint32_t b = 0; b < PROMPT; b++)
				wrong += content[block[i][b]] != hash[i][b] || !pins[block[i][b]]--;
			fb_pool_give(&pool, block[i], PROMPT);
			open[i] = false;
		}
	}
	CHECK_INT(wrong, 0);
	CHECK(hits > 1000 && refused > 100);
	for (int i = 0; i < PROMPTS; i++)
		if (open[i])
			fb_pool_give(&pool, block[i], PROMPT);
	CHECK_INT(pool.idle, BLOCKS);
	fb_pool_close(&pool);
}

/*
 * Ten requests are planned 0.1 s apart; the service stands still for a second and then takes 10 ms
 * for each. Their waiting counts from the plan: a loop that sends when the last one is done would
 * say 10 ms for all but one.
 */
static void test_omission(void)
{
	const struct fb_objective objective = {0.5, 0.05};
	struct fb_account a = {.requests = 0};
	struct fb_served s[10];
	double now = 1;

	memset(s, 0, sizeof(s));
	for (int i = 0; i < 10; i++) {
		s[i].planned = 0.1 * i;
		now += 0.01;
		s[i].compute = 0.01;
		s[i].prefilled = s[i].arrived = now;
		fb_account_token(&a, &s[i], now);
		fb_account_token(&a, &s[i], now + 0.02);
	}
	CHECK_NEAR(fb_account_replay(&a, s, 10, &objective), 0.4, 1e-9);
	CHECK_NEAR(a.ttft_sum, 6.05, 1e-9);
	CHECK_NEAR(fb_series_quantile(&a.ttft, 0.5), 560000, 1);
	CHECK_NEAR(fb_series_quantile(&a.queue, 0.5), 550000, 1);
	CHECK_NEAR(fb_series_quantile(&a.itl, 0.5), 20000, 1);
	CHECK(isnan(fb_series_quantile(&a.ttft, 0.95)));
	CHECK_NEAR(a.span, 1.12, 1e-9);
	CHECK_INT(a.met, 4);
	fb_account_close(&a);
}

/* --- the blocks that a cache is moved by ------------------------------------------------------ */

enum { POOL = 16, TOKENS = 4, MOST_BYTES = 1 << 14, FROM = 0x11, TO = 0x22 };

static const struct fb_kv_model caches[] = {
	{.layers = 3, .kv_heads = 1, .head_dim = 2, .parts = 2},
	{.layers = 5, .kv_heads = 1, .head_dim = 2, .parts = 2, .window = 6, .windowed = 2},
	{.layers = 2, .kv_heads = 1, .head_dim = 4, .parts = 1, .index_bytes = 6},
};

/* A prompt whose block b is page b + 1 of the prefill worker, and page 2 b of the decode worker. */
static struct fb_control *message_of(uint32_t input, uint32_t held)
{
	uint32_t blocks = (input + TOKENS - 1) / TOKENS;
	struct fb_control *l = calloc(1, sizeof(*l) + 4 * blocks * sizeof(l->list[0]));

	if (!l)
		abort();
	l->header = (struct fb_control_header){.input = input, .blocks = blocks, .held = {0, held}};
	for (uint32_t b = 0; b < blocks; b++) {
		l->list[b] = b + 1;
		l->list[blocks + b] = 2 * b;
	}
	return l;
}

/* By tokens: whether a decode worker lacks a block in the layers of a list. */
static bool lacks(const struct fb_serve_plan *p, int list, const struct fb_control *l,
		  uint32_t block)
{
	bool window = list && p->model->window;

	for (uint32_t t = block * TOKENS; t < l->header.input && t < (block + 1) * TOKENS; t++)
		if (window ? t + p->model->window >= l->header.input : block >= l->header.held[1])
			return true;
	return false;
}

/* Bytes of the decode worker that are not what they should be. */
static uint64_t wrong_bytes(const struct fb_serve_plan *p, const struct fb_control *l,
			    const unsigned char *to)
{
	uint64_t wrong = 0;

	for (int k = 0; k < p->lists; k++)
		for (uint32_t r = 0; r < p->list[k].regions; r++)
			for (uint64_t i = 0; i < p->list[k].region_bytes; i++) {
				uint64_t page = i / p->list[k].page_bytes;
				bool moved = page % 2 == 0 && page / 2 < l->header.blocks &&
					     lacks(p, k, l, (uint32_t)page / 2);
				uint64_t at = p->list[k].at + r * p->list[k].region_bytes;
				/* The sender's page of this block is page / 2 + 1. */
				uint64_t from = at + (page / 2 + 1) * p->list[k].page_bytes +
						i % p->list[k].page_bytes;

				wrong += to[at + i] !=
					 (moved ? (unsigned char)(FROM + from % 251) : TO);
			}
	return wrong;
}

/* Every transfer by memcpy. */
static void carry(const struct fb_transfer *t, const unsigned char *from, unsigned char *to)
{
	for (uint32_t r = 0; r < t->repeats; r++)
		for (uint64_t k = 0; k < t->pieces; k++)
			memcpy(to + t->remote_at + r * t->remote_step + t->piece[k].remote,
			       from + t->local_at + r * t->local_step + t->piece[k].local,
			       t->piece[k].bytes);
}

/* Carries a prompt's cache out, with a mistake or without (0). Returns wrong bytes. */
static uint64_t move_cache(struct fb_serve_plan *p, uint32_t input, uint32_t held, int mistake)
{
	static unsigned char from[MOST_BYTES], to[MOST_BYTES];
	struct fb_control *l = message_of(input, held);
	struct fb_transfer t[FB_SERVE_LISTS] = {{.verb = FB_MOVE_PUT}};
	struct fb_piece piece[2 * POOL] = {{.bytes = 0}}, *next = piece;
	uint64_t bytes = fb_serve_pieces(p, l, piece, t), moved = 0, wrong;
	const struct fb_transfer *shifted =
		mistake > FB_SERVE_LISTS ? &t[mistake - FB_SERVE_LISTS - 1] : NULL;

	CHECK(p->bytes <= MOST_BYTES);
	for (size_t i = 0; i < MOST_BYTES; i++)
		from[i] = (unsigned char)(FROM + i % 251);
	memset(to, TO, sizeof(to));
	for (int k = 0; k < p->lists; k++) {
		CHECK_INT(t[k].notice, FB_SERVE_NOTICE);
		moved += fb_transfer_bytes(&t[k]);
		if (&t[k] == shifted)
			next->remote += p->list[k].page_bytes;
		next += t[k].pieces;
		t[k].pieces -= mistake == k + 1;
		carry(&t[k], from, to);
	}
	CHECK_INT(bytes, moved);
	wrong = wrong_bytes(p, l, to);
	free(l);
	return wrong;
}

static void test_moved_blocks(void)
{
	for (size_t m = 0; m < sizeof(caches) / sizeof(caches[0]); m++) {
		struct fb_serve_plan p = {.model = &caches[m], .pool_blocks = POOL};
		int lists = caches[m].window || caches[m].index_bytes ? 2 : 1;

		p.shape = fb_kv_model_shape(&caches[m], 2);
		p.shape.block_tokens = TOKENS;
		fb_serve_lists(&p);
		CHECK_INT(p.lists, lists);
		for (uint32_t input = 1; input <= TOKENS * POOL / 2; input++)
			for (uint32_t held = 0; held <= (input + TOKENS - 1) / TOKENS; held++)
				CHECK_INT(move_cache(&p, input, held, 0), 0);
		for (int list = 0; list < lists; list++) {
			CHECK(move_cache(&p, 19, 1, 1 + list) > 0);
			CHECK(move_cache(&p, 19, 1, 1 + list + FB_SERVE_LISTS) > 0);
		}
	}
}

/* Each layer of a model is in one list, and layers of a list are counted through. */
static void test_layers_of_lists(void)
{
	for (size_t m = 0; m < sizeof(caches) / sizeof(caches[0]); m++) {
		struct fb_kv_shape list[FB_KV_LISTS], asked = fb_kv_model_shape(&caches[m], 2);
		int lists, next[FB_KV_LISTS] = {0};

		asked.tokens = 20;
		asked.block_tokens = TOKENS;
		lists = fb_kv_model_lists(&caches[m], &asked, list);
		for (uint32_t layer = 0; layer < caches[m].layers; layer++)
			for (int k = 0; k < lists; k++) {
				int at = fb_kv_model_layer(&caches[m], lists, k, layer);
				bool passed = !fb_kv_model_keeps(&caches[m], layer, &asked, 0);

				if (at >= 0)
					CHECK_INT(at, next[k]++);
				CHECK_INT(at >= 0, caches[m].index_bytes || lists == 1 ||
							   passed == (k == 1));
			}
		for (int k = 0; k < lists; k++)
			CHECK_INT(next[k], list[k].layers);
	}
}

int main(void)
{
	test_moved_blocks();
	test_layers_of_lists();
	test_lengths();
	test_arrivals();
	test_files();
	test_pool();
	test_omission();
	return check_done("serve");
}
