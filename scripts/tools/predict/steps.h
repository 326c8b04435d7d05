/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of training on more ranks than were measured. */
#ifndef FB_SCRIPTS_TOOLS_PREDICT_STEPS_H
#define FB_SCRIPTS_TOOLS_PREDICT_STEPS_H

#include "scripts/tools/predict/predict.h"

/*
 * The step's time in us on a job, without stragglers: compute_us, and exposed_us times how much
 * longer a ring all_reduce of the row's bytes takes there by the model. NAN: the cell is no step,
 * or the model has no ring.
 */
double fb_step_us(struct fb_model *model, const struct fb_results *results,
		  const struct fb_cell *cell, struct fb_job job);

#endif
