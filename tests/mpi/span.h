/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds whether ranks had a processor whenever they wanted one, so that their times can be held to
 * bounds: the kernel counts how long a thread that could run had to wait for its turn.
 */
#ifndef FB_TESTS_MPI_SPAN_H
#define FB_TESTS_MPI_SPAN_H

#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

struct span {
	double now_s, waited_s;
};

/* Where the kernel does not count, no wait is seen. */
static inline struct span span_begin(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	struct timespec t;
	struct span s = {0};
	uint64_t ran, waited;

	clock_gettime(CLOCK_MONOTONIC, &t);
	s.now_s = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
	if (f && fscanf(f, "%" SCNu64 "%" SCNu64, &ran, &waited) == 2)
		s.waited_s = (double)waited * 1e-9;
	if (f)
		fclose(f);
	return s;
}

/* Whether since then every rank waited for less than 2% of the time. Called by all ranks. */
static inline bool span_undisturbed(const struct span *begin, MPI_Comm comm)
{
	struct span now = span_begin();
	double share = (now.waited_s - begin->waited_s) / (now.now_s - begin->now_s);

	MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_MAX, comm);
	return share < 0.02;
}

#endif
