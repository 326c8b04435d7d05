/* SPDX-License-Identifier: BSD-3-Clause */
/* What several schedules have; see schedule.h. */
#include "overlap/schedule/schedule.h"

void fb_dag_two_lanes(struct fb_dag *dag)
{
	fb_dag_lane(dag, "compute", false);
	fb_dag_lane(dag, "communicate", true);
}

void fb_dag_witness(struct fb_dag *dag, int task, int buffer, int number, struct fb_span span,
		    struct fb_content content)
{
	uint64_t count = span.count < FB_WITNESS ? span.count : FB_WITNESS;
	struct fb_span seen = {buffer, (uint64_t)number * FB_WITNESS, count};

	fb_dag_read(dag, task, span, &content);
	content.first += span.count - count;
	span.first += span.count - count;
	span.count = count;
	fb_dag_copy(dag, task, span, seen);
	fb_dag_output(dag, seen, content);
}
