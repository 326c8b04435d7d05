/* SPDX-License-Identifier: BSD-3-Clause */
/* Moments of several hosts on one clock; see moments.h. */
#include "common/base/error.h"
#include "common/measure/moments.h"

#include <math.h>

/* If processors are busy with other work, all ping-pongs of a try may be slow. */
enum { TRIES = 3 };
static const double good_s = 50e-6;

/* The crystals of computers are off by less than this, in s per s. */
static const double most_drift = 100e-6;

int fb_moments_mark(const struct fb_group *world, const struct fb_time_source *source,
		    struct fb_moments *m)
{
	/* One point has no slope: two marks give a better one. */
	const struct fb_clocksync_config config = {.points = 1, .exchanges = 200};
	int k = m->marks > 0;

	if (fb_group_one_host(world))
		return FB_OK;
	for (int try = 0; try < TRIES && (!try || m->mark_error_s[k] > good_s); try++) {
		struct fb_clocksync sync;
		double began = source->now(source->arg), took, error_s;
		int err = fb_clocksync_run(world, source, &config, &sync);

		if (err)
			return err;
		took = source->now(source->arg) - began;
		MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, world->comm);
		error_s = sync.bound_us * 1e-6 + most_drift * took;
		if (try && error_s >= m->mark_error_s[k])
			continue;
		/* Rank 0's host learns nothing, so that it has no epoch. */
		m->at[k] = sync.line.epoch != 0 ? sync.line.epoch : began;
		m->offset[k] = sync.line.intercept;
		m->mark_error_s[k] = error_s;
	}
	m->marks = k + 1;
	/* The clocks of two hosts that are not rank 0's may be wrong in opposite directions. */
	m->error_s = fmax(m->mark_error_s[0], m->mark_error_s[k]) * (world->nnodes > 2 ? 2 : 1);
	return FB_OK;
}

double fb_moments_global(const struct fb_moments *m, double t)
{
	double span = m->at[1] - m->at[0], share = 0;

	if (m->marks == 0)
		return t;
	if (m->marks > 1 && span > 0)
		share = (t - m->at[0]) / span;
	return t - (m->offset[0] + share * (m->offset[m->marks - 1] - m->offset[0]));
}
