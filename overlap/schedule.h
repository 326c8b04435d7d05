/* SPDX-License-Identifier: BSD-3-Clause */
/* What a step does and in which order. */
#ifndef FB_OVERLAP_SCHEDULE_H
#define FB_OVERLAP_SCHEDULE_H

#include <stdbool.h>

enum fb_schedule {
	FB_COMPUTE,     /* backward alone */
	FB_COMMUNICATE, /* the all_reduces alone, one behind the other */
	FB_SEQUENTIAL,  /* backward, then the all_reduces */
	FB_OVERLAP,     /* each all_reduce begins as soon as its bucket is full */
	FB_SCHEDULES,
};

/* "compute", "communicate", "sequential", "overlap", NULL. */
extern const char *const fb_schedules[];

static inline bool fb_schedule_computes(enum fb_schedule schedule)
{
	return schedule != FB_COMMUNICATE;
}

static inline bool fb_schedule_communicates(enum fb_schedule schedule)
{
	return schedule != FB_COMPUTE;
}

#endif
