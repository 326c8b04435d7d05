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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/measure/stats.h"

enum { TRIES = 5, MOST_CALLS = 1 << 16 };

static double now(const struct fb_stream *s)
{
	return fb_handoff_now(s->base);
}

struct fb_mover *fb_stream_mover(const struct fb_stream *s)
{
	return s->base->engine->mover;
}

struct fb_kv_batch fb_stream_chunk(const struct fb_stream *s, uint32_t done)
{
	uint32_t left = s->tokens - done;

	return (struct fb_kv_batch){left < FB_KV_CHUNK ? left : FB_KV_CHUNK, done, 0, 0};
}

/* A layer of the prompt, by chunks. */
static int compute_layer(const struct fb_stream *s)
{
	int err = FB_OK;

	for (uint32_t done = 0; done < s->tokens && !err; done += FB_KV_CHUNK) {
		const struct fb_kv_batch batch = fb_stream_chunk(s, done);

		err = fb_kv_layer(s->compute, &batch);
	}
	return err;
}

struct fb_kv_batch fb_stream_others(const struct fb_stream *s)
{
	return (struct fb_kv_batch){0, 0, s->others, (uint64_t)s->others * s->tokens};
}

/* --- a request -------------------------------------------------------------------------------- */

/* What is done with the moves of a layer: posted by rank 0, unpacked by rank 1. */
enum act { POST, TEST, WAIT, UNPACK };

static int do_move(const struct fb_stream *s, const struct fb_handoff_link *link, uint32_t move,
		   enum act act)
{
	const struct fb_mover_ops *ops = fb_stream_mover(s)->ops;
	bool ignored;
	int err = FB_OK;

	if (act == TEST)
		return ops->test(link->move[move], &ignored);
	if (act == WAIT)
		return fb_move_wait(link->move[move]);
	err = fb_handoff_repack(s->base, link, move);
	return err || act == UNPACK ? err : ops->post(link->move[move]);
}

/* The layer's moves: one of each link that has the layer. */
static int do_layer(const struct fb_stream *s, uint32_t layer, enum act act)
{
	int err = FB_OK;

	for (int k = 0; k < s->base->links && !err; k++) {
		int move = fb_kv_model_layer(s->model, s->base->links, k, layer);

		if (move >= 0)
			err = do_move(s, &s->base->link[k], (uint32_t)move, act);
	}
	return err;
}

/* Notices of the requests before this one, and of this one's first layers. */
static uint64_t notices(const struct fb_stream *s, uint64_t call, uint32_t layers)
{
	return s->base->link[0].count_base +
	       ((call - 1) * s->model->layers + layers) * s->layer_moves;
}

/* Rank 0: computes and posts. */
static int send_layers(struct fb_stream *s, bool layerwise, double *computed, double *compute_s)
{
	uint32_t layers = s->model->layers;
	double began = now(s);
	int err = FB_OK;

	for (uint32_t l = 0; l < layers && !err; l++) {
		err = compute_layer(s);
		/* Movers that need calls get one for each layer. */
		if (layerwise && !err && !(err = do_layer(s, l, POST)))
			err = do_layer(s, l, TEST);
	}
	*computed = now(s);
	*compute_s = *computed - began;
	for (uint32_t l = 0; l < layers && !err && !layerwise; l++)
		err = do_layer(s, l, POST);
	for (uint32_t l = 0; l < layers && !err; l++)
		err = do_layer(s, l, WAIT);
	return err;
}

/* A step of other requests. */
static int serve_others(struct fb_stream *s)
{
	const struct fb_kv_batch batch = fb_stream_others(s);
	double began = now(s);
	int err = fb_kv_step(s->compute, &batch);

	s->steps_s += now(s) - began;
	s->steps++;
	return err;
}

/* Rank 1: until all layers are there; decodes a layer of the first token as soon as it may. */
static int receive_layers(struct fb_stream *s, uint64_t call, double *there)
{
	struct fb_handoff_link *link = &s->base->link[0];
	const struct fb_kv_batch token = {0, 0, 1, s->tokens};
	struct fb_spin spin = {.yields = fb_stream_mover(s)->group->oversubscribed};
	uint64_t base = notices(s, call, 0), count = 0;
	uint32_t decoded = 0, unpacked = 0, come = 0, layers = s->model->layers;
	const struct fb_wait wait = {link->from, FB_NOTE_PUT, notices(s, call, layers)};
	int err = FB_OK;

	while (!err && come < layers) {
		err = fb_stream_mover(s)->ops->arrived(fb_stream_mover(s), link->from, FB_NOTE_PUT,
						       &count);
		if (!err && count > base)
			come = (uint32_t)((count - base) / s->layer_moves);
		while (!err && unpacked < come)
			err = do_layer(s, unpacked++, UNPACK);
		if (!err && s->others && come < layers)
			err = serve_others(s);
		else if (!err && s->early && decoded < come && ++decoded)
			err = fb_kv_layer(s->compute, &token);
		else if (!err)
			err = fb_mover_again_for(fb_stream_mover(s), &spin, &wait, count);
	}
	*there = now(s);
	for (; decoded < layers && !s->others && !err; decoded++)
		err = fb_kv_layer(s->compute, &token);
	if (!err)
		err = fb_stream_mover(s)->ops->post(link->note);
	return err ? err : fb_move_wait(link->note);
}

static int request(struct fb_stream *s, bool layerwise, double moments[3])
{
	uint64_t call = ++s->base->handed;
	int rank = fb_stream_mover(s)->group->rank, err;

	moments[0] = moments[1] = moments[2] = -HUGE_VAL;
	if (rank > 1)
		return FB_OK;
	if (rank == 1)
		return receive_layers(s, call, &moments[1]);
	err = fb_handoff_await_leave(s->base, call);
	return err ? err : send_layers(s, layerwise, &moments[0], &moments[2]);
}

int fb_stream_run(void *instance, int calls)
{
	struct fb_stream *s = instance;
	int err = FB_OK;

	for (int k = 0; k < calls && !err; k++) {
		s->calls += s->calls < MOST_CALLS;
		err = request(s, s->layerwise, s->call[s->calls - 1]);
	}
	return err;
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
			err = compute_layer(s);
			spent[l * TRIES + (uint32_t)k] = now(s) - began;
		}
		if (rank == 1 && s->others && !err)
			err = serve_others(s);
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
	if (rank == 0 && !(err = do_layer(s, l, POST)))
		err = do_layer(s, l, WAIT);
	if (rank == 1) {
		err = fb_mover_await(fb_stream_mover(s), 0, FB_NOTE_PUT,
				     notices(s, call, l + 1));
		err = err ? err : do_layer(s, l, UNPACK);
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

		if (w->rank == 0)
			err = fb_handoff_await_leave(s->base, call);
		for (uint32_t l = 0; l < layers && !err; l++)
			err = time_layer(s, call, l, &moment[k * layers + l]);
		if (w->rank == 1 && !err && !(err = fb_stream_mover(s)->ops->post(link->note)))
			err = fb_move_wait(link->note);
	}
	err = fb_group_agree(w, err);
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
		err = request(s, false, moments);
		spent[k] = now(s) - began;
		MPI_Allreduce(MPI_IN_PLACE, &spent[k], 1, MPI_DOUBLE, MPI_MAX,
			      fb_stream_mover(s)->group->comm);
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
	const struct fb_gpu *gpu =
		s->base->engine->device ? &s->base->state->machine.gpu : NULL;
	int err = FB_OK;

	s->layer_s = calloc(s->model->layers, sizeof(*s->layer_s));
	s->computed_s = calloc(s->model->layers, sizeof(*s->computed_s));
	s->call = calloc(MOST_CALLS, sizeof(*s->call));
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
