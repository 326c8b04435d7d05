/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records when each rank began and ended each repetition of a row (--raw-ranks).
 *
 * A row's time is the time of its slowest rank. Only the times of single ranks show which rank that
 * was, and whether it began late or was slow. They are gathered after each block of repetitions,
 * outside of all timing.
 */
#ifndef FB_COMMON_MEASURE_RANK_TIMES_H
#define FB_COMMON_MEASURE_RANK_TIMES_H

#include "common/record/samples.h"
#include "common/system/group.h"

struct fb_rank_times {
	const struct fb_group *world; /* NULL: not asked for, and nothing is done */
	size_t block;		      /* most repetitions of one call */
	struct fb_rank_time *own;     /* [block] */
	struct fb_rank_time *all;     /* rank 0: [nranks][block] */
	struct fb_rank_time *time;    /* rank 0: [count][nranks], in order of repetition */
	size_t count, capacity;
	int err; /* rank 0: FB_ENOMEM once that happened; what follows is lost */
};

/*
 * For blocks of at most `block` repetitions. Local. Returns 0 or FB_ENOMEM (printed). Closing is
 * safe on a zeroed structure.
 */
int fb_rank_times_open(struct fb_rank_times *times, const struct fb_group *world, size_t block);
void fb_rank_times_close(struct fb_rank_times *times);

/* Forgets all repetitions: a new row begins. */
void fb_rank_times_begin(struct fb_rank_times *times);

/*
 * Collective. Adds own[0 .. n), this rank's next repetitions, n at most `block`. Does nothing
 * where not open.
 */
void fb_rank_times_add(struct fb_rank_times *times, const struct fb_rank_time *own, size_t n);

#endif
