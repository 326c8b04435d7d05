/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy multiprocessors are while something runs again and again; see gpu_busy.h. */
#include "common/cuda/gpu_busy.h"

#include <math.h>

#include "common/base/error.h"

/*
 * GPM's counters are updated at intervals, so that a shorter time could count earlier calls instead
 * of these.
 */
static const double longer = 3;

int fb_gpu_busy_measure(const struct fb_gpu *gpu, const struct fb_group *world,
			const struct fb_clock *clock, fb_gpu_busy_run_fn run, void *arg,
			double least_share, struct fb_gpu_busy_shares *shares, double *call_s)
{
	const double wanted_s = longer * FB_GPU_BUSY_LEAST_S;
	const struct fb_gpu_busy_shares unknown = {(double)NAN, (double)NAN};
	struct fb_gpu_busy *busy = fb_gpu_busy_begin(gpu);
	int known = busy != NULL, done = 0, err = FB_OK;
	double spent_s = 0;

	*shares = unknown;
	MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, world->comm);
	/* The first call may be slower than the others. All ranks compute the same numbers. */
	for (int calls = 1; known && !err && spent_s < wanted_s;) {
		double took_s = -fb_clock_now(clock);

		err = fb_group_agree(world, run(arg, calls));
		took_s += fb_clock_now(clock);
		MPI_Allreduce(MPI_IN_PLACE, &took_s, 1, MPI_DOUBLE, MPI_MAX, world->comm);
		spent_s += took_s;
		done += calls;
		calls = (int)ceil((wanted_s - spent_s) * calls / fmax(took_s, 1e-6));
	}
	*call_s = spent_s / done;
	fb_gpu_busy_end(busy, shares);
	if (!known || shares->sms < least_share)
		*shares = unknown;
	return err;
}
