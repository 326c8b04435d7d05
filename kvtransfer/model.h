/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shapes of models, as far as the KV cache and the computing of a token depend on them:
 * published ones, and one that is small enough for processors.
 */
#ifndef FB_KVTRANSFER_MODEL_H
#define FB_KVTRANSFER_MODEL_H

#include "kvtransfer/shape.h"

struct fb_kv_model {
	const char *name;
	uint32_t layers;
	uint32_t kv_heads, head_dim; /* of the cache; a latent (MLA) is one head */
	uint32_t parts;		     /* regions of a layer: 2 for K and V, 1 for a latent */
	uint32_t entry_bytes;	     /* of a token in a region, where it is packed; else 0 */
	uint32_t index_bytes;	     /* of a token in a second region of a layer, or 0 */
	uint32_t window, windowed;   /* tokens that this many of the layers keep; 0: all */
	uint32_t hidden, heads;	     /* queries' heads */
	uint32_t query_dim;	     /* of a head of queries */
	uint32_t ffn;		     /* sum over all experts that a token passes through */
	uint32_t dense_layers;	     /* the first layers, with one FFN of `ffn`; the others have */
	uint32_t experts, expert_ffn, shared; /* experts, of which `shared` serve every token */
	uint32_t query_latent, value_dim;     /* of MLA; else 0 */
};

/* "tiny", "llama-3.1-8b", ..., NULL: the names of all models. */
extern const char *const fb_kv_model_names[];

/* NULL: there is no such model. */
const struct fb_kv_model *fb_kv_model_find(const char *name);

/* Bytes of a request's cache. Layers with a window keep only the blocks of its last tokens. */
uint64_t fb_kv_model_bytes(const struct fb_kv_model *model, uint32_t element_bytes,
			   uint32_t tokens, uint32_t block_tokens);

/* Its cache on one rank of each side; the caller sets tokens, block_tokens and page_run. */
struct fb_kv_shape fb_kv_model_shape(const struct fb_kv_model *model, uint32_t element_bytes);

enum { FB_KV_LISTS = 12 };

/*
 * Splits the cache into shapes whose layers are all equal; `asked` is the complete shape of the
 * model. Layers with a window have a shape of their own, which has only the last blocks, and second
 * regions have one too. Returns how many there are.
 */
int fb_kv_model_lists(const struct fb_kv_model *model, const struct fb_kv_shape *asked,
		      struct fb_kv_shape list[FB_KV_LISTS]);

/*
 * The weights of its layers, as shapes without pages: matrices of q; k and v; o; gate and up; down,
 * rows of [out][in]. They are divided as in tensor parallelism: ranks hold rows of q, k, v, gate
 * and up, columns of o and down, and whole experts. Ranks hold copies of k and v if there are more
 * ranks than KV heads, and copies of routers and of MLA's projections to latents. Vectors and
 * embeddings are left out. Returns how many there are.
 */
int fb_kv_model_weights(const struct fb_kv_model *model, const struct fb_kv_shape *asked,
			struct fb_kv_shape list[FB_KV_LISTS]);

/*
 * The index of a layer of the model in list `list`; -1: it is in another list. `lists` is what
 * fb_kv_model_lists() returned.
 */
int fb_kv_model_layer(const struct fb_kv_model *model, int lists, int list, uint32_t layer);

/*
 * Why programs that support only one kind of region cannot move the model's cache; NULL: they can.
 */
const char *fb_kv_model_unlike(const struct fb_kv_model *model);

/* The first block of a request of `tokens` that layers with a window keep; 0 without a window. */
uint32_t fb_kv_model_first_block(const struct fb_kv_model *model, uint32_t tokens,
				 uint32_t block_tokens);

/* Whether the layer still has the block: a window may have passed it. */
bool fb_kv_model_keeps(const struct fb_kv_model *model, uint32_t layer,
		       const struct fb_kv_shape *shape, uint32_t block);

#endif
