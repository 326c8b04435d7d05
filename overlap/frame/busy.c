/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy the GPU's multiprocessors are while steps run, which no timed step pays for. */
#include <math.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"

/*
 * GPM's counters are read now and then, so that the least time may be one in which the former steps
 * were counted. That no multiprocessor was busy while kernels ran is no answer either.
 */
static const double longer = 3, least_share = 0.01;

static int run_steps(struct fb_step_instance *i, int calls, double *took_s)
{
	const struct fb_clock *clock = i->state->session->clock;
	int err = FB_OK;

	*took_s = -fb_clock_now(clock);
	for (int k = 0; k < calls && !err; k++) {
		err = fb_step_ready(i, FB_PART_ALL, 1);
		if (!err)
			err = fb_step_run_parts(i, FB_PART_ALL, 1);
	}
	*took_s += fb_clock_now(clock);
	return err;
}

/* Collective: steps one after the other for as long as the counters need. */
int fb_step_busy(struct fb_step_instance *i)
{
	const struct fb_group *world = i->state->session->world;
	const double wanted_s = longer * FB_GPU_BUSY_LEAST_S;
	struct fb_gpu_busy_shares unknown = {(double)NAN, (double)NAN};
	struct fb_gpu_busy *busy;
	double took_s, spent_s = 0;
	int known, err = FB_OK;

	i->busy_known = true;
	i->busy = unknown;
	if (!i->device)
		return FB_OK;
	busy = fb_gpu_busy_begin(&i->state->collective->gpu);
	known = busy != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MAX, world->comm);
	/* The first one may be slower than the others. All ranks know the same of them. */
	for (int calls = 1; known && !err && spent_s < wanted_s;) {
		err = run_steps(i, calls, &took_s);
		MPI_Allreduce(MPI_IN_PLACE, &took_s, 1, MPI_DOUBLE, MPI_MAX, world->comm);
		spent_s += took_s;
		calls = (int)ceil((wanted_s - spent_s) * calls / fmax(took_s, 1e-6));
	}
	fb_gpu_busy_end(busy, &i->busy);
	if (i->busy.sms < least_share)
		i->busy = unknown;
	return err;
}
