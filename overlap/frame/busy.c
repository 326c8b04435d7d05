/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how busy the GPU's multiprocessors are, in steps of its own that are not timed. */
#include <math.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"

/* Steps compute: a smaller share says that the counters did not count. */
static const double least_share = 0.01;

/* fb_gpu_busy_run_fn */
static int run_steps(void *arg, int calls)
{
	struct fb_step_instance *i = arg;
	int err = FB_OK;

	for (int k = 0; k < calls && !err; k++) {
		err = fb_step_ready(i, FB_PART_ALL, 1);
		if (!err)
			err = fb_step_run_parts(i, FB_PART_ALL, 1);
	}
	return err;
}

/* Collective: steps one after the other for as long as the counters need. */
int fb_step_busy(struct fb_step_instance *i)
{
	const struct fb_session *session = i->state->session;
	double ignored_s;

	i->busy_known = true;
	i->busy = (struct fb_gpu_busy_shares){(double)NAN, (double)NAN};
	if (!i->device)
		return FB_OK;
	return fb_gpu_busy_measure(&i->state->collective->gpu, session->world, session->clock,
				   run_steps, i, least_share, &i->busy, &ignored_s);
}
