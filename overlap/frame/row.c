/* SPDX-License-Identifier: BSD-3-Clause */
/* A row's own columns, from what was measured behind each of its steps (measure.c). */
#include <math.h>
#include <stdlib.h>

#include "common/measure/stats.h"
#include "overlap/frame/frame.h"

/* The flag processor-bound: multiprocessors idle for most of a step that hides communication. */
static const double little_busy = 0.5, little_exposed = 0.2;

/* A row's samples, and room for a column of them and for what statistics need. */
struct table {
	const struct fb_step_sample *samples; /* [n], those of the row */
	const double *step_us;                /* [n] */
	size_t n;
	double *column, *scratch;             /* [n], [2 n] */
};

/* Values of all samples that have one: `a` less `b`, or `a` over `b`, or `a` alone. */
enum combination { ALONE, LESS, OVER };

static size_t fill(const struct table *t, const double *a, size_t a_stride, const double *b,
		   size_t b_stride, enum combination how)
{
	size_t n = 0;

	for (size_t k = 0; k < t->n; k++) {
		double x = a[k * a_stride], y = how == ALONE ? 0 : b[k * b_stride];
		double value = how == OVER ? x / y : x - y;

		if (isfinite(value))
			t->column[n++] = value;
	}
	return n;
}

enum { STRIDE = sizeof(struct fb_step_sample) / sizeof(double) };

static double median_of(const struct table *t, enum fb_step_measure m)
{
	size_t n = fill(t, &t->samples->us[m], STRIDE, NULL, 0, ALONE);

	return n ? fb_median(t->column, n, t->scratch) : (double)NAN;
}

static double median_ratio(const struct table *t, enum fb_step_measure a, enum fb_step_measure b)
{
	size_t n = fill(t, &t->samples->us[a], STRIDE, &t->samples->us[b], STRIDE, OVER);

	return n ? fb_median(t->column, n, t->scratch) : (double)NAN;
}

/*
 * Exposed time with its interval. The share that is hidden says something only where the interval
 * is narrower than the communication itself: on a loaded machine it is left out. It is also left
 * out for a pipeline, whose exposed time contains the bubble, which is no communication.
 */
static void put_exposed(const struct table *t, double communication, bool bubble,
			struct fb_traits *traits)
{
	struct fb_summary s;
	size_t n = fill(t, t->step_us, 1, &t->samples->us[FB_MEASURE_COMPUTE], STRIDE, LESS);

	if (!n || fb_summarise(t->column, n, t->scratch, &s))
		return;
	traits->extra[FB_EXPOSED_US] = s.median;
	traits->extra[FB_EXPOSED_LOW_US] = s.median_low;
	traits->extra[FB_EXPOSED_HIGH_US] = s.median_high;
	if (s.median_low <= 0 && s.median_high >= 0)
		fb_traits_flag(traits, "exposed-zero");
	if (s.median < 0)
		fb_traits_flag(traits, "exposed-negative");
	if (s.median_low > communication)
		fb_traits_flag(traits, "overlap-loses");
	if (bubble)
		return;
	if (s.median_high - s.median_low < communication)
		traits->extra[FB_HIDDEN_SHARE] = 1 - s.median / communication;
	else
		fb_traits_flag(traits, "unsteady");
}

/* What the row's step takes beyond the one that it is compared with. */
static void put_cost(const struct table *t, bool replayed, struct fb_traits *traits)
{
	double *extra = traits->extra;
	struct fb_summary s;
	size_t n = fill(t, t->step_us, 1, &t->samples->us[FB_MEASURE_BASE], STRIDE, LESS);

	if (!n || fb_summarise(t->column, n, t->scratch, &s))
		return;
	extra[FB_COST_US] = s.median;
	extra[FB_COST_LOW_US] = s.median_low;
	extra[FB_COST_HIGH_US] = s.median_high;
	if (s.median_low <= 0 && s.median_high >= 0)
		fb_traits_flag(traits, "cost-zero");
	/* A graph that is replayed has paid when the steps saved what making it took. */
	if (s.median < 0 && replayed)
		extra[FB_BREAK_EVEN] = (extra[FB_CAPTURE_US] + extra[FB_INSTANTIATE_US]) /
				       -s.median;
	extra[FB_BASE_US] = median_of(t, FB_MEASURE_BASE);
}

/* Bytes that a rank hands to all_to_all_v, and of them those for other ranks. */
static void put_wire(const struct fb_step_instance *i, double communication_us,
		     struct fb_traits *traits)
{
	double logical = 0, own = 0, size = (double)i->build.element_bytes;

	for (int k = 0; k < i->dag.ntasks; k++) {
		const struct fb_task *t = &i->dag.tasks[k];
		const struct fb_partition *p = &i->dag.partitions[t->partition];

		if (t->kind != FB_TASK_COLLECTIVE || !t->counts)
			continue;
		for (int to = 0; to < p->members; to++)
			logical += (double)t->counts[p->member * p->members + to] * size;
		own += (double)t->counts[p->member * p->members + p->member] * size;
	}
	if (!(logical > 0))
		return;
	traits->extra[FB_LOGICAL_GBPS] = logical / communication_us * 1e-3;
	traits->extra[FB_WIRE_GBPS] = (logical - own) / communication_us * 1e-3;
}

static void put_row(const struct fb_step_instance *i, const struct table *t, double step_us,
		    struct fb_traits *traits)
{
	const struct fb_schedule_program *program = i->state->program;
	double *extra = traits->extra;
	double compute = median_of(t, FB_MEASURE_COMPUTE);
	double communication = median_of(t, FB_MEASURE_COMMUNICATION);

	if (i->parts != FB_PART_ALL || !(extra[FB_STEP_COLLECTIVES] > 0 || i->dag.alone)) {
		/* The row itself is a part alone. */
		compute = i->parts & FB_PART_COMPUTE ? step_us : (double)NAN;
		communication = i->parts & FB_PART_COMPUTE ? (double)NAN : step_us;
	} else {
		put_exposed(t, communication, i->dag.ideal > 0, traits);
		/* Bound: the longer of the two, with the other hidden behind it. */
		traits->bound_us = fmax(compute, communication);
		extra[FB_OVER_BOUND] = step_us / traits->bound_us;
		extra[FB_TAIL_US] = median_of(t, FB_MEASURE_TAIL);
		extra[FB_COMPUTE_SLOWDOWN] = median_ratio(t, FB_MEASURE_BUSY_COMPUTE,
							  FB_MEASURE_ALONE_COMPUTE);
		extra[FB_COMMUNICATION_SLOWDOWN] =
			median_ratio(t, FB_MEASURE_BUSY_COMMUNICATION,
				     FB_MEASURE_ALONE_COMMUNICATION);
	}
	if (i->busy_known) {
		extra[FB_SM_BUSY] = i->busy.sms;
		extra[FB_SM_OCCUPANCY] = i->busy.occupancy;
		/* Neither kernels nor other ranks are waited for: then it is for launches. */
		if (i->busy.sms < little_busy &&
		    !(extra[FB_EXPOSED_US] >= little_exposed * step_us))
			fb_traits_flag(traits, "processor-bound");
	}
	extra[FB_COMPUTE_US] = compute;
	extra[FB_COMMUNICATION_US] = communication;
	extra[FB_COMPUTE_TFLOPS] = fb_step_flop(&i->dag) / compute * 1e-6;
	if (i->has_tokens && i->dag.tokens && i->parts & FB_PART_COMPUTE) {
		extra[FB_TOKENS_PER_S] = (double)i->dag.tokens / step_us * 1e6;
		extra[FB_TOKENS_PER_S_RANK] = extra[FB_TOKENS_PER_S] / i->dag.nranks;
	}
	if (i->dag.ideal > 0) {
		extra[FB_BUBBLE_SHARE] = extra[FB_EXPOSED_US] / step_us;
		extra[FB_BUBBLE_THEORY] = i->dag.ideal;
	}
	if (i->state->own->token_budget_s > 0)
		extra[FB_BUDGET_SHARE] = communication * 1e-6 / i->state->own->token_budget_s;
	put_wire(i, communication, traits);
	extra[FB_BACKGROUND_US] = median_of(t, FB_MEASURE_BACKGROUND);
	if (i->base && !fb_step_background(i->base)) {
		double base = median_of(t, FB_MEASURE_BASE);

		/* Then the row's step is the traffic, and what it costs a step is not seen. */
		if (extra[FB_BACKGROUND_US] > base)
			fb_traits_flag(traits, "background-longer");
		/* Both need at least the time of the longer one, however little they share. */
		if (fb_step_background(i))
			extra[FB_OVER_LONGER] = step_us / fmax(base, extra[FB_BACKGROUND_US]);
	}
	if (i->base)
		put_cost(t, i->graph && !i->base->graph && program->has_base &&
			    !(program->modes && program->modes[i->build.schedule] &
						FB_MODE_RECAPTURE), traits);
}

void fb_step_summarise(void *instance, const double *samples_us, size_t n,
		       struct fb_traits *traits)
{
	struct fb_step_instance *i = instance;
	struct table t = {.n = n < i->nsamples ? n : i->nsamples};
	double *room = malloc(5 * (n + 1) * sizeof(*room));

	if (!room || !n)
		goto free_room;
	/* The row's samples are the newest ones. */
	t.samples = i->samples + (i->nsamples - t.n);
	t.step_us = samples_us + (n - t.n);
	t.column = room;
	t.scratch = room + n + 1;
	fb_step_find_put(i, t.step_us, t.n, t.scratch);
	put_row(i, &t, fb_median(samples_us, n, room + 3 * (n + 1)), traits);
free_room:
	free(room);
}
