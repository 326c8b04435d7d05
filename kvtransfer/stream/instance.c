/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case of stream; see stream.h.
 *
 * The recursion: with c(l), when layer l has been computed, and x(l), what its transfer takes,
 * f(l) = max(f(l - 1), c(l)) + x(l), and f(L) - c(L) is exposed. Both are measured in setup, each
 * alone; behind the last layer all x(l) are exposed.
 */
#include "kvtransfer/stream/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"

enum { TRIES = 5 };

static double now(const struct fb_stream *s)
{
	return fb_handoff_now(s->base);
}

struct fb_mover *fb_stream_mover(const struct fb_stream *s)
{
	return s->base->engine->mover;
}

/* --- what is measured in setup ---------------------------------------------------------------- */

/* Computing of the prompt, and steps of the others, each with nothing beside it. */
static int time_compute(struct fb_stream *s)
{
	int rank = fb_stream_mover(s)->group->rank, err = FB_OK;
	double *spent = calloc((size_t)TRIES * s->model->layers, sizeof(*spent));
	double scratch[2 * TRIES];

	err = spent ? FB_OK : fb_error(FB_ENOMEM, "out of memory for times");
	for (int k = 0; k < TRIES && !err; k++) {
		double began = now(s);

		for (uint32_t l = 0; l < s->model->layers && !rank && !err; l++) {
			err = fb_stream_compute(s);
			spent[l * TRIES + (uint32_t)k] = now(s) - began;
		}
		if (rank == 1 && s->others && !err)
			err = fb_stream_serve(s);
	}
	for (uint32_t l = 0; l < s->model->layers && !err; l++)
		s->computed_s[l] = fb_median(&spent[l * TRIES], TRIES, scratch);
	free(spent);
	s->step_s = s->steps_s / TRIES;
	MPI_Bcast(s->computed_s, (int)s->model->layers, MPI_DOUBLE, 0,
		  fb_stream_mover(s)->group->comm);
	s->compute_s = s->computed_s[s->model->layers - 1];
	MPI_Bcast(&s->step_s, 1, MPI_DOUBLE, 1, fb_stream_mover(s)->group->comm);
	return fb_group_agree(fb_stream_mover(s)->group, err);
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

/* Rank 0 posts a layer, rank 1 awaits it; when that began, at rank 0, or ended, at rank 1. */
static int time_layer(struct fb_stream *s, uint64_t call, uint32_t l, double *moment)
{
	int rank = fb_stream_mover(s)->group->rank, err = FB_OK;

	MPI_Barrier(fb_stream_mover(s)->group->comm);
	*moment = now(s);
	if (rank == 0 && !(err = fb_stream_layer(s, l, FB_STREAM_POST)))
		err = fb_stream_layer(s, l, FB_STREAM_WAIT);
	if (rank == 1) {
		err = fb_mover_await(fb_stream_mover(s), 0, FB_NOTE_PUT,
				     fb_stream_notices(s, call, l + 1));
		err = err ? err : fb_stream_layer(s, l, FB_STREAM_UNPACK);
		*moment = now(s);
	}
	return err;
}

/*
 * Takes the fastest of the tries. moment: [2][TRIES][layers], of which this rank's are the first
 * half. Collective.
 */
static void put_layers(struct fb_stream *s, double *moment)
{
	const struct fb_group *w = fb_stream_mover(s)->group;
	int layers = (int)s->model->layers, n = TRIES * layers;
	double *end = moment + n;

	for (int k = 0; k < n; k++)
		moment[k] = end[k] = fb_handoff_global(s->base, moment[k]);
	MPI_Bcast(moment, n, MPI_DOUBLE, 0, w->comm);
	MPI_Bcast(end, n, MPI_DOUBLE, 1, w->comm);
	for (int l = 0; l < layers; l++) {
		double least = HUGE_VAL;

		for (int k = l; k < n; k += layers)
			least = fmin(least, end[k] - moment[k]);
		s->layer_s[l] = fb_handoff_known(s->base, least * 1e6, FB_ENDS_BOTH) * 1e-6;
	}
}

/* Each layer's transfer alone, from its post to its notice. Collective. */
static int time_layers(struct fb_stream *s)
{
	struct fb_handoff_link *link = &s->base->link[0];
	const struct fb_group *w = fb_stream_mover(s)->group;
	uint32_t layers = s->model->layers;
	double *moment = calloc((size_t)2 * TRIES * layers, sizeof(*moment));
	int err = fb_group_agree(w, moment ? FB_OK : FB_ENOMEM);

	for (uint32_t k = 0; k < TRIES && !err; k++) {
		uint64_t call = ++s->base->handed;

		/* Who fails says so at once, because all ranks meet before each layer. */
		err = fb_group_agree(w, w->rank ? FB_OK : fb_handoff_await_leave(s->base, call));
		for (uint32_t l = 0; l < layers && !err; l++)
			err = fb_group_agree(w, time_layer(s, call, l, &moment[k * layers + l]));
		if (w->rank == 1 && !err && !(err = fb_stream_mover(s)->ops->post(link->note)))
			err = fb_move_wait(link->note);
		err = fb_group_agree(w, err);
	}
	if (!err)
		err = fb_handoff_mark(s->base);
	if (!err)
		put_layers(s, moment);
	free(moment);
	return err;
}

/* A whole request whose layers follow the last one's computing: the median, slowest rank. */
static int time_after(struct fb_stream *s)
{
	double moments[3], spent[TRIES], scratch[2 * TRIES];
	int err = FB_OK;

	for (int k = 0; k < TRIES && !err; k++) {
		double began;

		MPI_Barrier(fb_stream_mover(s)->group->comm);
		began = now(s);
		err = fb_stream_request(s, false, moments);
		spent[k] = now(s) - began;
		MPI_Allreduce(MPI_IN_PLACE, &spent[k], 1, MPI_DOUBLE, MPI_MAX,
			      fb_stream_mover(s)->group->comm);
		err = fb_group_agree(fb_stream_mover(s)->group, err);
	}
	if (!err)
		s->after_s = fb_median(spent, TRIES, scratch);
	s->steps_s = 0;
	s->steps = 0;
	return err;
}

static void close_stream(struct fb_stream *s)
{
	fb_kv_compute_close(s->compute);
	free(s->layer_s);
	free(s->computed_s);
	free(s->call);
	free(s);
}

static int open_stream(struct fb_stream *s)
{
	const struct fb_gpu *gpu = s->base->engine->device ? &s->base->state->machine.gpu : NULL;
	int err = FB_OK;

	s->layer_s = calloc(s->model->layers, sizeof(*s->layer_s));
	s->computed_s = calloc(s->model->layers, sizeof(*s->computed_s));
	s->call = calloc(FB_STREAM_MOST_CALLS, sizeof(*s->call));
	if (!s->layer_s || !s->computed_s || !s->call)
		err = fb_error(FB_ENOMEM, "out of memory for times");
	if (!err && fb_stream_mover(s)->group->rank < 2)
		err = fb_kv_compute_open(&s->compute, s->model, gpu, s->tokens + 1);
	err = fb_group_agree(fb_stream_mover(s)->group, err);
	if (!err)
		err = time_peak(s);
	if (!err)
		err = time_compute(s);
	if (!err)
		err = time_layers(s);
	return err ? err : time_after(s);
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
