/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the graphs of a case's step; see frame.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"
#include "overlap/step/check.h"

struct fb_build fb_step_build_of(const struct fb_step_state *s, const struct fb_case *c,
				 const struct fb_step_pass *pass, uint64_t tokens)
{
	struct fb_build b = {
		.own = s->own, .nn = s->own->model ? &s->model : NULL, .schedule = pass->schedule,
		.element_bytes = fb_datatype_size(c->datatype),
		.tokens = tokens ? tokens : s->own->tokens ? s->own->tokens : 1,
		.rank = s->session->world->rank, .nranks = s->session->world->nranks,
	};

	b.device = c->engine && fb_engines[fb_engine_index(c->engine)]->device;
	memcpy(b.value, pass->value, sizeof(b.value));
	for (int a = 0; a < FB_SCHEDULE_AXES; a++)
		if (s->program->axes[a].trials && !b.value[a])
			b.value[a] = s->program->axes[a].trials[0];
	b.elements = c->bytes / b.element_bytes;
	return b;
}

int fb_step_make(const struct fb_step_state *s, const struct fb_build *build, struct fb_dag *dag)
{
	fb_dag_open(dag, build->rank, build->nranks);
	s->program->build(dag, build);
	if (fb_dag_link(dag))
		return fb_error(dag->err, "%s: building a step: %s", s->program->name,
				fb_strerror(dag->err));
	return FB_OK;
}

int fb_step_prove(const struct fb_step_state *s, const struct fb_build *build)
{
	struct fb_dag *dags = calloc((size_t)build->nranks, sizeof(*dags));
	struct fb_build b = *build;
	char why[FB_DAG_WHY_CHARS];
	int err = dags ? FB_OK : fb_error(FB_ENOMEM, "out of memory for checking a step");

	for (b.rank = 0; b.rank < b.nranks && !err; b.rank++)
		err = fb_step_make(s, &b, &dags[b.rank]);
	if (!err) {
		err = fb_dag_check(dags, b.nranks, fb_schedule_budget(s->program, &b, &dags[0]),
				   why);
		if (err)
			fb_error(err, "%s %s: %s", s->program->name,
				 s->program->schedules[b.schedule], why);
	}
	for (int r = 0; dags && r < b.nranks; r++)
		fb_dag_close(&dags[r]);
	free(dags);
	return err;
}

size_t fb_step_bytes(const struct fb_dag *dag, size_t element_bytes)
{
	return (size_t)(dag->elements + FB_DAG_GAP) * element_bytes;
}
