/* SPDX-License-Identifier: BSD-3-Clause */
/* Processor time; see cpu_time.h. */
#include "common/measure/cpu_time.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>

enum { TRIALS = 64 };

static double now_s(void)
{
	struct rusage children;
	struct timespec own;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(own.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
	       (double)own.tv_nsec * 1e-9 +
	       (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1e-6;
}

void fb_cpu_time_open(struct fb_cpu_time *cpu)
{
	*cpu = (struct fb_cpu_time){.reading_s = HUGE_VAL};
	for (int i = 0; i < TRIALS; i++) {
		double before = now_s();

		cpu->reading_s = fmin(cpu->reading_s, now_s() - before);
	}
}

void fb_cpu_time_clear(struct fb_cpu_time *cpu)
{
	cpu->used_s = cpu->calls = 0;
}

void fb_cpu_time_begin(struct fb_cpu_time *cpu)
{
	cpu->begin_s = now_s();
}

void fb_cpu_time_end(struct fb_cpu_time *cpu, int calls)
{
	cpu->used_s += fmax(now_s() - cpu->begin_s - cpu->reading_s, 0);
	cpu->calls += calls;
}
