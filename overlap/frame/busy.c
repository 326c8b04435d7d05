/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy the GPU's multiprocessors are while steps run, which no timed step pays for. */
#include <math.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"

/* Collective: steps one after the other for as long as the counters need. */
int fb_step_busy(struct fb_step_instance *i, double step_us)
{
	const struct fb_group *world = i->state->session->world;
	double most = 1e6 * FB_GPU_BUSY_LEAST_S / fmax(step_us, 10);
	struct fb_gpu_busy *busy;
	int known, calls, err = FB_OK;

	i->busy_known = true;
	i->busy = (struct fb_gpu_busy_shares){(double)NAN, (double)NAN};
	if (!i->device)
		return FB_OK;
	busy = fb_gpu_busy_begin(&i->state->collective->gpu);
	known = busy != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MAX, world->comm);
	/* Equal on all ranks, as step_us is. */
	calls = known ? (int)ceil(most) : 0;
	for (int k = 0; k < calls && !err; k++) {
		err = fb_step_ready(i, FB_PART_ALL, 1);
		if (!err)
			err = fb_step_run_parts(i, FB_PART_ALL, 1);
	}
	fb_gpu_busy_end(busy, &i->busy);
	return err;
}
