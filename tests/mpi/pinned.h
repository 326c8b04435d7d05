/* SPDX-License-Identifier: BSD-3-Clause */
/* What raw_socket.c and take_turns.c share: a clock, a processor of one's own, and giving up. */
#ifndef FB_TESTS_MPI_PINNED_H
#define FB_TESTS_MPI_PINNED_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The calling thread runs on the first, or the last, processor that it may use. */
static inline void pin(bool last)
{
	cpu_set_t all, one;
	size_t cpu = CPU_SETSIZE;

	if (sched_getaffinity(0, sizeof(all), &all))
		die("sched_getaffinity");
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && (last || cpu == CPU_SETSIZE))
			cpu = i;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity");
}

#endif
