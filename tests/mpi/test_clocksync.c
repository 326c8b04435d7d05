/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 3 4
 *
 * Clock synchronisation with clocks that are known: the fit gets lines back out of points, and
 * ranks whose clocks were set wrong and run wrong are brought together again.
 */
#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/measure/clocksync.h"
#include "tests/mpi/span.h"
#include "tests/unit/check.h"

struct false_clock {
	struct fb_clock clock;
	double epoch, offset_s, drift; /* drift: s per s */
};

static double false_now(void *arg)
{
	const struct false_clock *c = arg;
	double t = fb_clock_now(&c->clock) - c->epoch;

	return t + c->offset_s + c->drift * t;
}

static void test_fit(void)
{
	struct fb_clock_offset point[100];
	struct fb_clock_line line;

	/* Own clock - reference = 3 ms + 20e-6 * (t - 1000); bounds of +- 2 us, noise of 1 us. */
	for (int i = 0; i < 100; i++) {
		double t = 1000 + 0.01 * i;
		double noise = ((i * 37) % 100 - 49.5) / 50 * 1e-6;
		double reference_minus_own = -(3e-3 + 20e-6 * (t - 1000)) + noise;

		point[i] = (struct fb_clock_offset){t, reference_minus_own - 2e-6,
						    reference_minus_own + 2e-6};
	}
	line = fb_clocksync_fit(point, 100);
	CHECK_NEAR(line.slope, 20e-6, 1e-6);
	CHECK_NEAR(fb_clocksync_to_global(&line, 1000), 1000 - 3e-3, 0.5e-6);
	CHECK_NEAR(fb_clocksync_to_global(&line, 1001), 1001 - 3e-3 - 20e-6, 0.5e-6);
	/* Points that were disturbed, and say so by their width, do no harm. */
	for (int i = 0; i < 100; i += 3)
		point[i].high += 5e-3;
	line = fb_clocksync_fit(point, 100);
	CHECK_NEAR(line.slope, 20e-6, 1e-6);
	CHECK_NEAR(fb_clocksync_to_global(&line, 1000), 1000 - 3e-3, 0.5e-6);
	line = fb_clocksync_fit(point, 1);
	CHECK_NEAR(line.slope, 0, 0);
	point[1] = point[0];
	line = fb_clocksync_fit(point, 2); /* two points at the same time: no slope */
	CHECK_NEAR(line.slope, 0, 0);
	line = fb_clocksync_fit(point, 0);
	CHECK_NEAR(fb_clocksync_to_global(&line, 5), 5, 0);
}

/* All ranks read their corrected clocks at nearly the same time: right after a barrier. */
static double spread_us(const struct fb_group *world, const struct fb_time_source *source,
			const struct fb_clocksync *sync)
{
	double best = HUGE_VAL;

	for (int i = 0; i < 50; i++) {
		double t[2];

		MPI_Barrier(world->comm);
		t[0] = fb_clocksync_to_global(&sync->line, source->now(source->arg));
		t[1] = -t[0];
		MPI_Allreduce(MPI_IN_PLACE, t, 2, MPI_DOUBLE, MPI_MAX, world->comm);
		best = fmin(best, (t[0] + t[1]) * 1e6);
	}
	return best;
}

static void test_one_host(const struct fb_group *world, struct false_clock *c)
{
	const struct fb_time_source source = {false_now, c};
	const struct fb_clocksync_config config = {.points = 2, .exchanges = 1, .keep_zero = true};
	struct fb_clocksync sync;
	struct span span;

	c->offset_s = 0;
	c->drift = 0;
	CHECK_INT(fb_clocksync_run(world, &source, &config, &sync), FB_OK);
	CHECK(sync.agrees);
	CHECK(sync.bound_us >= 0);
	CHECK_NEAR(sync.line.intercept, 0, 0);
	/* A clock that is one second off is found out. */
	c->offset_s = world->rank == world->nranks - 1 ? 1 : 0;
	span = span_begin();
	CHECK_INT(fb_clocksync_run(world, &source, &config, &sync), FB_OK);
	CHECK(sync.agrees == (world->nranks == 1));
	if (world->nranks > 1)
		CHECK(sync.bound_us > 0.9e6);
	if (world->nranks > 1 && span_undisturbed(&span, world->comm))
		CHECK(sync.bound_us < 1.1e6);
}

static void test_tree(const struct fb_group *world, struct false_clock *c)
{
	const struct fb_time_source source = {false_now, c};
	const struct fb_clocksync_config config = {
		.points = 40, .exchanges = 10, .span_s = 0.2, .each_rank = true};
	const struct fb_clocksync none = {.line = {0, 0, 0}};
	struct fb_clocksync sync;
	double before, after;
	struct span span;
	bool undisturbed;

	c->offset_s = 0.5 * world->rank;
	c->drift = 100e-6 * world->rank;
	span = span_begin();
	before = spread_us(world, &source, &none);
	CHECK_INT(fb_clocksync_run(world, &source, &config, &sync), FB_OK);
	after = spread_us(world, &source, &sync);
	CHECK(sync.residual_us <= sync.bound_us);
	if (world->nranks > 1)
		CHECK(before > 0.4e6 * (world->nranks - 1));
	/* Ranks without a processor of their own answer when they are scheduled: no line at all. */
	undisturbed = span_undisturbed(&span, world->comm);
	if (world->oversubscribed || !undisturbed)
		return;
	CHECK(after < 20000); /* as closely as a barrier can tell */
	CHECK(sync.residual_us < 200);
	/* Own clock = (1 + drift) * reference, so that offset = drift / (1 + drift) * own. */
	CHECK_NEAR(sync.line.slope, c->drift / (1 + c->drift), 50e-6);
}

int main(int argc, char **argv)
{
	struct false_clock c = {.drift = 0};
	struct fb_group world;
	int failed;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	CHECK_INT(fb_clock_open(&c.clock), FB_OK);
	MPI_Bcast(&c.clock, sizeof(c.clock), MPI_BYTE, 0, world.comm);
	c.epoch = fb_clock_now(&c.clock);
	MPI_Bcast(&c.epoch, 1, MPI_DOUBLE, 0, world.comm);
	test_fit();
	if (fb_group_one_host(&world)) {
		test_one_host(&world, &c);
		test_tree(&world, &c);
	}
	failed = fb_group_agree(&world, check_failures ? -1 : 0);
	if (world.rank == 0 || check_failures)
		check_done("clocksync");
	fb_group_close(&world);
	return failed ? 1 : 0;
}
