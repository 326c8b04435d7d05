/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that several schedules have; see schedule.h. */
#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

void fb_dag_two_lanes(struct fb_dag *dag, bool serial)
{
	dag->serial = serial;
	fb_dag_lane(dag, "compute", false);
	fb_dag_lane(dag, "communicate", true);
}

void fb_dag_background(struct fb_dag *dag, const struct fb_build *b, uint64_t bytes)
{
	uint64_t ranks = (uint64_t)b->nranks;
	uint64_t block = fb_ceil_div(bytes, b->element_bytes * ranks);
	bool sums = b->own->background_operation == FB_BACKGROUND_ALL_REDUCE;
	int lane, group, from, to, data;

	if (!bytes)
		return;
	lane = fb_dag_lane(dag, "background", false);
	group = fb_dag_axis(dag, "background", 1, b->nranks);
	from = fb_dag_buffer(dag, "background input", sums ? block * ranks : block);
	to = fb_dag_buffer(dag, "background results", block * ranks);
	data = fb_dag_data(dag, b->nranks);
	if (dag->err)
		return;
	dag->lanes[lane].background = true;
	dag->partitions[group].engine = b->own->background_engine;
	fb_dag_input(dag, fb_dag_whole(dag, from), (struct fb_content){data, b->rank, 0});
	fb_dag_collective(dag, lane, "background", 0, sums ? FB_ALL_REDUCE : FB_ALL_GATHER, group,
			  0, fb_dag_whole(dag, from), fb_dag_whole(dag, to));
	if (sums)
		fb_dag_output(dag, fb_dag_whole(dag, to),
			      (struct fb_content){data, FB_ALL_MEMBERS, 0});
	for (int r = 0; r < b->nranks && !sums; r++)
		fb_dag_output(dag, (struct fb_span){to, (uint64_t)r * block, block},
			      (struct fb_content){data, r, 0});
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

uint64_t fb_schedule_budget(const struct fb_schedule_program *program,
			    const struct fb_build *build, const struct fb_dag *dag)
{
	uint64_t most = program->most ? program->most(build) : 0;

	if (!most)
		return 0;
	for (int t = 0; t < dag->ntasks; t++)
		if (dag->lanes[dag->tasks[t].lane].background)
			most += dag->tasks[t].in.count + dag->tasks[t].out.count;
	return most + (uint64_t)dag->nbuffers * (FB_DAG_GAP + FB_DAG_ALIGN);
}
