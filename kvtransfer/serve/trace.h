/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of a served model: when each arrives, how long its prompt and its answer are, and which
 * blocks of its prompt other requests have too. They come from a file of a published trace, or from
 * a seeded generator of lengths distributed as in such a trace.
 */
#ifndef FB_KVTRANSFER_SERVE_TRACE_H
#define FB_KVTRANSFER_SERVE_TRACE_H

#include <stddef.h>
#include <stdint.h>

enum fb_arrivals {
	FB_ARRIVE_POISSON,
	FB_ARRIVE_GAMMA, /* intervals with a coefficient of variation of the user's */
	FB_ARRIVE_FIXED, /* equal intervals */
	FB_ARRIVE_TRACE, /* as the file has them, stretched to the rate */
	FB_ARRIVALS,
};

/* "poisson", ..., NULL. */
extern const char *const fb_arrivals_names[];

/* "azure-conv", "azure-code", "mooncake", NULL: distributions of lengths that can be generated. */
extern const char *const fb_trace_names[];

struct fb_request {
	double at;		/* s since the first one; set by fb_trace_arrive */
	double recorded;	/* s, in a file */
	uint32_t input, output; /* tokens, 1 at least */
	uint64_t *hash;		/* [blocks]: equal where the prompts are equal up to there */
	uint32_t blocks;	/* the prompt's, the last one may be filled in part */
};

struct fb_trace {
	struct fb_request *request; /* [count], in the order of arrival */
	uint32_t count;
	uint32_t longest_input, longest_output;
};

struct fb_trace_config {
	const char *source; /* one of fb_trace_names; or a file: Mooncake's .jsonl, Azure's .csv */
	uint32_t count;	    /* requests; of a file the first ones */
	uint32_t block_tokens;
	double scale; /* of all lengths */
	double reuse; /* of the generator: share of prompts that begin as one of some others do */
	uint64_t seed;
};

/*
 * Local. A file's lines that are not of the format are FB_EINPUT (printed, with the line's number),
 * as is a file without any request; or FB_ENOMEM (printed).
 */
int fb_trace_open(struct fb_trace *trace, const struct fb_trace_config *config);
/* Safe on a zeroed structure. */
void fb_trace_close(struct fb_trace *trace);

/*
 * Sets the arrival times of the first n requests (at least 1), for a mean rate of `rate` requests a
 * second; 0, only for FB_ARRIVE_TRACE: as recorded.
 */
void fb_trace_arrive(struct fb_trace *trace, uint32_t n, enum fb_arrivals how, double rate,
		     double cv, uint64_t seed);

#endif
