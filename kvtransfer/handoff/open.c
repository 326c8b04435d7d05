/* SPDX-License-Identifier: BSD-3-Clause */
/* What handoff and stream open once; see handoff.h. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/memory/memory.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */
#include "kvtransfer/handoff/handoff.h"

void fb_handoff_close(void *arg)
{
	struct fb_handoff_state *state = arg;

	for (int i = 0; i < state->engines; i++) {
		struct fb_handoff_engine *e = &state->engine[i];

		if (e->region)
			e->ops->remove(e->region);
		if (e->mover)
			e->ops->close(e->mover);
		fb_segment_close(&e->memory);
	}
	fb_gpu_view_close(&state->gpu);
	free(state);
}

static int open_engines(struct fb_handoff_state *state)
{
	unsigned either = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET;
	int err = FB_OK;

	for (int i = 0; fb_movers[i] && state->engines < FB_HANDOFF_ENGINES && !err; i++) {
		struct fb_handoff_engine *e = &state->engine[state->engines];

		if (!(fb_movers[i]->verbs & either))
			continue;
		e->ops = fb_movers[i];
		state->engines++;
		if (!fb_option_names(state->settings->engine, e->ops->name))
			continue;
		if (e->ops->device && !state->has_gpu && !*state->no_gpu) {
			err = fb_gpu_view_open(&state->gpu, state->session, state->world,
					       state->no_gpu);
			state->has_gpu = !err;
			err = err == FB_EUNSUPPORTED ? FB_OK : err;
		}
		snprintf(e->why, sizeof(e->why), "%s", e->ops->device ? state->no_gpu : "");
		if (err || *e->why)
			continue;
		err = fb_mover_open(&e->mover, e->ops, state->session, state->world, e->why);
		if (err)
			e->mover = NULL;
		err = err == FB_EUNSUPPORTED ? FB_OK : err;
	}
	return err;
}

int fb_handoff_open(struct fb_run *run, void **result)
{
	struct fb_handoff_state *state = calloc(1, sizeof(*state));
	int err = fb_group_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM);
	bool ignored;

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->session = fb_run_session(run);
	state->world = fb_run_world(run);
	state->settings = fb_run_settings(run);
	state->own = run->program->option_values;
	fb_memory_survey(state->world, &state->memory_limit, &ignored);
	err = open_engines(state);
	if (err) {
		fb_handoff_close(state);
		return err;
	}
	*result = state;
	return FB_OK;
}
