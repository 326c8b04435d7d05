/* SPDX-License-Identifier: BSD-3-Clause */
/* See gpu_time.h. */
#include "collectives/engine/nccl/gpu_time.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/library/nccl/watch.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int fb_nccl_gpu_time(const struct fb_group *group, struct fb_gpu_stream *stream, double *us)
{
	enum { CALLS = 9, FIRST = 2 }; /* the first ones connect NCCL's profiler */
	double each[CALLS] = {0}, median, ends[2]; /* the longest, and the shortest below 0 */
	int err = FB_OK, told = 0;

	for (int i = 0; i < FIRST + CALLS && !err; i++) {
		struct fb_nccl_seen seen;

		MPI_Barrier(group->comm);
		fb_nccl_watch_begin(true);
		err = fb_gpu_stream_start(stream);
		if (!err)
			err = fb_gpu_stream_wait(stream);
		fb_nccl_watch_end(&seen);
		err = fb_group_agree(group, err);
		if (i >= FIRST && !isnan(seen.gpu_us))
			each[told++] = seen.gpu_us;
	}
	qsort(each, (size_t)told, sizeof(each[0]), compare);
	median = told == CALLS ? each[CALLS / 2] : -1;
	ends[0] = median;
	ends[1] = -median;
	MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, group->comm);
	/* A rank of which nothing was told may be the one where it is longest. */
	*us = -ends[1] < 0 ? (double)NAN : ends[0];
	return err;
}
