/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The barrier in front of every timed repetition: the project's own, so that all engines and
 * MPI libraries start from the same one and its exit skew is known.
 *
 * Dissemination (Hensgen, Finkel and Manber, 1988): in round k rank r signals rank r + 2^k and
 * waits for rank r - 2^k, modulo the ranks; after ceil(log2 ranks) rounds everybody knows that
 * everybody has come. Where all ranks are on one host a signal is a store to a cache line that
 * only the receiver polls; else it is an empty MPI message on a private communicator.
 */
#ifndef FB_COMMON_MEASURE_BARRIER_H
#define FB_COMMON_MEASURE_BARRIER_H

#include "common/system/node_memory.h"
#include "common/system/group.h"

#include <stdint.h>

struct fb_barrier {
	struct fb_node_memory memory; /* flags[rank][round], or nothing where MPI is used */
	MPI_Comm comm;		      /* MPI_COMM_NULL where memory is used */
	int rank, nranks, rounds;
	uint64_t epoch; /* barriers entered so far; the value that flags must reach */
	bool yields;	/* more ranks than processors: give the processor away soon */
};

/*
 * Collective. `messages` forces MPI messages even on one host (for tests). Returns the same
 * value on all ranks; the world must outlive the barrier.
 */
int fb_barrier_open(struct fb_barrier *barrier, const struct fb_group *world, bool messages);

/*
 * Collective. Returns when every rank has called it. Writes before it on any rank are visible
 * after it on all. Never times out by itself: the watchdog ends a job that stays in here.
 */
void fb_barrier_wait(struct fb_barrier *barrier);

/* Collective. Safe on a zeroed structure. */
void fb_barrier_close(struct fb_barrier *barrier);

#endif
