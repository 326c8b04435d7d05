/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock against the kernel's: rate, order, and the step that its differences share, also while
 * the thread is moved between processors; for the processor's counter where there is one and for
 * CLOCK_MONOTONIC_RAW.
 */
#include "common/base/error.h"
#include "common/measure/clock.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static void test_clock(const struct fb_clock *clock)
{
	const struct fb_clock kernel = {.seconds_per_tick = 1e-9, .name = "monotonic_raw"};
	struct fb_clock_cost cost = fb_clock_measure(clock, 100000),
			     few = fb_clock_measure(clock, 1);
	uint64_t start, inner, outer, last = fb_clock_ticks(clock);
	double steps, took;
	int odd = 0;

	printf("%s: read twice %.1f ns, p99 %.1f ns, step %.3f ns\n", clock->name, cost.median_ns,
	       cost.p99_ns, cost.step_ns);
	CHECK(cost.median_ns > 0 && cost.median_ns < 10000);
	CHECK(cost.median_ns < 2 * cost.p99_ns); /* preemptions do not get in */
	CHECK(few.median_ns >= 0 && few.p99_ns >= 0);
	CHECK(cost.step_ns > 0 && cost.step_ns <= 1000);
	for (int i = 0; i < 100000; i++) {
		uint64_t now = fb_clock_ticks(clock);

		CHECK(now >= last);
		steps = fb_clock_seconds(clock, now - last) * 1e9 / cost.step_ns;
		odd += fabs(steps - round(steps)) > 0.01;
		last = now;
	}
	CHECK(odd <= 100); /* moves between processors, whose counters differ in phase */
	/* Readings of the kernel's clock enclose those of the other, whatever comes between. */
	outer = fb_clock_ticks(&kernel);
	start = fb_clock_ticks(clock);
	inner = fb_clock_ticks(&kernel);
	while (fb_clock_ticks(&kernel) - inner < 50000000)
		;
	inner = fb_clock_ticks(&kernel) - inner;
	took = fb_clock_seconds(clock, fb_clock_ticks(clock) - start);
	outer = fb_clock_ticks(&kernel) - outer;
	CHECK(took > (double)inner * 0.99e-9);
	CHECK(took < (double)outer * 1.01e-9);
}

struct mover {
	pid_t thread; /* the one moved */
	atomic_bool stop;
	int failures;
};

/* Moves a thread to and fro between the processors that it may use, every half millisecond. */
static void *move(void *arg)
{
	const struct timespec pause = {.tv_nsec = 500000};
	struct mover *mover = arg;
	cpu_set_t allowed, one;

	CPU_ZERO(&allowed);
	mover->failures = -sched_getaffinity(mover->thread, sizeof(allowed), &allowed);
	for (int cpu = 0; !mover->failures && !atomic_load(&mover->stop);
	     cpu = (cpu + 1) % CPU_SETSIZE) {
		if (!CPU_ISSET((size_t)cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET((size_t)cpu, &one);
		mover->failures -= sched_setaffinity(mover->thread, sizeof(one), &one);
		nanosleep(&pause, NULL);
	}
	mover->failures -= sched_setaffinity(mover->thread, sizeof(allowed), &allowed);
	return NULL;
}

/* Differences over a move between processors leave the step as it is. */
static void test_moved(const struct fb_clock *clock)
{
	struct mover mover = {.thread = gettid()};
	double step = fb_clock_measure(clock, 100000).step_ns;
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, move, &mover), 0);
	for (int i = 0; i < 5; i++)
		/* A counter may make nearly all its steps by two ticks: found as one or two. */
		CHECK(fb_clock_measure(clock, 100000).step_ns > step / 4);
	atomic_store(&mover.stop, true);
	pthread_join(thread, NULL);
	CHECK_INT(mover.failures, 0);
}

int main(void)
{
	const struct fb_clock kernel = {.seconds_per_tick = 1e-9, .name = "monotonic_raw"};
	struct fb_clock clock;

	CHECK_INT(fb_clock_open(&clock), FB_OK);
	test_clock(&clock);
	test_clock(&kernel);
	test_moved(&clock);
	return check_done("clock");
}
