/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what happened to requests to what users feel: time to first token, time between tokens, and
 * how many requests a second met an objective.
 *
 * All times are the router's. A request's time begins when it was planned to arrive, whether or not
 * the router came to it then: a server that stalls makes requests wait, and their waiting counts
 * (no coordinated omission).
 */
#ifndef FB_KVTRANSFER_SERVE_ACCOUNT_H
#define FB_KVTRANSFER_SERVE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times in seconds of one clock. */
struct fb_served {
	double planned;
	double compute; /* duration of the prompt's computing */
	double prefilled, arrived, first, last;
	uint32_t tokens, output; /* given so far, and asked for */
	bool judged; /* whether it meets the objective was known at a look at it */
};

enum fb_fate { FB_FATE_OPEN, FB_FATE_MET, FB_FATE_MISSED };

/* Samples that grow; in us. */
struct fb_series {
	double *value;
	size_t n, room;
};

struct fb_account {
	struct fb_series ttft, tpot, itl, queue, kv; /* of all replays so far */
	double ttft_sum, kv_sum;
	uint64_t requests, met;
	double span;   /* s: all replays, from the first arrival planned to the last token */
	double tokens; /* given to users */
	int err;       /* FB_ENOMEM: samples are missing */
};

struct fb_objective {
	double ttft_s, itl_s; /* of a request: its first token, and the mean time between tokens */
};

void fb_account_close(struct fb_account *account);

/* A token of the request came at that time. */
void fb_account_token(struct fb_account *account, struct fb_served *served, double now);

/*
 * Whether a request has met the objective, or cannot any more: its first token has not come in
 * time, or so much time has passed since then that the mean time between tokens is too long even if
 * all that are left come now.
 */
enum fb_fate fb_served_fate(const struct fb_served *served, const struct fb_objective *objective,
			    double now);

/*
 * Whether it is decided that of n requests the share `wanted` meets the objective, or that it does
 * not, if so many have met and missed it and all others are open.
 */
enum fb_fate fb_share_fate(uint32_t met, uint32_t missed, uint32_t n, double wanted);

/*
 * A replay is over; requests that lack tokens were cancelled, and are not counted. Returns the
 * share of all n that met the objective.
 */
double fb_account_replay(struct fb_account *account, const struct fb_served *served, uint32_t n,
			 const struct fb_objective *objective);

/*
 * Appends a replay's spans to the files in `folder` (common/record/timeline.h), a lane for each
 * request: queue, until its prompt's computing began, prefill, kv, until its cache had come to who
 * decodes it, and decode, until its last token. 0, FB_ENOMEM or FB_EIO (printed).
 */
int fb_account_trace(const struct fb_served *served, uint32_t n, const char *folder,
		     const char *row);

/* A quantile of samples; NAN below a floor: 1 for 0.5, else as stats.h has it for rows. */
double fb_series_quantile(struct fb_series *samples, double q);

/*
 * The median of values of repetitions, and the ends of its 95% interval. NAN as ends where values
 * are too few for an interval, or where some of `repetitions` have no value. These are not like the
 * others: no rate was too high, or one of two modes was much better. So the interval of the others
 * would be too narrow, and in the wrong place. All stay as they are where there is no value at all.
 * Values count as independent, as each repetition has arrivals of its own: test_knee.c has how
 * often such intervals contain the knee. Six are too few to tell chance from dependence.
 */
void fb_series_interval(const struct fb_series *values, size_t repetitions, double result[3]);

#endif
