/* SPDX-License-Identifier: BSD-3-Clause */
/* Times between ranks on several hosts; see clock.h. */
#include "kvtransfer/handoff/clock.h"

#include <math.h>

#include "common/base/error.h"
#include "kvtransfer/handoff/handoff.h"

void fb_handoff_find_ends(struct fb_handoff_instance *i, bool in, bool receives)
{
	const struct fb_group *w = i->state->machine.world;
	int node[2 * FB_HANDOFF_ENDS]; /* of each the highest, and the lowest, negated */

	for (int e = 0; e < FB_HANDOFF_ENDS; e++) {
		bool mine = in && (e == FB_ENDS_BOTH || receives == (e == FB_ENDS_RECEIVERS));

		node[2 * e] = mine ? w->node : -w->nnodes;
		node[2 * e + 1] = mine ? -w->node : -w->nnodes;
	}
	MPI_Allreduce(MPI_IN_PLACE, node, 2 * FB_HANDOFF_ENDS, MPI_INT, MPI_MAX, w->comm);
	for (int e = 0; e < FB_HANDOFF_ENDS; e++)
		i->clock.apart[e] = node[2 * e] != -node[2 * e + 1];
}

int fb_handoff_mark(struct fb_handoff_instance *i)
{
	const struct fb_kv_machine *m = &i->state->machine;
	struct fb_clock clock = *m->session->clock;
	const struct fb_time_source source = {fb_clocksync_now, &clock};

	/* No moments of two ranks are compared there. */
	if (i->plan.operation == FB_HANDOFF_HANDOVER)
		return FB_OK;
	return fb_moments_mark(m->world, &source, &i->clock.moments);
}

double fb_handoff_global(const struct fb_handoff_instance *i, double t)
{
	return fb_moments_global(&i->clock.moments, t);
}

double fb_handoff_error_us(const struct fb_handoff_instance *i, enum fb_handoff_ends ends)
{
	return i->clock.apart[ends] ? i->clock.moments.error_s * 1e6 : 0;
}

double fb_handoff_known(struct fb_handoff_instance *i, double us, enum fb_handoff_ends ends)
{
	double error_us = fb_handoff_error_us(i, ends);

	if (isnan(us) || error_us <= 0 || us > error_us)
		return us;
	if (us < -error_us)
		i->clock.wrong = true;
	else
		i->clock.unknown = true;
	return (double)NAN;
}
