/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether ranks had a processor all the time, so that times of theirs can be held to bounds. Ranks
 * that wait spin, so on a machine that does nothing else a rank's seconds of processor are its
 * seconds.
 */
#ifndef FB_TESTS_MPI_SPAN_H
#define FB_TESTS_MPI_SPAN_H

#include <mpi.h>
#include <stdbool.h>
#include <time.h>

struct span {
	double wall, cpu; /* seconds */
};

static inline double span_seconds(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline struct span span_begin(void)
{
	return (struct span){span_seconds(CLOCK_MONOTONIC), span_seconds(CLOCK_THREAD_CPUTIME_ID)};
}

/* Whether since then every rank had its processor for 98% of the time. Called by all. */
static inline bool span_undisturbed(const struct span *begin, MPI_Comm comm)
{
	struct span now = span_begin();
	double share = (now.cpu - begin->cpu) / (now.wall - begin->wall);

	MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_MIN, comm);
	return share >= 0.98;
}

#endif
