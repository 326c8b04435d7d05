/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tensors and buckets: sizes that divide and that do not, the order of backward, what belongs to
 * which bucket, and lists of ratios that are refused.
 */
#include "overlap/schedule/buckets.h"

#include <string.h>

#include "common/base/error.h"
#include "tests/unit/check.h"

static struct fb_ratios model_of(uint64_t layers, const char *ratios)
{
	struct fb_ratios model = {.layers = layers};

	CHECK_INT(fb_ratios_parse(&model, ratios), FB_OK);
	return model;
}

/* "4 2 2 | 4": the elements of the tensors, and where buckets end. */
static const char *text_of(const struct fb_gradients *g, char *text, size_t n)
{
	size_t used = 0, bucket = 0;

	text[0] = '\0';
	for (size_t t = 0; t < g->ntensors && used < n; t++) {
		used += (size_t)snprintf(text + used, n - used, "%s%llu", t ? " " : "",
					 (unsigned long long)g->tensors[t].count);
		if (bucket < g->nbuckets && g->buckets[bucket].last == t && used < n) {
			used += (size_t)snprintf(text + used, n - used, " |");
			bucket++;
		}
	}
	return text;
}

/* What holds for all of them: no gaps, nothing twice, every bucket's elements its tensors'. */
static void check_whole(const struct fb_gradients *g, uint64_t count)
{
	uint64_t at = 0, in_buckets = 0;
	size_t t = 0;

	for (size_t b = 0; b < g->nbuckets; b++) {
		CHECK_INT(g->buckets[b].first, in_buckets);
		in_buckets += g->buckets[b].count;
		for (; t <= g->buckets[b].last && t < g->ntensors; t++) {
			CHECK_INT(g->tensors[t].first, at);
			CHECK(g->tensors[t].count > 0);
			at += g->tensors[t].count;
		}
		CHECK_INT(at, in_buckets);
	}
	CHECK_INT(t, g->ntensors);
	CHECK_INT(at, count);
}

static void check(uint64_t layers, const char *ratios, uint64_t count, uint64_t align,
		  uint64_t full, const char *want)
{
	const struct fb_ratios model = model_of(layers, ratios);
	struct fb_gradients g;
	char text[512];

	if (!CHECK_INT(fb_gradients_split(&g, &model, count, align), FB_OK))
		return;
	fb_gradients_pack(&g, full, full);
	CHECK_STR(text_of(&g, text, sizeof(text)), want);
	check_whole(&g, count);
	fb_gradients_free(&g);
	CHECK_INT(g.ntensors + g.nbuckets, 0);
}

static void test_buckets(void)
{
	/* Backward begins with the last tensor of the last layer. */
	check(1, "1,2,4", 7, 1, 0, "4 2 1 |");
	check(2, "1,2", 6, 1, 0, "2 1 2 1 |");
	/* Full with as much or more, never before, and never with a part of a tensor. */
	check(4, "1", 16, 1, 4, "4 | 4 | 4 | 4 |");
	check(4, "1", 16, 1, 5, "4 4 | 4 4 |");
	check(4, "1", 16, 1, 8, "4 4 | 4 4 |");
	check(4, "1", 16, 1, 1, "4 | 4 | 4 | 4 |");
	/* What is left is a smaller bucket, the last. */
	check(5, "1", 20, 1, 8, "4 4 | 4 4 | 4 |");
	check(3, "1,3", 12, 1, 4, "3 1 | 3 1 | 3 1 |");
	check(3, "3,1", 12, 1, 4, "1 3 | 1 3 | 1 3 |");
	check(1, "1,1,1", 3, 1, 100, "1 1 1 |");
}

static void test_rounding(void)
{
	/* Sizes that do not divide: boundaries are rounded down, the last tensor takes the rest. */
	check(3, "1", 10, 1, 0, "3 3 4 |");
	check(3, "1", 10, 4, 0, "4 6 |");
	check(1, "4,1,1,4,14,14,14", 100, 8, 30, "24 24 | 32 | 8 12 |");
	/* Too few elements for all tensors: those that would be empty are left out. */
	check(8, "1", 3, 1, 0, "1 1 1 |");
	check(8, "1", 3, 128, 0, "3 |");
	check(8, "1", 0, 1, 0, "");
}

/* Eight layers of Llama 3 8B: 3.5 GB of bf16. */
static void test_large(void)
{
	const struct fb_ratios model = model_of(8, "4,1,1,4,14,14,14");
	const uint64_t unit = 4096 * 4096 / 4, mib = 1 << 19; /* of bf16 */
	struct fb_gradients g;

	CHECK_INT(fb_gradients_split(&g, &model, 8 * 52 * unit, 256), FB_OK);
	fb_gradients_pack(&g, 25 * mib, 25 * mib);
	check_whole(&g, 8 * 52 * unit);
	CHECK_INT(g.ntensors, 56);
	CHECK_INT(g.tensors[0].count, 14 * unit);
	CHECK_INT(g.tensors[6].count, 4 * unit);
	/* down, up, gate, o, and v, k, q together. */
	CHECK_INT(g.nbuckets, 40);
	CHECK_INT(g.buckets[4].count, 6 * unit);
	fb_gradients_free(&g);
	/* As many elements as no sum of products may overflow. */
	CHECK_INT(fb_gradients_split(&g, &model, UINT64_C(1) << 40, 1), FB_OK);
	fb_gradients_pack(&g, 0, 0);
	check_whole(&g, UINT64_C(1) << 40);
	CHECK_INT(g.nbuckets, 1);
	fb_gradients_free(&g);
}

/* Buckets that are cut, also within a tensor: each element once, and ready with its last tensor. */
static void test_cut(void)
{
	const struct fb_ratios model = model_of(1, "2,7,3");
	static const struct fb_bucket want[] = {{0, 4, 1}, {4, 4, 1}, {8, 2, 1}, {10, 2, 2}};
	struct fb_gradients g;
	uint64_t first, shared[3] = {0}, n = 0;

	CHECK_INT(fb_gradients_split(&g, &model, 12, 1), FB_OK);
	fb_gradients_pack(&g, 10, 10); /* 3 and 7, then 2 */
	CHECK_INT(fb_gradients_cut(&g, 4), FB_OK);
	CHECK_INT(g.nbuckets, 4);
	for (size_t k = 0; k < 4 && k < g.nbuckets; k++) {
		CHECK_INT(g.buckets[k].first, want[k].first);
		CHECK_INT(g.buckets[k].count, want[k].count);
		CHECK_INT(g.buckets[k].last, want[k].last);
		for (size_t t = 0; t < 3; t++) {
			uint64_t of_it = fb_gradients_shared(&g, t, k, &first);

			shared[t] += of_it;
			n += of_it;
		}
	}
	CHECK_INT(n, 12);
	CHECK_INT(shared[0] == 3 && shared[1] == 7 && shared[2] == 2, 1);
	CHECK_INT(fb_gradients_shared(&g, 1, 0, &first), 1);
	CHECK_INT(first, 3);
	CHECK_INT(fb_gradients_cut(&g, 0), FB_OK);
	CHECK_INT(g.nbuckets, 4);
	fb_gradients_free(&g);
	CHECK_INT(fb_gradients_split(&g, &model, FB_MOST_BUCKETS * 3, 1), FB_OK);
	fb_gradients_pack(&g, 0, 0);
	CHECK_INT(fb_gradients_cut(&g, 2), FB_EINPUT);
	CHECK_INT(g.nbuckets, 1);
	fb_gradients_free(&g);
}

/* A bucket of PyTorch's size, the first one smaller; and the tensors of a model. */
static void test_first_and_model(void)
{
	const struct fb_ratios model = model_of(5, "1");
	struct fb_gradients g;
	struct fb_nn nn;
	int order[5];
	char text[512], why[FB_NN_WHY];

	CHECK_INT(fb_gradients_split(&g, &model, 20, 1), FB_OK);
	fb_gradients_pack(&g, 1, 8);
	CHECK_STR(text_of(&g, text, sizeof(text)), "4 | 4 4 | 4 4 |");
	fb_gradients_pack(&g, 4, 4);
	/* 0 is sent while 1 and 2 become full: forward needs 2 first, and then 4. */
	fb_gradients_order(&g, order);
	CHECK_INT(order[0] == 0 && order[1] == 2 && order[2] == 4, 1);
	CHECK_INT(order[3] == 3 && order[4] == 1, 1);
	fb_gradients_pack(&g, 8, 0);
	CHECK_STR(text_of(&g, text, sizeof(text)), "4 4 | 4 4 4 |");
	fb_gradients_free(&g);
	CHECK_INT(fb_nn_read(&nn, "model m\nheads 1 4 4\nlayer a 2\ntensor p 4 4\nattention\n"
			     "tensor q 5 3\nlayer b 1\nvector v 6\nshared s 9 9\n", "m", "", why),
		  FB_OK);
	CHECK_INT(fb_gradients_list(&g, &nn, 8), FB_OK);
	fb_gradients_pack(&g, 0, 0);
	CHECK_STR(text_of(&g, text, sizeof(text)), "8 16 16 16 16 |");
	CHECK_INT(fb_gradients_elements(&g), 72);
	CHECK(g.tensors[0].before && g.tensors[0].before->kind == FB_TENSOR_SHARED);
	CHECK(!g.tensors[1].before && g.tensors[2].before && !g.tensors[3].before);
	CHECK_STR(g.tensors[1].of->name, "q");
	fb_gradients_free(&g);
	fb_nn_close(&nn);
}

static void test_ratios(void)
{
	static const char *const bad[] = {"", ",", "1,", ",1", "1,,2", "0", "1,0", "10001", "-1",
					  "1 2", "1,x", "1.5", " 1"};
	struct fb_ratios model = {.layers = 3, .nratios = 7};
	char many[2 * FB_MOST_TENSORS + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_INT(fb_ratios_parse(&model, bad[i]), FB_EINPUT);
		CHECK_INT(model.nratios, 7);
	}
	for (size_t i = 0; i + 1 < sizeof(many); i++)
		many[i] = i % 2 ? ',' : '1';
	many[2 * FB_MOST_TENSORS - 1] = '\0';
	CHECK_INT(fb_ratios_parse(&model, many), FB_OK);
	CHECK_INT(model.nratios, FB_MOST_TENSORS);
	CHECK_INT(model.layers, 3);
	many[2 * FB_MOST_TENSORS - 1] = ',';
	many[2 * FB_MOST_TENSORS + 1] = '\0';
	CHECK_INT(fb_ratios_parse(&model, many), FB_EINPUT);
}

int main(void)
{
	test_buckets();
	test_rounding();
	test_large();
	test_cut();
	test_first_and_model();
	test_ratios();
	return check_done("buckets");
}
