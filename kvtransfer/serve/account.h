/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the figures of a service from the times of its requests: time to first token, time
 * between tokens, and how many requests a second met an objective.
 *
 * All times are by the router's clock. A request's time begins when it was planned to arrive, even
 * if the router was too busy to handle it then: when a service stalls, the waiting time of the
 * requests that should have arrived meanwhile counts (no coordinated omission).
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
	bool judged; /* it is counted as having met or missed the objective */
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
 * Whether a request has met the objective, or can no longer meet it: its first token came too late,
 * or so much time has passed since its first token that the mean time between tokens would be too
 * long even if all remaining tokens came now.
 */
enum fb_fate fb_served_fate(const struct fb_served *served, const struct fb_objective *objective,
			    double now);

/*
 * Whether the share `wanted` of n requests is sure to meet the objective, or sure to miss it, given
 * the numbers that have `met` and `missed` it; all others are open.
 */
enum fb_fate fb_share_fate(uint32_t met, uint32_t missed, uint32_t n, double wanted);

/*
 * Enters a finished replay. Requests that lack tokens were cancelled and are left out of all
 * figures. Returns the share of all n requests that met the objective.
 */
double fb_account_replay(struct fb_account *account, const struct fb_served *served, uint32_t n,
			 const struct fb_objective *objective);

/*
 * Appends a replay's spans to the files in `folder` (common/record/timeline.h), a lane for each
 * request: queue (until computing its prompt began), prefill, kv (until its cache had reached the
 * decode worker), and decode (until its last token). 0, FB_ENOMEM or FB_EIO (printed).
 */
int fb_account_trace(const struct fb_served *served, uint32_t n, const char *folder,
		     const char *row);

/* A quantile of samples; NAN below a floor: 1 for 0.5, else as stats.h has it for rows. */
double fb_series_quantile(struct fb_series *samples, double q);

/*
 * The median of the values of repetitions, and the ends of its 95% interval. The ends are NAN if
 * there are too few values, or if some repetition has no value. A repetition without a value is
 * unlike the others: no rate was too high, or one of two modes was much better. So an interval of
 * the others would be too narrow and in the wrong place. Without any value *result is unchanged.
 * Values count as independent, because each repetition has its own arrivals, and a handful are too
 * few to measure dependence. test_knee.c prints how often such intervals contain the knee.
 */
void fb_series_interval(const struct fb_series *values, size_t repetitions, double result[3]);

#endif
