/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes one measurement; see measure.h. sampler.h decides when to stop. */
#include "common/base/error.h"
#include "common/run/measure.h"

#include <math.h>
#include <string.h>

/*
 * The cost of the timer and the skew of the barrier may be these shares of the median before the
 * row is flagged. A skew lengthens its repetition by up to as much, so the median skew is compared.
 */
static const double timer_share = 0.05, skew_share = 0.10;

/* The instance under measurement; passed down instead of five arguments. */
struct subject {
	struct fb_meter *meter;
	const struct fb_program *program;
	void *instance;
	const struct fb_case *key;
	bool counts; /* this rank's times count; see fb_program.counts */
};

/* In tests: delays this rank after the barrier. */
static void be_late(const struct fb_meter *m)
{
	double until = fb_clock_now(m->clock) + m->late_us * 1e-6;

	while (fb_clock_now(m->clock) < until)
		;
}

static _Noreturn void fail(const struct subject *s, const char *what, int err)
{
	char reason[FB_REASON_CHARS];

	fb_reason(s->meter->world, what, err, reason);
	/* FB_ETIMEOUT means that the job is ending for another reason, which was printed. */
	if (err != FB_ETIMEOUT)
		fb_error_print("%s", reason);
	fb_watchdog_fail(s->meter->watchdog, reason);
}

/* One repetition, per call: synchronise, then time `calls` calls. No MPI, I/O or malloc inside. */
static struct fb_times time_run(const struct subject *s, enum fb_phase phase, int calls)
{
	struct fb_meter *m = s->meter;
	int (*run)(void *instance, int calls) = s->program->run;
	uint64_t start, end;
	double us, start_us;
	int err;

	fb_watchdog_step(m->watchdog, phase);
	err = s->key->cold ? s->program->clear(s->instance) : FB_OK;
	if (err)
		fail(s, "clearing the caches", err);
	err = s->program->ready ? s->program->ready(s->instance, calls) : FB_OK;
	if (err)
		fail(s, "making ready", err);
	fb_barrier_wait(m->barrier);
	if (m->late_us > 0)
		be_late(m);
	if (m->reads_cpu)
		fb_cpu_time_begin(&m->cpu);
	start = fb_clock_ticks(m->clock);
	err = run(s->instance, calls);
	end = fb_clock_ticks(m->clock);
	if (m->reads_cpu)
		fb_cpu_time_end(&m->cpu, calls);
	m->calls += calls;
	if (!err && s->program->settle)
		err = s->program->settle(s->instance);
	if (err)
		fail(s, "the operation", err);
	us = fb_clock_seconds(m->clock, end - start) * 1e6 / calls;
	/* Used only if all ranks read one clock; otherwise each rank has an epoch of its own. */
	start_us = (double)(int64_t)(start - m->epoch) * m->clock->seconds_per_tick * 1e6;
	if (!s->counts)
		return (struct fb_times){-HUGE_VAL, HUGE_VAL,  0,	 0,
					 -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
	return (struct fb_times){us, us, us, 1, start_us, start_us, start_us + us * calls};
}

static void prime(const struct subject *s)
{
	int err = s->program->prime ? s->program->prime(s->instance) : FB_OK;

	if (err)
		fail(s, "writing the input", err);
}

/* Local: checks this rank's buffers and adds what is wrong to *bad. */
static void check_buffers(const struct subject *s, int calls, struct fb_mismatch *bad)
{
	struct fb_mismatch found = {0};
	uint64_t before = bad->errors;
	int err;

	fb_watchdog_step(s->meter->watchdog, FB_PHASE_VERIFY);
	err = s->program->check(s->instance, calls, &found);
	if (err && err != FB_EDATA)
		fail(s, "verification", err);
	if (err == FB_EDATA && !found.errors)
		found.errors = 1;
	if (!before)
		*bad = found;
	bad->errors = before + found.errors;
}

/*
 * Combines time and errors of all ranks in one reduction: element 0 is the repetition; element 1
 * counts wrong elements (sum) and finds the first rank that has any (minimum).
 */
static struct fb_sample agree(const struct subject *s, struct fb_times own, int calls,
			      struct fb_mismatch bad, struct fb_measurement *out)
{
	const struct fb_group *world = s->meter->world;
	struct fb_times pair[2] = {own};
	struct fb_sample sample;
	int first;

	pair[1].min = bad.errors ? world->rank : world->nranks;
	pair[1].sum = (double)bad.errors;
	MPI_Allreduce(MPI_IN_PLACE, pair, 2, s->meter->times_type, s->meter->times_op, world->comm);
	sample = fb_meter_sample(s->meter, &pair[0], calls);
	if (!(pair[1].sum > 0))
		return sample;
	first = (int)pair[1].min;
	MPI_Bcast(&bad, sizeof(bad), MPI_BYTE, first, world->comm);
	out->status = FB_STATUS_WRONG;
	out->errors = (uint64_t)pair[1].sum;
	snprintf(out->reason, sizeof(out->reason),
		 "%llu wrong elements; first: rank %d element %llu is %.31s, expected %.31s",
		 (unsigned long long)out->errors, first, (unsigned long long)bad.index, bad.got,
		 bad.expected);
	return sample;
}

/* Broadcasts a decision of rank 0. */
static size_t share(const struct fb_group *world, size_t decision)
{
	unsigned long long number = decision;

	MPI_Bcast(&number, 1, MPI_UNSIGNED_LONG_LONG, 0, world->comm);
	return (size_t)number;
}

/* Collective: the processor time of a call, all ranks together, on rank 0; NAN for no calls. */
static double cpu_of_call(struct fb_meter *m)
{
	double used_s = m->cpu.used_s;

	m->reads_cpu = false;
	MPI_Reduce(m->world->rank ? &used_s : MPI_IN_PLACE, &used_s, 1, MPI_DOUBLE, MPI_SUM, 0,
		   m->world->comm);
	return m->cpu.calls > 0 ? used_s / m->cpu.calls : (double)NAN;
}

/*
 * Returns what a call takes once warm, on rank 0 (elsewhere: without meaning): the best batch,
 * since a preemption would spoil the last one.
 */
static double warm_up(const struct subject *s, double first_s)
{
	struct fb_meter *m = s->meter;
	bool streaming = s->key->cadence == FB_STREAMING;
	size_t calls = s->program->anew && s->program->anew(s->instance) ? 1 : 0;
	double elapsed_s = calls ? first_s : 0, each_s = calls ? first_s : HUGE_VAL;
	int batches = 0;

	fb_cpu_time_clear(&m->cpu);
	for (;;) {
		size_t next = share(m->world, fb_warm_up_next(calls, elapsed_s, first_s,
							      m->settings->max_time_s / 2));
		uint64_t start = fb_clock_ticks(m->clock);
		double batch_s;

		/* Processor time counts from the second batch on, if there is one: it is warmer. */
		if (next && batches++ < 2)
			fb_cpu_time_clear(&m->cpu);
		m->reads_cpu = true;
		if (next == 0)
			return calls ? each_s : first_s;
		if (streaming) {
			/* Batches of at most 1000, so that a step stays short. */
			for (size_t left = next; left;) {
				int batch = left < 1000 ? (int)left : 1000;

				time_run(s, FB_PHASE_WARM_UP, batch);
				left -= (size_t)batch;
			}
		} else {
			for (size_t i = 0; i < next; i++)
				time_run(s, FB_PHASE_WARM_UP, 1);
		}
		batch_s = fb_clock_seconds(m->clock, fb_clock_ticks(m->clock) - start);
		elapsed_s += batch_s;
		calls += next;
		each_s = fmin(each_s, batch_s / (double)next);
	}
}

/* Records this rank's repetitions for --raw-ranks; a batch of calls is one repetition. */
static void add_ranks(const struct subject *s, const struct fb_times *own, size_t n, int calls)
{
	struct fb_rank_time time[FB_METER_BLOCK];

	for (size_t i = 0; i < n && s->meter->ranks.world; i++) {
		double begin = s->meter->one_clock ? own[i].first_start : 0;

		time[i] = (struct fb_rank_time){begin, begin + own[i].max * calls};
		if (!s->counts)
			time[i].begin = time[i].end = (double)NAN;
	}
	fb_rank_times_add(&s->meter->ranks, time, n);
}

/* A repetition on new data, checked; what is wrong is added to *bad. */
static struct fb_times checked_run(const struct subject *s, int calls, struct fb_mismatch *bad)
{
	struct fb_times times;

	prime(s);
	times = time_run(s, FB_PHASE_REPEAT, calls);
	check_buffers(s, calls, bad);
	return times;
}

/*
 * Blocks of repetitions until rank 0's sampler has enough. Each of them is checked where `bad` is
 * not NULL.
 */
static void repeat(const struct subject *s, double estimate_s, int calls, size_t reserve,
		   struct fb_mismatch *bad)
{
	struct fb_meter *m = s->meter;
	bool root = m->world->rank == 0;
	uint64_t start = fb_clock_ticks(m->clock);
	uint64_t work = 0, from;

	fb_rank_times_begin(&m->ranks);
	if (root)
		fb_sampler_begin(&m->sampler, estimate_s, reserve, m->step_us / calls);
	for (;;) {
		double elapsed = fb_clock_seconds(m->clock, fb_clock_ticks(m->clock) - start);
		bool more = root && !fb_meter_cuts(m, elapsed);
		size_t reps = share(m->world, more ? fb_sampler_next(&m->sampler, elapsed) : 0);

		if (reps == 0)
			break;
		from = fb_clock_ticks(m->clock);
		for (size_t i = 0; i < reps; i++)
			m->block[i] = bad ? checked_run(s, calls, bad)
					  : time_run(s, FB_PHASE_REPEAT, calls);
		work += fb_clock_ticks(m->clock) - from;
		reps = fb_program_whole(s->program, s->instance, reps);
		MPI_Reduce(m->block, m->reduced, (int)reps, m->times_type, m->times_op, 0,
			   m->world->comm);
		add_ranks(s, m->block, reps, calls);
		for (size_t i = 0; root && i < reps; i++) {
			struct fb_sample sample = fb_meter_sample(m, &m->reduced[i], calls);

			fb_sampler_add(&m->sampler, &sample, 1);
		}
	}
	m->work_s += fb_clock_seconds(m->clock, work);
}

/* Rank 0: what the samples amount to. */
static void summarise(const struct subject *s, struct fb_measurement *out)
{
	struct fb_meter *m = s->meter;
	struct fb_sampler *sampler = &m->sampler;
	double batch_us;

	if (fb_summarise(sampler->max_us, sampler->n, sampler->scratch, &out->summary)) {
		out->status = FB_STATUS_FAULT;
		snprintf(out->reason, sizeof(out->reason), "the clock gave no usable times");
		return;
	}
	out->stop = sampler->stop;
	out->rank_mean_us = fb_median(sampler->mean_us, sampler->n, sampler->scratch);
	out->rank_min_us = fb_median(sampler->min_us, sampler->n, sampler->scratch);
	out->skew_us = m->one_clock ? fb_median(sampler->skew_us, sampler->n, sampler->scratch)
				    : m->skew_us;
	batch_us = out->summary.median * out->calls;
	if (batch_us * timer_share < m->timer_us)
		out->flags |= FB_FLAG_TIMER;
	if (batch_us * skew_share < out->skew_us)
		out->flags |= FB_FLAG_SKEW;
	if (sampler->dropped)
		out->flags |= FB_FLAG_DROPPED;
	if (sampler->drifts)
		out->flags |= FB_FLAG_DRIFT;
	if (m->cut)
		out->flags |= FB_FLAG_CUT;
	if (sampler->n < m->settings->min_samples)
		out->flags |= FB_FLAG_FEW;
	if (sampler->n < FB_FEWEST_SAMPLES && out->status == FB_STATUS_OK) {
		out->status = FB_STATUS_FEW;
		snprintf(out->reason, sizeof(out->reason),
			 "%zu samples within %g s and %llu repetitions%s", sampler->n,
			 m->settings->max_time_s, (unsigned long long)m->settings->max_samples,
			 m->cut ? ", ended by SIGUSR1" : "");
	}
}

/*
 * In a batch of reductions in place each call works on the result of the one before, so that the
 * batch cannot be checked. A single call is checked instead, which is no sample of a batch.
 */
static bool is_single(const struct fb_case *key)
{
	return key->cadence == FB_STREAMING && key->in_place && key->redop >= 0;
}

/*
 * Makes and checks the last repetition, on new data. It is a sample like any other unless it is a
 * single call (is_single). `bad`: what was wrong in earlier repetitions.
 */
static void final_check(const struct subject *s, struct fb_mismatch bad,
			struct fb_measurement *out)
{
	struct fb_meter *m = s->meter;
	bool single = is_single(s->key);
	int calls = single ? 1 : out->calls;
	struct fb_times own = checked_run(s, calls, &bad);
	struct fb_sample sample = agree(s, own, calls, bad, out);
	size_t samples = single ? 0 : fb_program_whole(s->program, s->instance, 1);

	if (single)
		out->flags |= FB_FLAG_SINGLE_CHECK;
	if (m->world->rank == 0)
		fb_sampler_add(&m->sampler, &sample, samples);
	add_ranks(s, &own, samples, calls);
}

/* Collective: the calls per batch, which rank 0 decides. */
static int batch_calls(const struct subject *s, double call_s)
{
	const struct fb_meter *m = s->meter;
	const struct fb_settings *settings = m->settings;
	const char *launch = s->key->launch;
	bool gpu = !strcmp(launch, "stream") || !strncmp(launch, "graph", strlen("graph"));
	double each_max_s = settings->max_time_s / (double)settings->min_samples;

	return (int)share(m->world, (size_t)fb_streaming_calls(call_s, m->timer_us * 1e-6,
							       each_max_s, gpu));
}

void fb_measure(struct fb_meter *meter, const struct fb_program *program, void *instance,
		const struct fb_case *c, struct fb_measurement *out)
{
	const struct subject s = {meter, program, instance, c,
				  !program->counts || program->counts(instance)};
	int verify = program->check ? meter->settings->verify : FB_VERIFY_NO;
	bool again = verify == FB_VERIFY_YES || verify == FB_VERIFY_EACH;
	bool each = verify == FB_VERIFY_EACH && !is_single(c);
	struct fb_mismatch bad = {0};
	struct fb_times first;
	uint64_t start = fb_clock_ticks(meter->clock);
	double each_s = 0;

	*out = (struct fb_measurement){.status = FB_STATUS_OK, .calls = 1};
	meter->calls = 0;
	fb_watchdog_step(meter->watchdog, FB_PHASE_FIRST);
	prime(&s);
	first = time_run(&s, FB_PHASE_FIRST, 1);
	if (verify != FB_VERIFY_NO)
		check_buffers(&s, 1, &bad);
	out->first_us = agree(&s, first, 1, bad, out).max;
	if (out->status == FB_STATUS_OK) {
		each_s = warm_up(&s, out->first_us * 1e-6);
		out->cpu_s = cpu_of_call(meter);
		if (c->cadence == FB_STREAMING)
			out->calls = batch_calls(&s, each_s);
	}
	meter->work_s += fb_clock_seconds(meter->clock, fb_clock_ticks(meter->clock) - start);
	if (out->status != FB_STATUS_OK)
		return;
	out->timed = true;
	if (program->begin_samples && program->begin_samples(instance)) {
		/* Begins with a block of one repetition, to learn how long a sample takes. */
		each_s = HUGE_VAL;
		out->cpu_s = (double)NAN;
	}
	repeat(&s, each_s * out->calls, out->calls, again && !is_single(c) ? 1 : 0,
	       each ? &bad : NULL);
	start = fb_clock_ticks(meter->clock);
	if (again)
		final_check(&s, bad, out);
	meter->work_s += fb_clock_seconds(meter->clock, fb_clock_ticks(meter->clock) - start);
	if (meter->world->rank == 0)
		summarise(&s, out);
}
