/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The computing of a model that takes time: the products of each layer, attention over the cache,
 * and in decoding a pass over what each request has cached. Real work on this rank's processor (one
 * thread) or GPU, with operands of random numbers.
 */
#ifndef FB_KVTRANSFER_COMPUTE_H
#define FB_KVTRANSFER_COMPUTE_H

#include "common/cuda/gpu.h"
#include "common/measure/clock.h"
#include "kvtransfer/model.h"

struct fb_kv_compute; /* opaque */

/* Prompts are computed by chunks of at most so many tokens, so that scores stay small. */
enum { FB_KV_CHUNK = 512 };

/*
 * Local: for that model, `gpu` or NULL for the processor. `most_context`: tokens of the longest
 * request. 0, FB_ENOMEM, FB_ESYS or FB_EDATA (printed).
 */
int fb_kv_compute_open(struct fb_kv_compute **compute, const struct fb_kv_model *model,
		       const struct fb_gpu *gpu, uint32_t most_context);
/* NULL is fine. */
void fb_kv_compute_close(struct fb_kv_compute *compute);

/* "OpenBLAS f32", "own loop f32", "cuBLAS 13.0.2 bf16". */
void fb_kv_compute_describe(const struct fb_kv_compute *compute, char *text, size_t n);

/*
 * One layer of a step: `prompt` new tokens of a request that has `context` before them (0: none),
 * and one new token of each of `requests` others, which have `cached` tokens together. Complete on
 * return. 0 or an error (printed).
 */
struct fb_kv_batch {
	uint32_t prompt, context, requests;
	uint64_t cached;
};
int fb_kv_layer(struct fb_kv_compute *compute, const struct fb_kv_batch *batch);
/* The same, on GPUs only put on the stream; and the wait for all that is on it. */
int fb_kv_layer_enqueue(struct fb_kv_compute *compute, const struct fb_kv_batch *batch);
int fb_kv_finish(struct fb_kv_compute *compute);

/*
 * What such a layer needs: floating-point operations of its products, and bytes that have to pass
 * between memory and processor if each operand does once.
 */
struct fb_kv_cost {
	double flop, bytes;
};
struct fb_kv_cost fb_kv_layer_cost(const struct fb_kv_compute *compute,
				   const struct fb_kv_batch *batch);

/*
 * Local: what this rank reaches of both per second, as products of equal sides and as passes over
 * memory beyond caches, the fastest of some; larger ones are tried until one takes milliseconds. 0
 * or an error (printed).
 */
int fb_kv_peak(struct fb_kv_compute *compute, const struct fb_clock *clock,
	       struct fb_kv_cost *per_s);

/* A step: all layers. */
int fb_kv_step(struct fb_kv_compute *compute, const struct fb_kv_batch *batch);

/* A whole prompt behind `context` tokens that are cached, chunk by chunk. */
int fb_kv_prefill(struct fb_kv_compute *compute, uint32_t tokens, uint32_t context);

#endif
