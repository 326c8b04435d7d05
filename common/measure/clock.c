/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice, calibration and cost of the clock; see clock.h. */
#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/measure/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)

/* Whether a word stands alone in the text. */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = strstr(text, word); p; p = strstr(p + 1, word)) {
		bool starts = p == text || p[-1] == ' ' || p[-1] == '\t' || p[-1] == ':';
		char after = p[length];

		if (starts && (after == ' ' || after == '\n' || after == '\0'))
			return true;
	}
	return false;
}

/*
 * The counter ticks at a constant rate in all sleep states (processor flags), and the kernel,
 * which also watches it for agreement between sockets, uses it itself.
 */
static bool trusted(void)
{
	char source[64] = "", *line = NULL;
	size_t size = 0;
	bool flags = false;
	FILE *file = fopen("/proc/cpuinfo", "re");

	if (!file)
		return false;
	while (getline(&line, &size, file) > 0) {
		if (strncmp(line, "flags", 5))
			continue;
		flags = has_word(line, "constant_tsc") && has_word(line, "nonstop_tsc");
		break;
	}
	free(line);
	fclose(file);
	file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	if (!file)
		return false;
	if (!fgets(source, sizeof(source), file))
		source[0] = '\0';
	fclose(file);
	return flags && !strcmp(source, "tsc\n");
}

/*
 * One moment on both clocks: the counter is read between two readings of the kernel's clock,
 * and the closest of some tries is taken, so that a preemption between them does no harm.
 */
static void read_both(const struct fb_clock *counter, const struct fb_clock *kernel, double *ticks,
		      double *ns)
{
	uint64_t closest = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t before = fb_clock_ticks(kernel);
		uint64_t now = fb_clock_ticks(counter);
		uint64_t after = fb_clock_ticks(kernel);

		if (after - before >= closest)
			continue;
		closest = after - before;
		*ticks = (double)now;
		*ns = (double)before + (double)closest / 2;
	}
}

static bool open_counter(struct fb_clock *clock, const struct fb_clock *kernel)
{
	const struct fb_clock counter = {.counter = true, .name = "tsc"};
	const struct timespec pause = {.tv_nsec = 20000000};
	double ticks[2] = {0, 0}, ns[2] = {0, 0};

	if (!trusted())
		return false;
	read_both(&counter, kernel, &ticks[0], &ns[0]);
	nanosleep(&pause, NULL);
	read_both(&counter, kernel, &ticks[1], &ns[1]);
	if (!(ticks[1] > ticks[0]) || !(ns[1] > ns[0]))
		return false;
	*clock = counter;
	clock->seconds_per_tick = (ns[1] - ns[0]) * 1e-9 / (ticks[1] - ticks[0]);
	return true;
}

#elif defined(__aarch64__)

/* The generic timer is the same on all processors by architecture and knows its frequency. */
static bool open_counter(struct fb_clock *clock, const struct fb_clock *kernel)
{
	uint64_t hertz;

	(void)kernel;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
	/* At 25 MHz and below a tick is as long as a reading of the kernel's clock. */
	if (hertz < 100000000)
		return false;
	*clock = (struct fb_clock){
		.counter = true, .seconds_per_tick = 1.0 / (double)hertz, .name = "cntvct"};
	return true;
}

#else

static bool open_counter(struct fb_clock *clock, const struct fb_clock *kernel)
{
	(void)clock;
	(void)kernel;
	return false;
}

#endif

int fb_clock_open(struct fb_clock *clock)
{
	const struct fb_clock kernel = {.seconds_per_tick = 1e-9, .name = "monotonic_raw"};
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
		return fb_error(FB_ESYS, "clock_gettime(CLOCK_MONOTONIC_RAW): %s", strerror(errno));
	if (!open_counter(clock, &kernel))
		*clock = kernel;
	return FB_OK;
}

enum { BATCHES = 100 };

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * The divisor that the sorted differences share, without those that hardly ever occur: processors
 * may count in the same steps at different phases, so the difference over a move from one to
 * another is no multiple of them. Where no difference is frequent, all count.
 */
static uint64_t shared_step(const uint64_t *sorted, unsigned count)
{
	uint64_t frequent = 0, all = 0;

	for (unsigned i = 0, same; i < count; i += same) {
		for (same = 1; i + same < count && sorted[i + same] == sorted[i];)
			same++;
		all = common_divisor(sorted[i], all);
		if ((uint64_t)same * 1000 >= count)
			frequent = common_divisor(sorted[i], frequent);
	}
	return frequent ? frequent : all;
}

struct fb_clock_cost fb_clock_measure(const struct fb_clock *clock, unsigned pairs)
{
	struct fb_clock_cost cost = {0, 0, 0};
	uint64_t *sample = calloc(pairs, sizeof(*sample));
	double share[BATCHES], scratch[2 * BATCHES];
	size_t batches = 0;

	if (!sample)
		return cost;
	/*
	 * A pair's own difference is the cost of one reading only, and coarse where the clock
	 * moves in long steps; so batches of pairs give the cost and the differences the tail.
	 * The median of batches, because on a busy machine some hold a preemption.
	 */
	for (unsigned b = 0; b < BATCHES; b++) {
		unsigned from = (unsigned)((uint64_t)pairs * b / BATCHES);
		unsigned to = (unsigned)((uint64_t)pairs * (b + 1) / BATCHES);
		uint64_t begin = fb_clock_ticks(clock);

		for (unsigned i = from; i < to; i++) {
			uint64_t start = fb_clock_ticks(clock);

			sample[i] = fb_clock_ticks(clock) - start;
		}
		begin = fb_clock_ticks(clock) - begin;
		if (to > from)
			share[batches++] = fb_clock_seconds(clock, begin) / (to - from);
	}
	qsort(sample, pairs, sizeof(*sample), compare);
	cost.median_ns = 1e9 * fb_median(share, batches, scratch);
	cost.p99_ns = 2e9 * fb_clock_seconds(clock, sample[(uint64_t)pairs * 99 / 100]);
	cost.step_ns = 1e9 * fb_clock_seconds(clock, shared_step(sample, pairs));
	free(sample);
	return cost;
}
