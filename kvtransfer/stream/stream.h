/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program stream: rank 0 computes a prompt layer by layer and puts each layer's cache to rank 1
 * as soon as it is there, or all behind the last one. Exposed is the time that the transfer adds
 * behind the computing; a recursion says what it should be. Rank 1 begins to decode when it has the
 * first layer, or all; or it gives other requests' tokens meanwhile, which tells what receiving
 * costs them.
 *
 * Jobs, links and memory are those of handoff, with one move for each layer of a link. A model
 * whose layers are not alike has two links: one of its full layers and one of those with a window,
 * or one of the first regions of all layers and one of the second regions.
 */
#ifndef FB_KVTRANSFER_STREAM_STREAM_H
#define FB_KVTRANSFER_STREAM_STREAM_H

#include "kvtransfer/compute.h"
#include "kvtransfer/handoff/handoff.h"

extern const char *const fb_stream_modes[];

/* The values of the program's own options. */
struct fb_stream_settings {
	struct fb_handoff_settings handoff; /* first; what stream has no options for is zero */
	uint64_t starts;
	struct fb_sizes others;
};

enum fb_stream_column {
	FB_STREAM_COMPUTE_US,
	FB_STREAM_TRANSFER_US,
	FB_STREAM_EXPOSED_US,
	FB_STREAM_EXPOSED_LOW_US,
	FB_STREAM_EXPOSED_HIGH_US,
	FB_STREAM_MODEL_US,
	FB_STREAM_OVER_MODEL,
	FB_STREAM_HIDDEN,
	FB_STREAM_SLOWDOWN,
	FB_STREAM_AFTER_US,
	FB_STREAM_GAIN,
	FB_STREAM_QUANTISE_ERROR,
	FB_STREAM_TPOT_ALONE_US,
	FB_STREAM_TPOT_US,
	FB_STREAM_TPOT_PRICE,
	FB_STREAM_PREFILL_TFLOPS,
	FB_STREAM_PREFILL_FLOP_SHARE,
	FB_STREAM_PREFILL_BYTE_SHARE,
	FB_STREAM_DECODE_TFLOPS,
	FB_STREAM_DECODE_GBPS,
	FB_STREAM_DECODE_FLOP_SHARE,
	FB_STREAM_DECODE_BYTE_SHARE,
	FB_STREAM_PEAK_TFLOPS,
	FB_STREAM_PEAK_GBPS,
	FB_STREAM_CLOCK_ERROR_US,
	FB_STREAM_COLUMNS,
};

/* One case. */
struct fb_stream {
	struct fb_handoff_instance *base;
	struct fb_kv_compute *compute;
	const struct fb_kv_model *model;
	uint32_t tokens, others; /* others: requests that rank 1 serves meanwhile */
	bool layerwise, early;	 /* early: rank 1 begins with the first layer */
	uint32_t layer_moves;	 /* and so notices, of each layer; equal for all */
	double *layer_s;	 /* [layers]: transfer of each alone, at rank 1; NAN: not known */
	double *computed_s;	 /* [layers]: until it has been computed, alone, at rank 0 */
	double compute_s, after_s, step_s; /* alone; step_s: of the other requests */
	struct fb_kv_cost peak[2];	   /* ranks 0 and 1, a second */
	double (*call)[3]; /* [calls]: computing's end, all there (in s), longest computing */
	size_t calls;
	double steps_s; /* of the others while a cache came */
	uint64_t steps;
};

/* instance.c */
struct fb_mover *fb_stream_mover(const struct fb_stream *s);
int fb_stream_set_up(void *state, const struct fb_case *c, void **instance);
void fb_stream_tear_down(void *instance);
int fb_stream_prime(void *instance);
int fb_stream_check(void *instance, int calls, struct fb_mismatch *bad);
bool fb_stream_counts(void *instance);

/* --- call.c: how a request goes, and its parts; local, 0 or an error (printed) ---------------- */

/* Calls whose moments are kept; those behind them overwrite the last one. */
enum { FB_STREAM_MOST_CALLS = 1 << 16 };

/* What is done with the moves of a layer: posted by rank 0, unpacked by rank 1. */
enum fb_stream_act { FB_STREAM_POST, FB_STREAM_TEST, FB_STREAM_WAIT, FB_STREAM_UNPACK };

/* The chunk of the prompt behind `done` tokens; a token of each of the others. */
struct fb_kv_batch fb_stream_chunk(const struct fb_stream *s, uint32_t done);
struct fb_kv_batch fb_stream_others(const struct fb_stream *s);
/* A layer of the prompt, by chunks; a step of other requests. */
int fb_stream_compute(const struct fb_stream *s);
int fb_stream_serve(struct fb_stream *s);
/* The layer's moves: one of each link that has the layer. */
int fb_stream_layer(const struct fb_stream *s, uint32_t layer, enum fb_stream_act act);
/* Notices of the requests before `call` (from 1), and of the first layers of this one. */
uint64_t fb_stream_notices(const struct fb_stream *s, uint64_t call, uint32_t layers);
/* On all ranks; moments as in fb_stream.call, -HUGE_VAL: not known to this rank. */
int fb_stream_request(struct fb_stream *s, bool layerwise, double moments[3]);
int fb_stream_run(void *instance, int calls);

/* --- describe.c ------------------------------------------------------------------------------- */

void fb_stream_describe(void *instance, struct fb_traits *traits);
void fb_stream_summarise(void *instance, const double *samples_us, size_t n,
			 struct fb_traits *traits);

#endif
