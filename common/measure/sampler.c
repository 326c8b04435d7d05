/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples and the rule when there are enough; see sampler.h. */
#include "common/base/error.h"
#include "common/measure/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double block_s = 5e-3;
enum { BLOCK_MIN = 5, BLOCK_MAX = 100 };

static const double warm_up_s = 20e-3;
enum { WARM_UP_CALLS = 10, WARM_UP_MAX = 100000 };

static const double batch_s[] = {[false] = 1e-3, [true] = 4e-3}; /* [on a GPU] */
enum { BATCH_TIMERS = 50, BATCH_MIN = 2, BATCH_MAX = 1000 };

int fb_sampler_open(struct fb_sampler *sampler, const struct fb_sampler_config *config)
{
	size_t capacity = config->max_samples + 1;
	double *memory = malloc(6 * capacity * sizeof(*memory));

	if (!memory)
		return fb_error(FB_ENOMEM, "out of memory for %zu samples", capacity);
	*sampler = (struct fb_sampler){
		.config = *config,
		.capacity = capacity,
		.max_us = memory,
		.min_us = memory + capacity,
		.mean_us = memory + 2 * capacity,
		.skew_us = memory + 3 * capacity,
		.scratch = memory + 4 * capacity,
	};
	/* Touches the pages now, so that this does not happen while measuring. */
	memset(memory, 0, 6 * capacity * sizeof(*memory));
	return FB_OK;
}

void fb_sampler_close(struct fb_sampler *sampler)
{
	free(sampler->max_us);
	memset(sampler, 0, sizeof(*sampler));
}

void fb_sampler_begin(struct fb_sampler *sampler, double estimate_s, size_t reserve, double step_us)
{
	sampler->config.reserve = reserve;
	sampler->n = 0;
	sampler->taken = 0;
	sampler->next_check = sampler->config.min_samples;
	sampler->estimate_s = fmax(estimate_s, 1e-9);
	sampler->step_us = step_us;
	sampler->stop = FB_STOP_NONE;
	sampler->dropped = false;
	sampler->drifts = false;
}

void fb_sampler_add(struct fb_sampler *sampler, const struct fb_sample *sample, size_t count)
{
	for (size_t i = 0; i < count && sampler->n < sampler->capacity; i++) {
		sampler->max_us[sampler->n] = sample[i].max;
		sampler->min_us[sampler->n] = sample[i].min;
		sampler->mean_us[sampler->n] = sample[i].mean;
		sampler->skew_us[sampler->n] = sample[i].skew;
		sampler->n++;
		sampler->taken++;
	}
}

static size_t limit(const struct fb_sampler *sampler)
{
	const struct fb_sampler_config *c = &sampler->config;

	return c->max_samples > c->reserve ? c->max_samples - c->reserve : 0;
}

/*
 * The half width, relative to the median, at which an interval is tight: `ci`, or one step of the
 * clock, because no samples can resolve less. The factor is for rounding.
 */
static double tolerance(const struct fb_sampler *sampler, double median)
{
	double ci = sampler->config.ci;

	return median > 0 ? fmax(ci, sampler->step_us * 1.001 / median) : ci;
}

static bool tight(const struct fb_sampler *sampler)
{
	struct fb_summary summary;

	if (fb_summarise(sampler->max_us, sampler->n, sampler->scratch, &summary))
		return false;
	return fb_ci_half_width(&summary) <= tolerance(sampler, summary.median);
}

static bool drifting(const struct fb_sampler *sampler)
{
	double median = fb_median(sampler->max_us, sampler->n, sampler->scratch);

	return fb_drift(sampler->max_us, sampler->n, tolerance(sampler, median),
			sampler->scratch) == 1;
}

static void drop_third(struct fb_sampler *sampler)
{
	size_t drop = sampler->n / 3, keep = sampler->n - drop;

	memmove(sampler->max_us, sampler->max_us + drop, keep * sizeof(double));
	memmove(sampler->min_us, sampler->min_us + drop, keep * sizeof(double));
	memmove(sampler->mean_us, sampler->mean_us + drop, keep * sizeof(double));
	memmove(sampler->skew_us, sampler->skew_us + drop, keep * sizeof(double));
	sampler->n = keep;
	sampler->dropped = true;
	/* Back to the checkpoint that the remaining samples have not reached yet. */
	sampler->next_check = sampler->config.min_samples;
	while (sampler->next_check <= keep)
		sampler->next_check *= 2;
}

/* Why sampling is over at this point, or FB_STOP_NONE. */
static enum fb_stop reached(struct fb_sampler *sampler, double elapsed_s)
{
	const struct fb_sampler_config *c = &sampler->config;
	enum fb_stop end = sampler->n >= limit(sampler) ? FB_STOP_NMAX
			   : elapsed_s >= c->max_time_s ? FB_STOP_TIME
							: FB_STOP_NONE;
	bool check = sampler->n >= sampler->next_check;

	/* Sampling ends anyway, so that applying the rule here favours no lucky moment. */
	if (end != FB_STOP_NONE && sampler->n + c->reserve >= c->min_samples)
		check = true;
	if (check && !c->whole_time && tight(sampler))
		return FB_STOP_CI;
	while (check && sampler->next_check <= sampler->n)
		sampler->next_check *= 2;
	return end;
}

size_t fb_sampler_next(struct fb_sampler *sampler, double elapsed_s)
{
	const struct fb_sampler_config *c = &sampler->config;
	double left = c->max_time_s - elapsed_s, reps;
	enum fb_stop stop = reached(sampler, elapsed_s);
	size_t most;

	if (sampler->taken)
		sampler->estimate_s = fmax(elapsed_s / (double)sampler->taken, 1e-9);
	if (stop != FB_STOP_NONE) {
		bool drifts = drifting(sampler);

		if (!drifts || sampler->dropped || left <= 0 || c->whole_time) {
			sampler->drifts = drifts;
			sampler->stop = stop;
			return 0;
		}
		drop_third(sampler);
	}
	reps = fmin(fmax(block_s / sampler->estimate_s, BLOCK_MIN), BLOCK_MAX);
	/* The last block may be short, so that slow operations keep to the time, too. */
	reps = fmax(fmin(reps, left / sampler->estimate_s), 1);
	most = (sampler->next_check < limit(sampler) ? sampler->next_check : limit(sampler));
	most -= sampler->n;
	return (size_t)reps < most ? (size_t)reps : most;
}

size_t fb_warm_up_next(size_t calls, double elapsed_s, double first_s, double limit_s)
{
	double each = calls ? elapsed_s / (double)calls : first_s, need, left;

	if (elapsed_s >= limit_s || (calls >= WARM_UP_CALLS && elapsed_s >= warm_up_s))
		return 0;
	each = fmax(each, 1e-9);
	need = ceil((warm_up_s - elapsed_s) / each);
	if (calls < WARM_UP_CALLS)
		need = fmax(need, (double)(WARM_UP_CALLS - calls));
	/* Early calls are poor estimates: grow by steps, and do not overrun the limit by much. */
	need = fmin(need, 4.0 * (double)calls + 4);
	left = floor((limit_s - elapsed_s) / each);
	need = fmin(fmax(fmin(need, left), 1), WARM_UP_MAX);
	return (size_t)need;
}

int fb_streaming_calls(double call_s, double timer_s, double each_max_s, bool gpu)
{
	double batch = fmax(fmin(batch_s[gpu], each_max_s), batch_s[false]);
	double target = fmax(BATCH_TIMERS * timer_s, batch);
	double calls = ceil(target / fmax(call_s, 1e-9) - 1e-6);

	return (int)fmin(fmax(calls, BATCH_MIN), BATCH_MAX);
}
