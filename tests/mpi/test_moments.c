/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2
 *
 * Moments on the clock of rank 0. On several hosts that share one clock in truth, as network name
 * spaces of one machine do, every host but that of rank 0 gets a clock that is set wrong and runs
 * wrong: what comes out has to be the true time, within the stated error.
 */
#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/measure/moments.h"
#include "tests/unit/check.h"

#include <math.h>

enum { MOMENTS = 200 };

struct false_clock {
	struct fb_clock clock;
	double epoch, offset_s, drift; /* drift: s per s */
};

static double true_now(const struct false_clock *c)
{
	return fb_clock_now(&c->clock) - c->epoch;
}

static double falsify(const struct false_clock *c, double t)
{
	return t + c->offset_s + c->drift * t;
}

static double false_now(void *arg)
{
	return falsify(arg, true_now(arg));
}

static void test_arithmetic(void)
{
	struct fb_moments m = {.marks = 0};

	CHECK_NEAR(fb_moments_global(&m, 5), 5, 0);
	m = (struct fb_moments){.marks = 1, .at = {100}, .offset = {3}};
	CHECK_NEAR(fb_moments_global(&m, 200), 197, 1e-12);
	m = (struct fb_moments){.marks = 2, .at = {100, 200}, .offset = {3, 4}};
	CHECK_NEAR(fb_moments_global(&m, 100), 97, 1e-12);
	CHECK_NEAR(fb_moments_global(&m, 150), 146.5, 1e-12);
	CHECK_NEAR(fb_moments_global(&m, 200), 196, 1e-12);
}

static void test_hosts(const struct fb_group *world, struct false_clock *c)
{
	const struct fb_time_source source = {false_now, c};
	const struct timespec pause = {.tv_nsec = 1000000};
	struct fb_moments m = {.marks = 0};
	double t[MOMENTS], worst = 0;
	bool one_host = fb_group_one_host(world);

	if (world->node > 0) {
		c->offset_s = world->node % 2 ? 1000 : -2000;
		c->drift = 50e-6 * world->node;
	}
	CHECK_INT(fb_moments_mark(world, &source, &m), FB_OK);
	for (int i = 0; i < MOMENTS; i++) {
		t[i] = true_now(c);
		nanosleep(&pause, NULL);
		/* Marks in between change nothing, and the last one counts. */
		if (i == MOMENTS / 2)
			CHECK_INT(fb_moments_mark(world, &source, &m), FB_OK);
	}
	CHECK_INT(fb_moments_mark(world, &source, &m), FB_OK);
	for (int i = 0; i < MOMENTS; i++)
		worst = fmax(worst, fabs(fb_moments_global(&m, falsify(c, t[i])) - t[i]));
	if (one_host) {
		CHECK_INT(m.marks, 0);
		CHECK_NEAR(m.error_s, 0, 0);
		CHECK_NEAR(worst, 0, 0);
		return;
	}
	CHECK_INT(m.marks, 2);
	CHECK(m.error_s > 0);
	CHECK(worst <= m.error_s);
	MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, world->comm);
	if (world->rank == 0)
		printf("moments: stated error %.1f us, true error %.1f us\n", m.error_s * 1e6,
		       worst * 1e6);
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
	test_arithmetic();
	test_hosts(&world, &c);
	failed = fb_group_agree(&world, check_failures ? -1 : 0);
	if (world.rank == 0 || check_failures)
		check_done("moments");
	fb_group_close(&world);
	return failed ? 1 : 0;
}
