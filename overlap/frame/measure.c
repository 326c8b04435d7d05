/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing alone and communicating alone, measured behind each timed step of a case.
 *
 * So the parts and the whole share what changes during a run: clocks, temperature, other people's
 * traffic. Each is the maximum over ranks behind the harness's barrier, as a sample is. A step and
 * the computing behind it are a pair: exposed time is the median of the pairs' differences.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/barrier.h"
#include "common/measure/stats.h"
#include "overlap/frame/frame.h"

enum {
	TRACE_EVERY = 8, /* GPU: repetitions between two with an event around each task */
};

/* What is computing, and what communicating: copies are, where one rank runs all devices. */
static unsigned computing(const struct fb_step_instance *i)
{
	return i->dag.alone ? FB_PART_COMPUTE : FB_PART_COMPUTE | FB_PART_COPY;
}

static unsigned communicating(const struct fb_step_instance *i)
{
	return i->dag.alone ? FB_PART_COPY : FB_PART_COMMUNICATE;
}

int fb_step_run_parts(struct fb_step_instance *i, unsigned parts, int calls)
{
	int err = FB_OK;

	if (i->device)
		return fb_gpu_run_steps(i->gpu, parts, calls);
	for (int call = 0; call < calls && !err; call++) {
		i->begin = fb_clock_now(i->state->session->clock);
		err = fb_host_run_step(i->host, parts, i->times);
		i->end = fb_clock_now(i->state->session->clock);
	}
	return err;
}

int fb_step_ready(struct fb_step_instance *i, unsigned parts, int calls)
{
	int err = FB_OK;

	/* Collectives work in place: they need what the step would have copied there. */
	if (!(parts & FB_PART_COPY)) {
		if (i->device)
			err = fb_gpu_run_ready(i->gpu, FB_PART_COPY, 1);
		if (!err)
			err = fb_step_run_parts(i, FB_PART_COPY, 1);
	}
	if (err)
		return err;
	if (i->device)
		return fb_gpu_run_ready(i->gpu, parts, calls);
	fb_host_run_ready(i->host);
	return FB_OK;
}

/* Microseconds that tasks of a kind took, added up; NAN: none was timed. */
static double busy_us(const struct fb_step_instance *i, enum fb_task_kind kind)
{
	double sum = 0;
	bool any = false;

	for (int t = 0; t < i->dag.ntasks; t++) {
		double took = i->times[t].end - i->times[t].begin;

		if (i->dag.tasks[t].kind != kind || isnan(took) || !i->beside[t])
			continue;
		sum += took;
		any = true;
	}
	return any ? sum * 1e6 : (double)NAN;
}

/* From the end of the last task that computes to the end of the last task. */
static double tail_us(const struct fb_step_instance *i)
{
	double computed = -HUGE_VAL, all = -HUGE_VAL;

	for (int t = 0; t < i->dag.ntasks; t++) {
		double end = i->times[t].end;

		if (isnan(end))
			continue;
		all = fmax(all, end);
		if (i->dag.tasks[t].kind == FB_TASK_COMPUTE)
			computed = fmax(computed, end);
	}
	return isfinite(computed) ? (all - computed) * 1e6 : (double)NAN;
}

/* From the first begin to the last end of the tasks of a kind that do something. */
static struct fb_task_time span_of(const struct fb_step_instance *i, enum fb_task_kind kind)
{
	struct fb_task_time span = {HUGE_VAL, -HUGE_VAL};

	for (int t = 0; t < i->dag.ntasks; t++) {
		const struct fb_task *task = &i->dag.tasks[t];

		if (task->kind != kind || isnan(i->times[t].end) ||
		    (kind == FB_TASK_COMPUTE && task->work.kind == FB_WORK_NONE))
			continue;
		span.begin = fmin(span.begin, i->times[t].begin);
		span.end = fmax(span.end, i->times[t].end);
	}
	return span;
}

/* Tasks that count for slowdown: all, or those that ran wholly while the other side ran. */
static void choose_tasks(struct fb_step_instance *i)
{
	const struct fb_task_time work = span_of(i, FB_TASK_COMPUTE);
	const struct fb_task_time talk = span_of(i, FB_TASK_COLLECTIVE);

	for (int t = 0; t < i->dag.ntasks; t++) {
		bool computes = i->dag.tasks[t].kind == FB_TASK_COMPUTE;
		const struct fb_task_time *other = computes ? &talk : &work;

		i->beside[t] = i->dag.alone ? i->dag.tasks[t].work.kind != FB_WORK_NONE :
			       !i->state->program->own_tokens ||
			       (i->times[t].begin >= other->begin &&
				i->times[t].end <= other->end &&
				(!computes || i->dag.tasks[t].work.kind != FB_WORK_NONE));
	}
}

/* What the tasks' times of the last step say. */
static void take_times(struct fb_step_instance *i, struct fb_step_sample *s)
{
	choose_tasks(i);
	s->us[FB_MEASURE_BUSY_COMPUTE] = busy_us(i, FB_TASK_COMPUTE);
	s->us[FB_MEASURE_BUSY_COMMUNICATION] = busy_us(i, FB_TASK_COLLECTIVE);
	s->us[FB_MEASURE_TAIL] = tail_us(i);
}

/* Collective: parts alone, behind the barrier. On processors the tasks' times come with it. */
static int time_parts(struct fb_step_instance *i, unsigned parts, double *us)
{
	const struct fb_clock *clock = i->state->session->clock;
	uint64_t start;
	int err = fb_step_ready(i, parts, 1);

	if (err)
		return err;
	fb_barrier_wait(i->state->barrier);
	start = fb_clock_ticks(clock);
	err = fb_step_run_parts(i, parts, 1);
	*us = fb_clock_seconds(clock, fb_clock_ticks(clock) - start) * 1e6;
	return err;
}

static int trace_parts(struct fb_step_instance *i, unsigned parts)
{
	int err;

	if (!i->device)
		return FB_OK;
	err = fb_step_ready(i, parts, 1);
	fb_barrier_wait(i->state->barrier);
	return err ? err : fb_gpu_run_traced(i->gpu, parts, i->times, &i->trace_error_s);
}

/* Room for one more sample, with nothing in it. */
static struct fb_step_sample *add_sample(struct fb_step_instance *i)
{
	if (i->nsamples == i->room) {
		size_t room = i->room ? 2 * i->room : 64;
		struct fb_step_sample *more = realloc(i->samples, room * sizeof(*more));

		if (!more)
			return NULL;
		i->samples = more;
		i->room = room;
	}
	for (int m = 0; m < FB_STEP_MEASURES; m++)
		i->samples[i->nsamples].us[m] = (double)NAN;
	return &i->samples[i->nsamples++];
}

/* The maximum over ranks; NAN only where all have none. */
static void reduce(const struct fb_group *world, struct fb_step_sample *s)
{
	for (int m = 0; m < FB_STEP_MEASURES; m++)
		s->us[m] = isnan(s->us[m]) ? -HUGE_VAL : s->us[m];
	MPI_Allreduce(MPI_IN_PLACE, s->us, FB_STEP_MEASURES, MPI_DOUBLE, MPI_MAX, world->comm);
	for (int m = 0; m < FB_STEP_MEASURES; m++)
		s->us[m] = isinf(s->us[m]) ? (double)NAN : s->us[m];
}

int fb_step_settle(void *instance)
{
	struct fb_step_instance *i = instance;
	struct fb_step_sample *s = add_sample(i);
	bool traced = !i->device || (i->nsamples % TRACE_EVERY == 1 && !i->dag.alone);
	int err;

	if (!s)
		return fb_error(FB_ENOMEM, "out of memory for samples");
	if (!i->fresh && i->parts == FB_PART_ALL) {
		err = traced ? trace_parts(i, i->parts) : FB_OK;
		if (!err && traced)
			take_times(i, s);
		if (!err)
			err = time_parts(i, computing(i), &s->us[FB_MEASURE_COMPUTE]);
		if (!err && traced)
			err = trace_parts(i, computing(i));
		if (!err && traced)
			s->us[FB_MEASURE_ALONE_COMPUTE] = busy_us(i, FB_TASK_COMPUTE);
		if (!err)
			err = time_parts(i, communicating(i),
					 &s->us[FB_MEASURE_COMMUNICATION]);
		if (!err && traced)
			err = trace_parts(i, communicating(i));
		if (!err && traced)
			s->us[FB_MEASURE_ALONE_COMMUNICATION] = busy_us(i, FB_TASK_COLLECTIVE);
		if (!err && i->base)
			err = time_parts(i->base, FB_PART_ALL, &s->us[FB_MEASURE_BASE]);
		if (err)
			return err;
	}
	i->fresh = false;
	reduce(i->state->session->world, s);
	return FB_OK;
}

/* --- the row --------------------------------------------------------------------------------- */

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
 * is narrower than the communication itself: on a loaded machine it is left out.
 */
static void put_exposed(const struct table *t, double communication, struct fb_traits *traits)
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
	double *extra = traits->extra;
	double compute = median_of(t, FB_MEASURE_COMPUTE);
	double communication = median_of(t, FB_MEASURE_COMMUNICATION);

	if (i->parts != FB_PART_ALL || !(extra[FB_STEP_COLLECTIVES] > 0 || i->dag.alone)) {
		/* The row itself is a part alone. */
		compute = i->parts & FB_PART_COMPUTE ? step_us : (double)NAN;
		communication = i->parts & FB_PART_COMPUTE ? (double)NAN : step_us;
	} else {
		put_exposed(t, communication, traits);
		/* Nothing is faster than the longer of the two with the other hidden behind it. */
		traits->bound_us = fmax(compute, communication);
		extra[FB_TAIL_US] = median_of(t, FB_MEASURE_TAIL);
		extra[FB_COMPUTE_SLOWDOWN] = median_ratio(t, FB_MEASURE_BUSY_COMPUTE,
							  FB_MEASURE_ALONE_COMPUTE);
		extra[FB_COMMUNICATION_SLOWDOWN] =
			median_ratio(t, FB_MEASURE_BUSY_COMMUNICATION,
				     FB_MEASURE_ALONE_COMMUNICATION);
	}
	extra[FB_COMPUTE_US] = compute;
	extra[FB_COMMUNICATION_US] = communication;
	extra[FB_COMPUTE_TFLOPS] = fb_step_flop(&i->dag) / compute * 1e-6;
	if (i->dag.tokens && i->parts & FB_PART_COMPUTE)
		extra[FB_TOKENS_PER_S] = (double)i->dag.tokens / step_us * 1e6;
	if (i->dag.ideal > 0) {
		extra[FB_BUBBLE_SHARE] = extra[FB_EXPOSED_US] / step_us;
		extra[FB_BUBBLE_THEORY] = i->dag.ideal;
	}
	if (i->state->own->token_budget_s > 0)
		extra[FB_BUDGET_SHARE] = communication * 1e-6 / i->state->own->token_budget_s;
	put_wire(i, communication, traits);
	if (i->base)
		put_cost(t, i->graph && !(i->state->program->modes &&
					  i->state->program->modes[i->build.schedule] &
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
