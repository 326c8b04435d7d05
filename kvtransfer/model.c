/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Published shapes (the models' config.json); see model.h. deepseek-v3.2's entry is vLLM's
 * fp8_ds_mla: 512 bytes of fp8, four scales of f32 and 64 bf16 of position, 656 bytes a token.
 * deepseek-v4-like has the region lists that are reported of DeepSeek V4 in vLLM, entries of 576
 * bytes and of 132 of an indexer, with the rest as v3.
 */
#include "kvtransfer/model.h"

#include <stddef.h>
#include <string.h>

/* Layers that are dense; of others: experts, their ffn, shared ones; MLA's latent and value. */
#define LIKE_V3 3, 256, 2048, 1, 1536, 128
/* clang-format off */
#define MODELS(M) \
	/* name      layers kv dim parts entry index window of hidden heads query ffn dense ... */ \
	M("tiny",               4,2, 64,2,  0,  0,   0,  0,  256,   4,  64,   512,4) \
	M("tiny-window",        4,2, 64,2,  0,  0,  32,  2,  256,   4,  64,   512,4) \
	M("tiny-moe",           4,2, 64,2,  0,  0,   0,  0,  256,   4,  64,   256,1,4,128,1) \
	M("llama-3.1-8b",      32,8,128,2,  0,  0,   0,  0, 4096,  32, 128, 14336,32) \
	M("llama-3.1-70b",     80,8,128,2,  0,  0,   0,  0, 8192,  64, 128, 28672,80) \
	M("llama-3.1-405b",   126,8,128,2,  0,  0,   0,  0,16384, 128, 128, 53248,126) \
	M("mixtral-8x7b",      32,8,128,2,  0,  0,   0,  0, 4096,  32, 128, 28672,0,8,14336) \
	M("mixtral-8x22b",     56,8,128,2,  0,  0,   0,  0, 6144,  48, 128, 32768,0,8,16384) \
	M("qwen2.5-7b",        28,4,128,2,  0,  0,   0,  0, 3584,  28, 128, 18944,28) \
	M("qwen2.5-72b",       80,8,128,2,  0,  0,   0,  0, 8192,  64, 128, 29568,80) \
	M("qwen3-8b",          36,8,128,2,  0,  0,   0,  0, 4096,  32, 128, 12288,36) \
	M("qwen3-235b-a22b",   94,4,128,2,  0,  0,   0,  0, 4096,  64, 128, 12288,0,128,1536) \
	M("gpt-oss-20b",       24,8, 64,2,  0,  0, 128, 12, 2880,  64,  64, 11520,0,32,2880) \
	M("gpt-oss-120b",      36,8, 64,2,  0,  0, 128, 18, 2880,  64,  64, 11520,0,128,2880) \
	M("deepseek-v3",       61,1,576,1,  0,  0,   0,  0, 7168, 128, 192, 18432,LIKE_V3) \
	M("deepseek-v3.2-fp8", 61,1,576,1,656,  0,   0,  0, 7168, 128, 192, 18432,LIKE_V3) \
	M("deepseek-v4-like",  61,1,576,1,576,132,   0,  0, 7168, 128, 192, 18432,LIKE_V3)
/* clang-format on */

/* What follows the ffn is in the order of members. */
#define MODEL(name_, l, k, d, p, e, i, w, wl, h, q, qd, f, ...)                                    \
	{.name = (name_), .layers = (l), .kv_heads = (k), .head_dim = (d), .parts = (p),           \
	 .entry_bytes = (e), .index_bytes = (i), .window = (w), .windowed = (wl), .hidden = (h),   \
	 .heads = (q), .query_dim = (qd), .ffn = (f), __VA_ARGS__},
#define NAME(name_, ...) name_,

static const struct fb_kv_model models[] = {MODELS(MODEL){.name = NULL}};
const char *const fb_kv_model_names[] = {MODELS(NAME) NULL};

const struct fb_kv_model *fb_kv_model_find(const char *name)
{
	for (const struct fb_kv_model *m = models; m->name; m++)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

static uint64_t region_bytes(const struct fb_kv_model *m, uint32_t element_bytes)
{
	uint64_t row = (uint64_t)m->head_dim * element_bytes;

	return m->entry_bytes ? m->entry_bytes : m->kv_heads * row;
}

uint64_t fb_kv_model_bytes(const struct fb_kv_model *m, uint32_t element_bytes, uint32_t tokens,
			   uint32_t block_tokens)
{
	uint64_t kept = tokens - fb_kv_model_first_block(m, tokens, block_tokens) * block_tokens;

	return (m->parts * region_bytes(m, element_bytes) + m->index_bytes) *
	       ((uint64_t)(m->layers - m->windowed) * tokens + m->windowed * kept);
}

struct fb_kv_shape fb_kv_model_shape(const struct fb_kv_model *m, uint32_t element_bytes)
{
	return (struct fb_kv_shape){
		.layers = m->layers, .kv_heads = m->kv_heads, .parts = m->parts,
		.head_dim = m->entry_bytes ? m->entry_bytes / element_bytes : m->head_dim,
		.element_bytes = element_bytes, .layout = {FB_KV_HND, FB_KV_HND}, .tp = {1, 1}};
}

int fb_kv_model_lists(const struct fb_kv_model *m, const struct fb_kv_shape *asked,
		      struct fb_kv_shape list[FB_KV_LISTS])
{
	list[0] = list[1] = *asked;
	if (m->index_bytes) {
		list[1].head_dim = m->index_bytes / asked->element_bytes;
		list[1].parts = 1;
		return 2;
	}
	if (!m->window || m->window >= asked->tokens)
		return 1;
	list[0].layers = m->layers - m->windowed;
	list[1].layers = m->windowed;
	list[1].tokens -= fb_kv_model_first_block(m, asked->tokens, asked->block_tokens) *
			  asked->block_tokens;
	return 2;
}

/* Layers with and without a window alternate, beginning with one that has it. */
static bool has_window(const struct fb_kv_model *m, uint32_t layer)
{
	return m->window && layer % 2 == 0 && layer / 2 < m->windowed;
}

int fb_kv_model_layer(const struct fb_kv_model *m, int lists, int list, uint32_t layer)
{
	uint32_t before = (layer + 1) / 2 < m->windowed ? (layer + 1) / 2 : m->windowed;

	if (lists == 1 || m->index_bytes)
		return (int)layer;
	if (has_window(m, layer) != (list == 1))
		return -1;
	return (int)(list ? before : layer - before);
}

uint32_t fb_kv_model_first_block(const struct fb_kv_model *m, uint32_t tokens,
				 uint32_t block_tokens)
{
	return m->window && m->window < tokens ? (tokens - m->window) / block_tokens : 0;
}

/*
 * Adds matrices of some layers, [head][row][column] (HND) or [row][head][column], of heads or
 * experts that ranks divide among each other; of one head each rank has a copy.
 */
static struct fb_kv_shape *add(struct fb_kv_shape *end, const struct fb_kv_shape *asked,
			       uint32_t layers, uint32_t heads, uint32_t rows, uint32_t columns,
			       uint32_t parts, enum fb_kv_layout layout)
{
	*end = (struct fb_kv_shape){
		.layers = layers, .kv_heads = heads, .head_dim = columns, .parts = parts,
		.element_bytes = asked->element_bytes, .tokens = rows, .block_tokens = rows,
		.whole = true, .layout = {layout, layout},
		.tp = {asked->tp[FB_KV_PREFILL], asked->tp[FB_KV_DECODE]}};
	return end + 1;
}

/* Gate, up and down, divided evenly among any power of two of ranks that the width has. */
static struct fb_kv_shape *add_ffn(struct fb_kv_shape *end, const struct fb_kv_shape *asked,
				   uint32_t layers, uint32_t hidden, uint32_t width)
{
	uint32_t slices = width & -width;

	if (!layers || !width)
		return end;
	end = add(end, asked, layers, slices, width / slices, hidden, 2, FB_KV_HND);
	end = add(end, asked, layers, slices, hidden, width / slices, 1, FB_KV_NHD);
	end[-2].heads_are = end[-1].heads_are = "slices of the FFN";
	return end;
}

int fb_kv_model_weights(const struct fb_kv_model *m, const struct fb_kv_shape *s,
			struct fb_kv_shape list[FB_KV_LISTS])
{
	uint32_t n = m->layers, sparse = n - m->dense_layers, dim = m->query_dim, h = m->hidden;
	uint32_t value = m->query_latent ? m->value_dim : dim, expert = m->expert_ffn;
	uint32_t latent = m->head_dim - (dim - value);
	struct fb_kv_shape *end = list;

	if (m->query_latent) {
		/* A key is as wide as a value without its position, which the cache has, too. */
		end = add(end, s, n, 1, m->query_latent, h, 1, FB_KV_HND);
		end = add(end, s, n, 1, m->head_dim, h, 1, FB_KV_HND);
		end = add(end, s, n, m->heads, dim, m->query_latent, 1, FB_KV_HND);
		end = add(end, s, n, m->heads, 2 * value, latent, 1, FB_KV_HND);
	} else {
		end = add(end, s, n, m->heads, dim, h, 1, FB_KV_HND);
		end = add(end, s, n, m->kv_heads, m->head_dim, h, 2, FB_KV_HND);
	}
	end = add(end, s, n, m->heads, h, value, 1, FB_KV_NHD);
	end = add_ffn(end, s, m->dense_layers, h, m->ffn);
	if (sparse) {
		end = add(end, s, sparse, 1, m->experts, h, 1, FB_KV_HND);
		end = add(end, s, sparse, m->experts, expert, h, 2, FB_KV_HND);
		end = add(end, s, sparse, m->experts, h, expert, 1, FB_KV_HND);
		end = add_ffn(end, s, sparse, h, m->shared * expert);
	}
	return (int)(end - list);
}

const char *fb_kv_model_unlike(const struct fb_kv_model *m)
{
	return m->index_bytes ? "its layers have regions of two kinds" : NULL;
}

bool fb_kv_model_keeps(const struct fb_kv_model *m, uint32_t layer, const struct fb_kv_shape *s,
		       uint32_t block)
{
	return !has_window(m, layer) ||
	       block >= fb_kv_model_first_block(m, s->tokens, s->block_tokens);
}
