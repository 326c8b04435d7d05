/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps on more ranks than were measured: computing stays, exposed communication grows as the
 * model's ring all_reduce of the same bytes does, and the slowest rank sets the pace.
 */
#include "scripts/tools/predict/steps.h"

#include <math.h>
#include <string.h>

/* The series by which exposed communication grows: of the cell's engine, if there is one. */
static const struct fb_model_series *ring_of(const struct fb_model *model,
					     const struct fb_cell *cell)
{
	const struct fb_model_series *found = NULL;

	for (size_t i = 0; i < model->count; i++) {
		const struct fb_model_series *s = &model->series[i];

		if (s->algorithm->collective != FB_ALL_REDUCE || strcmp(s->algorithm->name, "ring"))
			continue;
		if (!found || !strcmp(fb_cell_text(s->cell, "engine"),
				      fb_cell_text(cell, "engine")))
			found = s;
	}
	return found;
}

double fb_step_us(struct fb_model *model, const struct fb_results *results,
		  const struct fb_cell *cell, struct fb_job job)
{
	int compute = fb_results_column(results, "compute_us");
	int exposed = fb_results_column(results, "exposed_us");
	struct fb_job from = fb_job_of(cell);
	const struct fb_model_series *ring = ring_of(model, cell);
	double growth, rest;

	if (compute < 0 || exposed < 0 || !ring || from.ranks < 2)
		return (double)NAN;
	growth = fb_model_us(model, ring, cell->bytes, job) /
		 fb_model_us(model, ring, cell->bytes, from);
	rest = fmax(0, fb_cell_number(cell, (size_t)exposed));
	return fb_cell_number(cell, (size_t)compute) + rest * growth;
}
