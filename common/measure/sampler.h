/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides how many repetitions a row gets, from the samples taken so far. It uses neither a clock
 * nor MPI: rank 0 asks it and broadcasts the answer, and tests feed it with numbers.
 *
 * Repetitions come in blocks of about 5 ms (5 to 100), and the rule is applied at min_samples
 * samples and at each doubling: looking rarely keeps the interval's coverage near 95%, where
 * looking after every sample would stop at lucky moments. Sampling ends when the half width of
 * the 95% interval of the median is at most `ci` of it, or one step of the clock, which more
 * samples could not resolve; or at max_samples, or when the time is up. The reason is `ci`
 * wherever the interval is tight at the end. If the samples then drift, the first third is
 * dropped, once, and sampling goes on.
 */
#ifndef FB_COMMON_MEASURE_SAMPLER_H
#define FB_COMMON_MEASURE_SAMPLER_H

#include "common/measure/stats.h"
#include "common/record/schema.h"

#include <stdbool.h>
#include <stddef.h>

enum { FB_FEWEST_SAMPLES = 5 }; /* below this a row is `few` */

struct fb_sampler_config {
	double ci;
	size_t min_samples, max_samples;
	double max_time_s;
	bool whole_time; /* until the time is up, however tight the interval; nothing is dropped */
	size_t reserve; /* samples that the caller adds after the last block (0 or 1) */
};

/* One repetition over ranks, in us: times, and how far apart the ranks began. */
struct fb_sample {
	double max, min, mean, skew;
};

struct fb_sampler {
	struct fb_sampler_config config;
	double *max_us, *min_us, *mean_us, *skew_us; /* [capacity], in order of measurement */
	double *scratch;			     /* [2 * capacity] */
	size_t capacity, n;
	size_t next_check; /* the rule is applied when n reaches it */
	size_t taken;	   /* repetitions run, dropped ones included */
	double estimate_s; /* one repetition, with its barrier and the rest of the loop */
	double step_us;	   /* of the clock, as it shows in a sample */
	enum fb_stop stop; /* FB_STOP_NONE while sampling goes on */
	bool dropped, drifts;
};

/* Allocates for max_samples. Returns 0 or FB_ENOMEM (printed). */
int fb_sampler_open(struct fb_sampler *sampler, const struct fb_sampler_config *config);
void fb_sampler_close(struct fb_sampler *sampler);

/*
 * Forgets all samples. estimate_s: about how long a repetition takes, by the warm-up. step_us: the
 * smallest difference between unequal samples, which is the clock's step; 0: any.
 */
void fb_sampler_begin(struct fb_sampler *sampler, double estimate_s, size_t reserve,
		      double step_us);

/*
 * Applies the rule, given the time since begin; returns the repetitions of the next block, or 0
 * when sampling is over, and then `stop` and `drifts` say why and how.
 */
size_t fb_sampler_next(struct fb_sampler *sampler, double elapsed_s);

/* Adds samples; what does not fit is ignored. */
void fb_sampler_add(struct fb_sampler *sampler, const struct fb_sample *sample, size_t count);

/*
 * The warm-up's rule: how many further calls, given those done (`calls`, `elapsed_s`) and what
 * the very first call took: until 10 calls and 20 ms, but not beyond limit_s. 0: warm enough.
 */
size_t fb_warm_up_next(size_t calls, double elapsed_s, double first_s, double limit_s);

/*
 * Calls per batch (2 to 1000) in the streaming cadence: a batch takes at least 1 ms, on a GPU 4 ms,
 * and at least 50 readings of the clock. In shorter batches the first call, which takes longer than
 * the others, would count for too much: on a GPU a batch contains the launch of a graph or of the
 * first kernel, and the wait for the last one. In batches of 1 ms NCCL's times are up to 4% longer
 * than those of nccl-tests. each_max_s: the longest that a sample may take if the fewest are
 * to fit into --max-time. It may shorten the 4 ms of a GPU, down to 1 ms.
 */
int fb_streaming_calls(double call_s, double timer_s, double each_max_s, bool gpu);

#endif
