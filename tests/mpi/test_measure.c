/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 3
 *
 * One measurement of operations whose times and results are known: that the sample lasts from the
 * first rank's begin to the last one's end, that a late rank makes it no shorter, that a batch is
 * divided by its calls, that wrong data is found before and after timing and named, and that the
 * flags are right.
 */
#include "common/base/error.h"
#include "common/measure/selftest.h"
#include "common/run/measure.h"
#include "tests/mpi/operation.h"
#include "tests/mpi/span.h"
#include "tests/unit/check.h"

#include <time.h>

/* Measurements end for the number of their samples, however slow the machine is. */
static const double no_limit_s = 60;

static void test_times(struct fb_meter *m)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	const struct fb_case streaming = {
		.cadence = FB_STREAMING, .launch = "blocking", .redop = -1};
	bool root = m->world->rank == 0;
	struct fb_measurement out;
	/* The last rank is the slow one: 200 us, the others 100 us. */
	bool slow = m->world->rank == m->world->nranks - 1;
	struct operation op = op_of(m, slow ? 200e-6 : 100e-6);
	double mean = (200 + 100.0 * (m->world->nranks - 1)) / m->world->nranks;
	struct span span = span_begin();
	bool loose;

	fb_measure(m, &program, &op, &isolated, &out);
	loose = m->world->oversubscribed || !span_undisturbed(&span, m->world->comm);
	CHECK_INT(out.status, FB_STATUS_OK);
	CHECK_INT(op.primes, 2);
	CHECK_INT(op.calls, op.batches);
	CHECK_INT(out.calls, 1);
	CHECK(out.first_us >= 200);
	if (root) {
		CHECK(out.summary.n >= 50);
		CHECK(out.stop == FB_STOP_CI || out.stop == FB_STOP_NMAX);
		CHECK(out.summary.min >= 199.9);
		CHECK_NEAR(out.summary.median, 200, loose ? 1e6 : 5);
		if (!loose) {
			CHECK_NEAR(out.rank_mean_us, mean, 5);
			CHECK_NEAR(out.rank_min_us, m->world->nranks > 1 ? 100 : 200, 5);
		}
		CHECK(!(out.flags & FB_FLAG_TIMER));
	}
	op = op_of(m, 2e-6);
	span = span_begin();
	fb_measure(m, &program, &op, &streaming, &out);
	loose = m->world->oversubscribed || !span_undisturbed(&span, m->world->comm);
	CHECK_INT(out.status, FB_STATUS_OK);
	CHECK(out.calls >= 2 && out.calls <= 1000);
	CHECK_INT(op.last_calls, out.calls); /* the checked batch is a timed one */
	if (root && !loose) {
		CHECK(out.calls > 150 && out.calls < 750); /* 1 ms of 2 us each */
		CHECK_NEAR(out.summary.median, 2, 0.2);
	}
}

static int sleep_a_while(void *instance, int calls)
{
	struct timespec rest = {.tv_nsec = 200000L * calls};
	struct operation *op = instance;

	op->last_calls = calls;
	nanosleep(&rest, NULL);
	return FB_OK;
}

/*
 * Calls that spin use the processor for as long as they last, calls that sleep hardly do. A rank
 * that shares its processor spins for less of its time.
 */
static void test_cpu(struct fb_meter *m)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	struct fb_program sleeps = program;
	struct operation op = op_of(m, 200e-6);
	struct fb_measurement spun, slept;
	double least_s = HUGE_VAL;

	sleeps.run = sleep_a_while;
	fb_measure(m, &sleeps, &op, &isolated, &slept);
	/* A host that runs another machine meanwhile may count that time as this one's. */
	for (int i = 0; i < 5; i++) {
		fb_measure(m, &program, &op, &isolated, &spun);
		CHECK(m->world->rank || spun.cpu_s > 0);
		least_s = fmin(least_s, spun.cpu_s);
	}
	if (m->world->rank)
		return;
	CHECK(slept.cpu_s >= 0 && slept.cpu_s < spun.cpu_s / 2);
	CHECK(least_s <= 1.5 * m->world->nranks * 200e-6);
}

/* The times of single ranks are the samples' own: from the first begin to the last end. */
static void test_ranks(struct fb_meter *m)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	bool slow = m->world->rank == m->world->nranks - 1;
	struct operation op = op_of(m, slow ? 200e-6 : 100e-6);
	size_t ranks = (size_t)m->world->nranks;
	struct fb_measurement out;

	fb_measure(m, &program, &op, &isolated, &out);
	CHECK_INT(m->ranks.err, FB_OK);
	if (m->world->rank != 0)
		return;
	CHECK_INT(m->ranks.count, m->sampler.taken);
	CHECK(m->ranks.count >= out.summary.n);
	for (size_t i = 0; i < out.summary.n; i++) {
		size_t first = m->ranks.count - out.summary.n;
		const struct fb_rank_time *time = &m->ranks.time[(first + i) * ranks];
		double longest = 0, begin = time[0].begin, end = 0;

		for (size_t r = 0; r < ranks; r++) {
			double took = time[r].end - time[r].begin;

			CHECK(took >= (r + 1 < ranks ? 99.9 : 199.9));
			CHECK(m->one_clock || time[r].begin == 0);
			longest = took > longest ? took : longest;
			begin = time[r].begin < begin ? time[r].begin : begin;
			end = time[r].end > end ? time[r].end : end;
		}
		CHECK_NEAR(m->one_clock ? end - begin : longest, m->sampler.max_us[i], 1e-3);
	}
}

/*
 * Data goes from rank 0 to the others only, and rank 0 waits for nobody: a rank that begins late
 * finds it there, and its own time is next to nothing. The later it begins the longer the
 * operation takes all the same, and never less than ranks began apart.
 */
static void test_late(struct fb_meter *m)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	const double late_us[] = {0, 300, 900};
	bool last = m->world->rank == m->world->nranks - 1;
	double median[3] = {0};
	struct span span = span_begin();
	bool loose;

	for (int i = 0; i < 3; i++) {
		struct operation op = op_of(m, last ? 0 : 20e-6);
		struct fb_measurement out;

		m->late_us = last ? late_us[i] : 0;
		fb_measure(m, &program, &op, &isolated, &out);
		median[i] = out.summary.median;
		for (size_t k = 0; m->world->rank == 0 && m->one_clock && k < out.summary.n; k++)
			if (!CHECK(m->sampler.max_us[k] >= m->sampler.skew_us[k]))
				break;
	}
	m->late_us = 0;
	loose = m->world->oversubscribed || !span_undisturbed(&span, m->world->comm);
	if (m->world->rank == 0 && m->world->nranks > 1 && m->one_clock && !loose) {
		CHECK(median[1] > 2 * median[0]);
		CHECK(median[2] > 2 * median[1]);
	}
}

static void test_flags(struct fb_meter *m, struct fb_settings *settings)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	const struct fb_case in_place = {
		.cadence = FB_STREAMING, .launch = "blocking", .redop = FB_SUM, .in_place = true};
	struct operation op = op_of(m, 0);
	struct span span = span_begin();
	struct fb_measurement out;
	bool loose;

	fb_measure(m, &program, &op, &isolated, &out);
	loose = m->world->oversubscribed || !span_undisturbed(&span, m->world->comm);
	if (m->world->rank == 0 && !loose)
		CHECK(out.flags & FB_FLAG_TIMER);
	op = op_of(m, 5e-6);
	fb_measure(m, &program, &op, &in_place, &out);
	CHECK(out.flags & FB_FLAG_SINGLE_CHECK);
	CHECK_INT(op.last_calls, 1);
	CHECK(out.calls > 1);
	/* Three samples in 0.3 s are too few. */
	settings->max_time_s = m->sampler.config.max_time_s = 0.3;
	op = op_of(m, 0.1);
	fb_measure(m, &program, &op, &isolated, &out);
	settings->max_time_s = m->sampler.config.max_time_s = no_limit_s;
	if (m->world->rank == 0) {
		CHECK_INT(out.status, FB_STATUS_FEW);
		CHECK_INT(out.stop, FB_STOP_TIME);
		CHECK(out.summary.n >= 2 && out.summary.n < 5);
		CHECK(out.flags & FB_FLAG_FEW);
		CHECK(out.reason[0]);
	}
}

/* One clock: the row's own, small beside 200 us; else what the self test found, and its flag. */
static void test_skew(struct fb_meter *m)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	const double skews[] = {5, 1e6}; /* 10% of 200 us lies between them */
	struct fb_measurement out;

	for (int i = 0; i < 2; i++) {
		struct operation op = op_of(m, 200e-6);

		m->skew_us = skews[i];
		fb_measure(m, &program, &op, &isolated, &out);
		if (m->world->rank == 0 && m->one_clock) {
			CHECK(out.skew_us >= 0);
			CHECK(m->world->nranks > 1 ? out.skew_us > 0 : out.skew_us == 0.0);
			CHECK(out.skew_us < 1e6);
			CHECK_INT(out.flags & FB_FLAG_SKEW ? 1 : 0,
				  out.skew_us > out.summary.median * 0.1 ? 1 : 0);
		} else if (m->world->rank == 0) {
			CHECK_NEAR(out.skew_us, skews[i], 0);
			CHECK_INT(out.flags & FB_FLAG_SKEW ? 1 : 0,
				  skews[i] > out.summary.median * 0.1 ? 1 : 0);
		}
	}
}

static void test_wrong(struct fb_meter *m)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	int last = m->world->nranks - 1;
	struct operation op = op_of(m, 10e-6);
	struct fb_measurement out;
	char reason[64];

	op.wrong_rank = last;
	op.wrong_from_prime = 1;
	fb_measure(m, &program, &op, &isolated, &out);
	CHECK_INT(out.status, FB_STATUS_WRONG); /* on all ranks */
	CHECK(!out.timed);
	CHECK_INT(op.calls, 1); /* never timed */
	CHECK_INT(out.errors, 3);
	snprintf(reason, sizeof(reason), "rank %d element 17 is 1, expected 2", last);
	CHECK(strstr(out.reason, reason) != NULL);
	op = op_of(m, 10e-6);
	op.wrong_rank = last;
	op.wrong_from_prime = 2;
	fb_measure(m, &program, &op, &isolated, &out);
	CHECK_INT(out.status, FB_STATUS_WRONG);
	CHECK(out.timed);
	CHECK(op.calls > 50);
	CHECK_INT(out.errors, 3);
}

/* verify=first does not look at the last repetition, verify=no not even at the first. */
static void test_verify(struct fb_meter *m, struct fb_settings *settings)
{
	const struct fb_case isolated = {.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1};
	struct operation op = op_of(m, 10e-6);
	struct fb_measurement out;

	settings->verify = FB_VERIFY_FIRST;
	op.wrong_rank = 0;
	op.wrong_from_prime = 2;
	fb_measure(m, &program, &op, &isolated, &out);
	CHECK_INT(out.status, FB_STATUS_OK);
	CHECK_INT(op.primes, 1);
	op.wrong_from_prime = 1;
	settings->verify = FB_VERIFY_NO;
	fb_measure(m, &program, &op, &isolated, &out);
	CHECK_INT(out.status, FB_STATUS_OK);
	/* verify=each looks at every repetition, on new data, and counts what all of them had. */
	settings->verify = FB_VERIFY_EACH;
	op = op_of(m, 10e-6);
	op.wrong_rank = 0;
	op.wrong_from_prime = 3;
	fb_measure(m, &program, &op, &isolated, &out);
	CHECK_INT(out.status, FB_STATUS_WRONG);
	CHECK(op.primes > 3);
	CHECK_INT(out.errors, 3 * (op.primes - 2));
	settings->verify = FB_VERIFY_YES;
}

static int clear(void *instance)
{
	struct operation *op = instance;

	CHECK_INT(op->clears, op->batches);
	op->clears++;
	return FB_OK;
}

static int ready(void *instance, int calls)
{
	struct operation *op = instance;

	CHECK_INT(calls, 1);
	CHECK_INT(op->readies++, op->batches);
	CHECK_INT(op->clears, op->clears ? op->readies : 0);
	return FB_OK;
}

/* Caches are cleared before each repetition of a cold case, the first and the last included. */
static void test_cold(struct fb_meter *m)
{
	struct fb_program clears = program;
	struct fb_case c = {
		.cadence = FB_ISOLATED, .launch = "blocking", .redop = -1, .cold = true};
	struct operation op = op_of(m, 10e-6);
	struct fb_measurement out;

	clears.clear = clear;
	clears.ready = ready;
	fb_measure(m, &clears, &op, &c, &out);
	CHECK(op.batches > 20);
	CHECK_INT(op.clears, op.batches);
	op = op_of(m, 10e-6);
	c.cold = false;
	fb_measure(m, &clears, &op, &c, &out);
	CHECK(op.batches > 20);
	CHECK_INT(op.clears, 0);
}

static void test_flag_names(void)
{
	char text[64];

	fb_measure_flags(FB_FLAG_TIMER | FB_FLAG_DRIFT, "", text, sizeof(text));
	CHECK_STR(text, "drift;timer");
	fb_measure_flags(FB_FLAG_SKEW | FB_FLAG_FEW, "alpha;hot;zeta", text, sizeof(text));
	CHECK_STR(text, "alpha;few;hot;skew;zeta");
	fb_measure_flags(0, "", text, sizeof(text));
	CHECK_STR(text, "");
	fb_measure_flags(0, "own", text, sizeof(text));
	CHECK_STR(text, "own");
	fb_measure_flags(FB_FLAG_CUT | FB_FLAG_FEW, "cut;few;zeta", text, sizeof(text));
	CHECK_STR(text, "cut;few;zeta");
	CHECK(fb_measure_over_tcp("shm+tcp", NULL));
	CHECK(fb_measure_over_tcp("library", "ring via P2P/IPC, NET/Socket/0"));
	CHECK(!fb_measure_over_tcp("library", "ring via NET/IB/mlx5_0:1/GDRDMA"));
	CHECK(!fb_measure_over_tcp("shm+rdma", NULL));
}

int main(int argc, char **argv)
{
	struct fb_settings settings = {.ci = 0.01,
				       .min_samples = 50,
				       .max_samples = 200,
				       .max_time_s = no_limit_s,
				       .timeout_s = check_seconds(30)};
	const struct fb_watchdog_config config = {.timeout_s = check_seconds(30)};
	struct fb_watchdog *watchdog = NULL;
	struct fb_barrier barrier = {0};
	struct fb_clock clock;
	struct fb_group world;
	struct fb_meter meter = {.world = &world,
				 .clock = &clock,
				 .barrier = &barrier,
				 .settings = &settings,
				 .timer_us = 0.04};
	int failed;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	CHECK_INT(fb_watchdog_open(&watchdog, &world, &config), FB_OK);
	CHECK_INT(fb_clock_open(&clock), FB_OK);
	CHECK_INT(fb_barrier_open(&barrier, &world, false), FB_OK);
	meter.watchdog = watchdog;
	CHECK_INT(fb_meter_open(&meter), FB_OK);
	test_times(&meter);
	test_cpu(&meter);
	test_flags(&meter, &settings);
	test_skew(&meter);
	test_wrong(&meter);
	test_verify(&meter, &settings);
	test_cold(&meter);
	test_flag_names();
	CHECK(meter.work_s > 0);
	fb_meter_close(&meter);
	/* Again with one clock for all, which the ranks of this test have. */
	fb_selftest_share_clock(&world, &clock);
	meter.one_clock = true;
	settings.raw_ranks = true;
	CHECK_INT(fb_meter_open(&meter), FB_OK);
	test_ranks(&meter);
	meter.one_clock = false;
	test_ranks(&meter);
	meter.one_clock = true;
	test_late(&meter);
	test_skew(&meter);
	fb_meter_close(&meter);
	fb_barrier_close(&barrier);
	failed = fb_group_agree(&world, check_failures ? -1 : 0);
	if (world.rank == 0 || check_failures)
		check_done("measure");
	fb_watchdog_step(watchdog, FB_PHASE_FINALIZE);
	fb_group_close(&world);
	fb_watchdog_close(watchdog);
	return failed ? 1 : 0;
}
