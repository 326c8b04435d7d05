/* SPDX-License-Identifier: BSD-3-Clause */
/* One case of stream; see stream.h. */
#include "kvtransfer/stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

struct fb_mover *fb_stream_mover(const struct fb_stream *s)
{
	return s->base->engine->mover;
}

/* What both ranks can compute at most, once for all cases on processors and on GPUs. Collective. */
static int time_peak(struct fb_stream *s)
{
	static struct fb_kv_cost known[2];
	const struct fb_group *w = fb_stream_mover(s)->group;
	struct fb_kv_cost *own = &known[s->base->engine->device];
	int err = FB_OK;

	if (w->rank < 2 && own->flop <= 0)
		err = fb_kv_peak(s->compute, s->base->state->machine.session->clock, own);
	for (int r = 0; r < 2; r++) {
		s->peak[r] = *own;
		MPI_Bcast(&s->peak[r], 2, MPI_DOUBLE, r, w->comm);
	}
	return fb_group_agree(w, err);
}

static void close_stream(struct fb_stream *s)
{
	fb_kv_compute_close(s->compute);
	free(s->layer_s);
	free(s->computed_s);
	free(s->at);
	free(s->call);
	free(s);
}

static int open_stream(struct fb_stream *s)
{
	const struct fb_gpu *gpu = s->base->engine->device ? &s->base->state->machine.gpu : NULL;
	int err = FB_OK;

	s->layer_s = calloc(s->model->layers, sizeof(*s->layer_s));
	s->computed_s = calloc(s->model->layers, sizeof(*s->computed_s));
	s->at = calloc(s->model->layers, sizeof(*s->at));
	s->call = calloc(FB_STREAM_MOST_CALLS, sizeof(*s->call));
	if (!s->layer_s || !s->computed_s || !s->at || !s->call)
		err = fb_error(FB_ENOMEM, "out of memory for times");
	if (!err && fb_stream_mover(s)->group->rank < 2)
		err = fb_kv_compute_open(&s->compute, s->model, gpu, s->tokens + 1);
	err = fb_group_agree(fb_stream_mover(s)->group, err);
	if (!err)
		err = time_peak(s);
	return err ? err : fb_stream_parts(s);
}

int fb_stream_set_up(void *state, const struct fb_case *c, void **result)
{
	struct fb_stream *s = calloc(1, sizeof(*s));
	void *base = NULL;
	const struct fb_handoff_keys *keys = FB_OWN_CONST(struct fb_handoff_keys, c);
	int err = fb_handoff_set_up(state, c, &base);

	if (err || !s) {
		free(s);
		return err ? err : FB_ENOMEM;
	}
	s->base = base;
	s->model = fb_kv_model_find(fb_kv_model_names[keys->model]);
	s->layer_moves = s->base->plan.lists > 1 && s->model->index_bytes ? 2 : 1;
	s->tokens = (uint32_t)keys->tokens;
	s->others = (uint32_t)keys->others;
	s->layerwise = !strcmp(c->algorithm, fb_stream_modes[0]);
	s->early = !strcmp(fb_stream_starts[keys->start], "layer");
	err = open_stream(s);
	if (err) {
		close_stream(s);
		fb_handoff_tear_down(base);
		return err;
	}
	*result = s;
	return FB_OK;
}

void fb_stream_tear_down(void *instance)
{
	struct fb_stream *s = instance;
	struct fb_handoff_instance *base = s->base;

	close_stream(s);
	fb_handoff_tear_down(base);
}

int fb_stream_prime(void *instance)
{
	return fb_handoff_prime(((struct fb_stream *)instance)->base);
}

int fb_stream_check(void *instance, int calls, struct fb_mismatch *bad)
{
	return fb_handoff_check(((struct fb_stream *)instance)->base, calls, bad);
}

bool fb_stream_counts(void *instance)
{
	return fb_handoff_counts(((struct fb_stream *)instance)->base);
}
