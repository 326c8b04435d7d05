/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models as far as their KV cache and the computing of a token matter: published shapes, and one
 * that is small enough for processors.
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
	uint32_t ffn;		     /* of all experts that a token passes through, together */
	uint32_t dense_layers;	     /* the first, whose whole FFN `ffn` is; all others have */
	uint32_t experts, expert_ffn, shared; /* these, and for each token so many shared ones */
	uint32_t query_latent, value_dim;     /* of MLA; else 0 */
};

/* "tiny", "llama-3.1-8b", ..., NULL: the names of all models. */
extern const char *const fb_kv_model_names[];

/* NULL: there is no such model. */
const struct fb_kv_model *fb_kv_model_find(const char *name);

/* Bytes of a request's cache: layers with a window keep the blocks of its last tokens only. */
uint64_t fb_kv_model_bytes(const struct fb_kv_model *model, uint32_t element_bytes,
			   uint32_t tokens, uint32_t block_tokens);

/* Its cache on one rank of each side; tokens, block_tokens and page_run are the caller's. */
struct fb_kv_shape fb_kv_model_shape(const struct fb_kv_model *model, uint32_t element_bytes);

enum { FB_KV_LISTS = 12 };

/*
 * What the cache is made of, as shapes whose layers are alike; `asked` is the model's shape with
 * tokens and all the rest. Layers with a window are one of their own, which has the last blocks
 * only, and so are second regions. Returns how many.
 */
int fb_kv_model_lists(const struct fb_kv_model *model, const struct fb_kv_shape *asked,
		      struct fb_kv_shape list[FB_KV_LISTS]);

/*
 * The weights of its layers, as shapes without pages: matrices of q; k and v; o; gate and up; down,
 * rows of [out][in]. Ranks hold rows of q, k, v, gate and up, and columns of o and down, as tensor
 * parallelism divides them, copies of k and v where there are more ranks than KV heads, copies of
 * routers and of MLA's projections to latents, and whole experts. Vectors and embeddings are left
 * out. Returns how many.
 */
int fb_kv_model_weights(const struct fb_kv_model *model, const struct fb_kv_shape *asked,
			struct fb_kv_shape list[FB_KV_LISTS]);

/*
 * Which layer of list `list` a layer of the model is, of the `lists` that fb_kv_model_lists()
 * returned; -1: the layer is in another list.
 */
int fb_kv_model_layer(const struct fb_kv_model *model, int lists, int list, uint32_t layer);

/*
 * Why programs that know regions of one kind only do not move the model's cache, or NULL: they do.
 */
const char *fb_kv_model_unlike(const struct fb_kv_model *model);

/* The first block that layers with a window still have of so many tokens; 0 without a window. */
uint32_t fb_kv_model_first_block(const struct fb_kv_model *model, uint32_t tokens,
				 uint32_t block_tokens);

/* Whether the layer still has the block: a window may have passed it. */
bool fb_kv_model_keeps(const struct fb_kv_model *model, uint32_t layer,
		       const struct fb_kv_shape *shape, uint32_t block);

#endif
