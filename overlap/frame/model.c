/* SPDX-License-Identifier: BSD-3-Clause */
/* --model: the sizes of a step are a model's, and what does not go together is refused. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"

/* What the program needs and the model lacks; NULL: nothing. */
static const char *lacks(const struct fb_schedule_program *program, const struct fb_nn *nn)
{
	if (program->attends && !nn->heads)
		return "attention";
	return program->has_experts && !nn->experts ? "experts" : NULL;
}

/* Whether the user gave another --bytes than the program's default. */
static bool has_bytes(const struct fb_step_state *s)
{
	const struct fb_default *d = s->program->defaults;

	while (d->option && strcmp(d->option, "bytes"))
		d++;
	return d->option && strcmp(d->value, s->session->settings->bytes) != 0;
}

int fb_step_open_model(struct fb_step_state *s)
{
	struct fb_overlap_settings *own = &s->settings;
	const struct fb_nn_parts parts = {
		own->tp ? own->tp : 1, own->pp ? own->pp : 1, own->ep ? own->ep : 1, 1,
		own->model_layers, own->shrink ? own->shrink : 1};
	char why[FB_NN_WHY];
	int err = FB_OK;

	own->model = own->model && strcmp(own->model, "none") ? own->model : NULL;
	if (own->model)
		err = fb_nn_open(&s->model, own->model, why);
	if (!err && own->model && lacks(s->program, &s->model)) {
		snprintf(why, sizeof(why), "it has no %s: expected a model that %s needs",
			 lacks(s->program, &s->model), s->program->name);
		err = FB_EINPUT;
	}
	if (!own->model && (own->batch || own->sequence || own->model_layers ||
			    parts.shrink * parts.tensor * parts.pipeline * parts.expert > 1 ||
			    own->cp > 1)) {
		own->model = "none";
		snprintf(why, sizeof(why), "expected a model of docs/overlap.md, or a file, with "
			 "--batch, --sequence, --model-layers, --shrink, --tp, --pp, --ep or --cp");
		err = FB_EINPUT;
	}
	if (!err && own->model && s->program->bytes && has_bytes(s)) {
		snprintf(why, sizeof(why), "beside --bytes, which follows from the model");
		err = FB_EINPUT;
	}
	if (err)
		return s->session->world->rank ? err : fb_error(err, "--model %s: %s", own->model,
								 why);
	if (!own->model)
		return FB_OK;
	if (own->sequence)
		s->model.sequence = own->sequence;
	fb_nn_cut(&s->model, &parts);
	own->hidden = s->model.hidden ? s->model.hidden : own->hidden;
	own->ffn = s->model.ffn;
	own->topk = s->model.topk;
	if (own->batch)
		own->tokens = (own->batch * s->model.sequence + own->cp - 1) / own->cp;
	return FB_OK;
}
