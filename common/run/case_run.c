/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one case, from `can` to `teardown`; see run.h. */
#include "common/base/error.h"
#include "common/run/run.h"
#include "common/system/launcher.h"

#include <math.h>
#include <string.h>

/* Rank 0 writes a row without times. */
static int record_plain(struct fb_run *run, const struct fb_case *c, enum fb_status status,
			const char *reason)
{
	struct fb_row row;

	if (status == FB_STATUS_FAULT)
		fb_run_worsen(run, FB_EXIT_FAULT);
	if (run->world.rank != 0)
		return FB_OK;
	row = fb_recorder_row(&run->recorder, c);
	row.status = status;
	row.reason = reason;
	fb_progress_clear(&run->progress);
	return fb_recorder_put(&run->recorder, &row, NULL, 0);
}

/* Rates follow from the median time, never the other way round. */
static void add_rates(struct fb_row *row, const struct fb_traits *traits)
{
	double seconds = row->median_us * 1e-6;

	if (traits->algorithm_bytes > 0 && seconds > 0) {
		row->algbw_GBps = traits->algorithm_bytes / seconds * 1e-9;
		row->busbw_GBps = row->algbw_GBps * traits->bus_factor;
	}
	if (traits->bound_us > 0 && row->median_us > 0) {
		row->bound_us = traits->bound_us;
		row->efficiency = traits->bound_us / row->median_us;
	}
}

/* Divides the times of a call by its `operations`. The skew is the call's and stays whole. */
static void add_times(struct fb_row *row, const struct fb_measurement *m, int operations)
{
	row->samples = m->summary.n;
	row->stop = m->stop;
	row->first_us = m->first_us / operations;
	row->median_us = m->summary.median / operations;
	row->median_low_us = m->summary.median_low / operations;
	row->median_high_us = m->summary.median_high / operations;
	row->min_us = m->summary.min / operations;
	row->p05_us = m->summary.p05 / operations;
	row->p95_us = m->summary.p95 / operations;
	row->p99_us = m->summary.p99 / operations;
	row->max_us = m->summary.max / operations;
	row->mad_us = m->summary.mad / operations;
	row->rank_mean_us = m->rank_mean_us / operations;
	row->rank_min_us = m->rank_min_us / operations;
	row->skew_us = m->skew_us;
	row->outliers = m->summary.outliers;
	row->cpu_s = m->cpu_s / operations;
}

/* Rank 0: the row of a measured case. */
static int record(struct fb_run *run, const struct fb_case *c, const struct fb_measurement *m,
		  const struct fb_traits *traits, double setup_us)
{
	struct fb_row row = fb_recorder_row(&run->recorder, c);
	int operations = traits->operations > 0 ? traits->operations : 1;
	double *samples_us = m->timed ? run->meter.sampler.max_us : NULL;
	char flags[256];
	bool tcp;
	int err;

	row.status = m->status;
	row.reason = m->reason[0] ? m->reason : NULL;
	row.errors = m->errors;
	row.setup_us = setup_us;
	if (m->timed) {
		add_times(&row, m, operations);
		add_rates(&row, traits);
		for (uint64_t i = 0; operations > 1 && i < m->summary.n; i++)
			samples_us[i] /= operations;
	}
	row.path = traits->path;
	row.channels = traits->channels > 0 ? (uint64_t)traits->channels : 0;
	row.extra = traits->extra;
	tcp = fb_group_takes_rdma(&run->world) && fb_measure_over_tcp(c->transport, traits->path);
	fb_measure_flags(m->flags | (tcp ? FB_FLAG_TCP_THOUGH_RDMA : 0), traits->flags, flags,
			 sizeof(flags));
	row.flags = flags;
	row.traffic = run->counters.traffic;
	row.counters = run->counters.events;
	fb_progress_clear(&run->progress);
	err = fb_recorder_put(&run->recorder, &row, samples_us, m->summary.n);
	if (!err && m->timed)
		err = fb_recorder_put_ranks(&run->recorder, &run->meter.ranks, m->summary.n,
					    run->meter.one_clock);
	return err;
}

/* Collective: all ranks get what failed and why from the first rank that has printed an error. */
static void share_cause(const struct fb_run *run, int err, char reason[FB_REASON_CHARS])
{
	int first = fb_run_first_rank(run, err && *fb_error_last());

	if (first == run->world.nranks)
		first = fb_run_first_rank(run, err);
	fb_reason(&run->world, "setup", err, reason);
	if (first == run->world.rank)
		fb_error_print("%s", reason);
	MPI_Bcast(reason, FB_REASON_CHARS, MPI_CHAR, first, run->world.comm);
}

/*
 * Sets the instance up on all ranks; *setup_us is this rank's time. Returns 0, or the error that
 * all ranks agree on, with its reason: anything else ends the job, as the ranks that succeeded
 * could not tear down without the others.
 */
static int set_up(struct fb_run *run, const struct fb_case *c, void **instance, double *setup_us,
		  char reason[FB_REASON_CHARS])
{
	uint64_t start = fb_clock_ticks(&run->clock);
	int err = run->program->setup(run->state, c, instance);
	double seconds = fb_clock_seconds(&run->clock, fb_clock_ticks(&run->clock) - start);
	int all[2] = {err, -err};

	/* The watchdog reports this text for this rank if other ranks do not come. */
	snprintf(reason, FB_REASON_CHARS, "failed: %s", fb_error_cause(err));
	if (err)
		(void)fb_watchdog_alive(run->watchdog, reason);
	MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MAX, run->world.comm);
	/* If this rank gave up because the job ends, the watchdog writes the reason. */
	if (err && fb_watchdog_alive(run->watchdog, ""))
		fb_watchdog_fail(run->watchdog, fb_strerror(err));
	if (all[0] != -all[1] || (err && err != FB_EUNSUPPORTED))
		share_cause(run, err, reason);
	if (all[0] != -all[1])
		fb_watchdog_fail(run->watchdog, reason);
	*setup_us = seconds * 1e6;
	return err;
}

/* Collective: judges counters by the bytes that pass a rank's link, which are those of busbw. */
static void judge(struct fb_run *run, const struct fb_case *c, struct fb_traits *traits)
{
	bool network = !fb_group_one_host(&run->world) || strstr(c->transport, "tcp") ||
		       strstr(c->transport, "rdma");
	double call = traits->algorithm_bytes * traits->bus_factor *
		      (traits->operations > 0 ? traits->operations : 1);

	fb_counters_judge(&run->counters, network, call, call * run->meter.calls, traits);
}

static int run_valid(struct fb_run *run, const struct fb_case *c)
{
	struct fb_traits traits = {.extra = run->extra};
	struct fb_measurement m;
	void *instance = NULL;
	double setup_us = 0;
	uint64_t start, spent;
	char reason[FB_REASON_CHARS];
	int err;

	fb_watchdog_step(run->watchdog, FB_PHASE_SETUP);
	start = fb_clock_ticks(&run->clock);
	fb_error_forget();
	err = set_up(run, c, &instance, &setup_us, reason);
	/* The row says what was refused and why, as far as rank 0 knows. */
	if (err == FB_EUNSUPPORTED)
		return record_plain(run, c, FB_STATUS_SKIPPED, fb_error_cause(err));
	if (err)
		return record_plain(run, c, FB_STATUS_FAULT, reason);
	fb_error_forget();
	spent = fb_clock_ticks(&run->clock) - start;
	for (size_t i = 0; i < run->program->ncolumns; i++)
		traits.extra[i] = (double)NAN;
	fb_counters_begin(&run->counters);
	fb_measure(&run->meter, run->program, instance, c, &m);
	fb_counters_end(&run->counters);
	if (m.status == FB_STATUS_WRONG)
		fb_run_worsen(run, FB_EXIT_WRONG);
	if (m.status == FB_STATUS_FAULT)
		fb_run_worsen(run, FB_EXIT_FAULT);
	fb_watchdog_step(run->watchdog, FB_PHASE_RECORD);
	if (run->program->describe)
		run->program->describe(instance, &traits);
	judge(run, c, &traits);
	/* What later rows reuse does not count: the random order decides which row makes it. */
	setup_us -= traits.kept_us;
	MPI_Allreduce(MPI_IN_PLACE, &setup_us, 1, MPI_DOUBLE, MPI_MAX, run->world.comm);
	if (run->world.rank == 0 && run->program->summarise && m.timed)
		run->program->summarise(instance, run->meter.sampler.max_us, m.summary.n, &traits);
	if (run->world.rank == 0)
		err = record(run, c, &m, &traits, setup_us);
	fb_watchdog_step(run->watchdog, FB_PHASE_TEARDOWN);
	start = fb_clock_ticks(&run->clock);
	if (run->program->teardown)
		run->program->teardown(instance);
	spent += fb_clock_ticks(&run->clock) - start;
	run->program_s += fb_clock_seconds(&run->clock, spent);
	return err;
}

bool fb_run_can(const struct fb_run *run, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	reason[0] = '\0';
	if (c->cold && c->cadence == FB_STREAMING)
		snprintf(reason, FB_REASON_CHARS, "cold caches need cadence isolated: only the "
			 "first call of a batch finds them cold");
	else
		return !run->program->can || run->program->can(run->state, c, reason);
	return false;
}

int fb_case_run(struct fb_run *run, size_t index)
{
	const struct fb_case *c = &run->cases[index];
	char reason[FB_REASON_CHARS] = "", text[FB_CASE_CHARS];
	int err;

	fb_watchdog_case(run->watchdog, (int)index, fb_case_text(c, text));
	fb_recorder_begin(&run->recorder, c);
	if (!fb_run_can(run, c, reason))
		err = record_plain(run, c, FB_STATUS_SKIPPED, reason);
	else
		err = run_valid(run, c);
	if (!err && run->world.rank == 0 && fb_launcher_ends() &&
	    (run->meter.cut || index + 1 < run->count))
		err = fb_error(FB_EPEER, "told to end by SIGUSR1: rows so far are safe");
	/* Only rank 0 notices a full disk or SIGUSR1, but all ranks have to stop. */
	MPI_Bcast(&err, 1, MPI_INT, 0, run->world.comm);
	return err;
}
