/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a plan, and the parts of its blocks. */
#include "common/plan/plan.h"

#include <stdlib.h>

void fb_plan_free(struct fb_plan *plan)
{
	if (!plan)
		return;
	for (int l = 0; l < FB_MAX_LANES; l++)
		free(plan->lanes[l].steps);
	free(plan->ends);
	free(plan->deps);
	free(plan->in_links);
	free(plan->out_links);
	free(plan);
}

