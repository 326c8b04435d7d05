/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What serve is made of: generated traces have the quantiles of the published ones and the mean
 * rate asked for; files of both formats, and lines that are of none; the book of a cache's blocks
 * against a simple model of it; and times of requests that a stalled service made wait, which a
 * closed loop would leave out.
 */
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "kvtransfer/serve/account.h"
#include "kvtransfer/serve/pool.h"
#include "kvtransfer/serve/trace.h"
#include "tests/unit/check.h"

enum { MANY = 20000, BLOCKS = 24, PROMPTS = 12, PROMPT = 6 };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The q-quantile of prompts, or of answers. */
static double length(const struct fb_trace *t, double q, bool output)
{
	double *x = calloc(t->count, sizeof(*x)), result;

	for (uint32_t i = 0; i < t->count; i++)
		x[i] = output ? t->request[i].output : t->request[i].input;
	qsort(x, t->count, sizeof(*x), by_size);
	result = x[(size_t)(q * (t->count - 1))];
	free(x);
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
	fb_trace_arrive(&t, FB_ARRIVE_POISSON, 50, 0.5, 1);
	intervals(&t, &mean, &cv);
	CHECK_NEAR(mean, 0.02, 0.0006);
	CHECK_NEAR(cv, 1, 0.04);
	for (int k = 0; k < 2; k++) {
		fb_trace_arrive(&t, FB_ARRIVE_GAMMA, 50, k ? 2 : 0.5, 1);
		intervals(&t, &mean, &cv);
		CHECK_NEAR(mean, 0.02, 0.001);
		CHECK_NEAR(cv, k ? 2 : 0.5, 0.1);
	}
	fb_trace_arrive(&t, FB_ARRIVE_FIXED, 50, 1, 1);
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

	CHECK_INT(open_text(&t, "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, "
			    "\"hash_ids\": [7, 8, 9]}\n{\"timestamp\": 3000, \"input_length\": 600,"
			    " \"output_length\": 1, \"hash_ids\": [7, 10]}\n", 10, 1), FB_OK);
	CHECK_INT(t.count, 2);
	CHECK_INT(t.request[0].blocks, 69);
	CHECK_INT(t.request[1].input, 600);
	/* The first 512 tokens are the same ones, what follows is not. */
	CHECK(t.request[0].hash[31] == t.request[1].hash[31]);
	CHECK(t.request[0].hash[32] != t.request[1].hash[32]);
	fb_trace_arrive(&t, FB_ARRIVE_TRACE, 0, 1, 1);
	CHECK_NEAR(t.request[1].at, 3, 1e-9);
	fb_trace_arrive(&t, FB_ARRIVE_TRACE, 2, 1, 1);
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

int main(void)
{
	test_lengths();
	test_arrivals();
	test_files();
	test_pool();
	test_omission();
	return check_done("serve");
}
