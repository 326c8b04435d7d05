/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processor time of calls: what this process, with all its threads and its children that have
 * ended, spends between two readings, user and system together.
 */
#ifndef FB_COMMON_MEASURE_CPU_TIME_H
#define FB_COMMON_MEASURE_CPU_TIME_H

struct fb_cpu_time {
	double reading_s; /* what the readings themselves add between begin and end */
	double begin_s;	  /* of the calls under way */
	double used_s;	  /* of all calls since the last clear, without the readings' share */
	double calls;
};

/* Finds what a reading costs. Local; some 50 us. */
void fb_cpu_time_open(struct fb_cpu_time *cpu);

/* Forgets the calls so far. */
void fb_cpu_time_clear(struct fb_cpu_time *cpu);

/*
 * Around `calls` calls. Each is a system call or two, so they belong outside of what is timed.
 * Threads that run on other processors are counted up to their last tick of the scheduler, some
 * ms, so single calls are known badly where there are such threads, and sums of many well.
 */
void fb_cpu_time_begin(struct fb_cpu_time *cpu);
void fb_cpu_time_end(struct fb_cpu_time *cpu, int calls);

#endif
