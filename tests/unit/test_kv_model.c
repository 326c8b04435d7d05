/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of models against published numbers of parameters. */
#include "kvtransfer/model.h"
#include "tests/unit/check.h"

/* Parameters of layers and embeddings, without vectors, against the published numbers. */
static void test_parameters(void)
{
	static const struct {
		const char *model;
		double published;	/* in 1e9 */
		uint32_t words, tables; /* of the embeddings */
	} models[] = {
		{"llama-3.1-8b", 8.030, 128256, 2},	{"llama-3.1-70b", 70.554, 128256, 2},
		{"llama-3.1-405b", 405.853, 128256, 2}, {"mixtral-8x7b", 46.703, 32000, 2},
		{"mixtral-8x22b", 140.621, 32000, 2},	{"qwen2.5-7b", 7.616, 152064, 2},
		{"qwen2.5-72b", 72.706, 152064, 2},	{"qwen3-8b", 8.191, 151936, 2},
		{"qwen3-235b-a22b", 235.094, 151936, 2}, {"gpt-oss-20b", 20.915, 201088, 2},
		{"gpt-oss-120b", 116.829, 201088, 2},	{"deepseek-v3", 671.026, 129280, 2},
	};

	for (size_t k = 0; k < sizeof(models) / sizeof(models[0]); k++) {
		const struct fb_kv_model *m = fb_kv_model_find(models[k].model);
		const struct fb_kv_shape asked = {.element_bytes = 1, .tp = {1, 1}};
		struct fb_kv_shape list[FB_KV_LISTS];
		int n = fb_kv_model_weights(m, &asked, list);
		double sum = (double)models[k].tables * models[k].words * m->hidden;

		for (int l = 0; l < n; l++)
			sum += (double)fb_kv_bytes(&list[l]);
		CHECK(sum > models[k].published * 0.998e9 && sum < models[k].published * 1.002e9);
	}
}

int main(void)
{
	test_parameters();
	return check_done("kv_model");
}
