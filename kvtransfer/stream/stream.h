/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program stream: rank 0 computes a prompt layer by layer and puts each layer's cache to rank 1
 * as soon as it is computed, or all layers after the last one. The exposed time is what the
 * transfer adds after the computing. A recursion predicts it from parts that setup measures in
 * requests without overlap (recursion.c, parts.c). Rank 1 begins to decode when it has the first
 * layer, or all layers; or it computes tokens of other requests meanwhile, which shows how much
 * receiving slows these down.
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

/* This rank's moments of a layer in the last request, in s. */
struct fb_stream_moment {
	double computed, posted; /* rank 0; posted: the calls for its moves have returned */
	double there;		 /* rank 1: in its pages */
};

/* One case. */
struct fb_stream {
	struct fb_handoff_instance *base;
	struct fb_kv_compute *compute;
	const struct fb_kv_model *model;
	uint32_t tokens, others;     /* others: requests that rank 1 serves meanwhile */
	bool layerwise, early;	     /* early: rank 1 begins with the first layer */
	uint32_t layer_moves;	     /* and so notices, of each layer; equal for all */
	double began;		     /* the last request, on this rank */
	struct fb_stream_moment *at; /* [layers] */
	/* Medians of setup's requests without overlap; NAN: not known. */
	double *layer_s;    /* [layers]: from computed until arrived, with nothing else under way */
	double *computed_s; /* [layers]: until computed, including the posts of earlier layers */
	double transfer_s;  /* all layers, posted in a row: from computed until all have arrived */
	double compute_s, after_s; /* all computing; a whole request */
	double step_s;		   /* median of the others' steps before any transfer */
	struct fb_kv_cost peak[2]; /* ranks 0 and 1, a second */
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

/* The chunk of the prompt behind `done` tokens; a token of each of the others. */
struct fb_kv_batch fb_stream_chunk(const struct fb_stream *s, uint32_t done);
struct fb_kv_batch fb_stream_others(const struct fb_stream *s);
/* Computes a layer of the prompt, chunk by chunk; a decode step of other requests. */
int fb_stream_compute(const struct fb_stream *s);
int fb_stream_serve(struct fb_stream *s);
/* On all ranks. The moments are in `began` and `at`. An error, here and below, ends the job. */
void fb_stream_request(struct fb_stream *s, bool layerwise);
/* Collective: the same without overlap: a layer is computed when the last one has arrived. */
void fb_stream_alone(struct fb_stream *s);
int fb_stream_run(void *instance, int calls);

/* --- parts.c ---------------------------------------------------------------------------------- */

/* Collective: fills what the recursion needs, after_s and step_s. 0 or an error on all ranks. */
int fb_stream_parts(struct fb_stream *s);

/* --- recursion.c ------------------------------------------------------------------------------ */

/*
 * How much of the transfer remains when the last layer has been computed, in s, if each layer is
 * put as soon as it is computed. NAN: an input is NAN.
 *
 * computed_s[l]: when layer l is computed. layer_s[l]: from then until it arrives if no other layer
 * is under way; this includes the fixed costs of a post and a notice. transfer_s: the same for all
 * layers posted in a row, which has these costs only once if the mover hides them. So layer l
 * arrives no earlier than layer_s[l] after it was computed, and no earlier than its share of
 * transfer_s after the layer before. If the mover hides nothing, both are x(l), and this is
 * f(l) = max(f(l - 1), c(l)) + x(l).
 */
double fb_stream_recursion(const double *computed_s, const double *layer_s, double transfer_s,
			   uint32_t layers);

/* --- describe.c ------------------------------------------------------------------------------- */

void fb_stream_describe(void *instance, struct fb_traits *traits);
void fb_stream_summarise(void *instance, const double *samples_us, size_t n,
			 struct fb_traits *traits);

#endif
