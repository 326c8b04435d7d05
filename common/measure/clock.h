/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of all timing: the processor's own counter where the kernel trusts it, else
 * CLOCK_MONOTONIC_RAW.
 *
 * The counter costs half of a clock_gettime(), which matters next to operations of 500 ns, and
 * both have the same zero on all processors of a host. RAW rather than MONOTONIC because NTP
 * slews the latter, which would bend the line that clocksync.h fits.
 */
#ifndef FB_COMMON_MEASURE_CLOCK_H
#define FB_COMMON_MEASURE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct fb_clock {
	bool counter;		 /* ticks come from the processor, not from the kernel */
	double seconds_per_tick; /* 1e-9 where ticks are the kernel's nanoseconds */
	const char *name;	 /* "tsc", "cntvct", "monotonic_raw" */
};

/*
 * Local. Chooses the source and, for the x86 counter, calibrates it for about 20 ms (to some
 * millionths). Ranks of one host then take one calibration (selftest.h). Returns 0 or FB_ESYS
 * (printed).
 */
int fb_clock_open(struct fb_clock *clock);

/*
 * The time in ticks from an arbitrary zero, not before earlier instructions are done. Later ones
 * may start some nanoseconds early, which is less than a fence against it would cost. Takes 10
 * to 25 ns.
 */
static inline uint64_t fb_clock_ticks(const struct fb_clock *clock)
{
	struct timespec now;

	if (clock->counter) {
#if defined(__x86_64__)
		uint64_t ticks;

		_mm_lfence();
		ticks = __rdtsc();
		__asm__ volatile("" : : : "memory");
		return ticks;
#elif defined(__aarch64__)
		uint64_t ticks;

		__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
		return ticks;
#endif
	}
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Ticks as seconds. For differences convert the difference, which loses no digits. */
static inline double fb_clock_seconds(const struct fb_clock *clock, uint64_t ticks)
{
	return (double)ticks * clock->seconds_per_tick;
}

/* Seconds from an arbitrary zero; to within a nanosecond for hosts up less than 100 days. */
static inline double fb_clock_now(const struct fb_clock *clock)
{
	return fb_clock_seconds(clock, fb_clock_ticks(clock));
}

/* Seconds of CLOCK_MONOTONIC, which all processes of a host share; for what is not timed. */
static inline double fb_monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/*
 * What reading the clock twice costs, in ns: median (of batches) and 99th percentile of `pairs`
 * pairs; and the clock's step, of which differences between readings on one processor are
 * multiples. It may be far more than a tick: the x86 counters of one vendor count billions a
 * second, but move in steps of 10 ns, each processor's at its own moment.
 */
struct fb_clock_cost {
	double median_ns, p99_ns, step_ns;
};

/* Local. Measures the cost over `pairs` (1 to 100,000) pairs; zeroes where memory is out. */
struct fb_clock_cost fb_clock_measure(const struct fb_clock *clock, unsigned pairs);

#endif
