/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The expensive computing of a model: the matrix products of each layer, attention over the cache,
 * and in decoding a pass over each request's cached tokens. This rank's processor (one thread) or
 * GPU really does it, with operands of random numbers.
 */
#ifndef FB_KVTRANSFER_COMPUTE_H
#define FB_KVTRANSFER_COMPUTE_H

#include "common/cuda/gpu.h"
#include "common/measure/clock.h"
#include "kvtransfer/model.h"

struct fb_kv_compute; /* opaque */

/* Prompts are computed in chunks of so many tokens at most, so that attention scores stay small. */
enum { FB_KV_CHUNK = 512 };

/*
 * Local. `gpu`: NULL: computes on the processor. `most_context`: tokens of the longest request.
 * 0, FB_ENOMEM, FB_ESYS or FB_EDATA (printed).
 */
int fb_kv_compute_open(struct fb_kv_compute **compute, const struct fb_kv_model *model,
		       const struct fb_gpu *gpu, uint32_t most_context);
/* NULL is fine. */
void fb_kv_compute_close(struct fb_kv_compute *compute);

/* "OpenBLAS f32", "own loop f32", "cuBLAS 13.0.2 bf16". */
void fb_kv_compute_describe(const struct fb_kv_compute *compute, char *text, size_t n);

/*
 * One layer of a step: `prompt` new tokens (0: none) of a request with `context` earlier tokens,
 * and one new token of each of `requests` others, which have `cached` tokens in total.
 * fb_kv_layer computes it, and returns when it is complete. 0 or an error (printed).
 */
struct fb_kv_batch {
	uint32_t prompt, context, requests;
	uint64_t cached;
};
int fb_kv_layer(struct fb_kv_compute *compute, const struct fb_kv_batch *batch);
/* The same, but a GPU's work is only enqueued on the stream; and the wait for that stream. */
int fb_kv_layer_enqueue(struct fb_kv_compute *compute, const struct fb_kv_batch *batch);
int fb_kv_finish(struct fb_kv_compute *compute);

/*
 * The cost of such a layer: floating-point operations of its products, and the bytes that pass
 * between memory and processor if each operand is read or written once.
 */
struct fb_kv_cost {
	double flop, bytes;
};
struct fb_kv_cost fb_kv_layer_cost(const struct fb_kv_compute *compute,
				   const struct fb_kv_batch *batch);

/*
 * Local: measures how much of both this rank reaches per second: flop by products of square
 * matrices, and bytes by passes over arrays too large for caches. It tries larger ones until one
 * takes milliseconds. 0 or an error (printed).
 */
int fb_kv_peak(struct fb_kv_compute *compute, const struct fb_clock *clock,
	       struct fb_kv_cost *per_s);

/* A step: all layers. */
int fb_kv_step(struct fb_kv_compute *compute, const struct fb_kv_batch *batch);

/* Computes a prompt of `tokens`, which follow `context` cached tokens, chunk by chunk. */
int fb_kv_prefill(struct fb_kv_compute *compute, uint32_t tokens, uint32_t context);

#endif
