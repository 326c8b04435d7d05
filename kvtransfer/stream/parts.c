/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts from which the recursion says what a row should expose. Setup measures them in whole
 * requests without overlap, so that posts, caches, clocks and the receiver's work are those of the
 * row's requests: all layers posted in a row behind the computing, which is the request without
 * streaming; and, for layerwise rows, each layer posted behind its computing and awaited
 * before the next one is computed. Both alternate.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "kvtransfer/stream/stream.h"

enum { TRIES = 5 };

/* Times of all tries, in s. */
struct tries {
	double *computed, *posted, *layer; /* [layers][TRIES] */
	double *transfer, *after;	   /* [TRIES] */
};

static double now(const struct fb_stream *s)
{
	return fb_handoff_now(s->base);
}

/*
 * Steps of the others while rank 0 computes and nothing is transferred. The first step is not
 * measured and has nothing beside it. Collective.
 */
static int time_others(struct fb_stream *s)
{
	const struct fb_group *w = fb_stream_mover(s)->group;
	double step[TRIES + 1] = {0}, scratch[2 * TRIES];
	int err = FB_OK;

	for (int k = 0; k <= TRIES && s->others && !err; k++) {
		double before = s->steps_s;

		for (uint32_t l = 0; l < s->model->layers && !w->rank && k && !err; l++)
			err = fb_stream_compute(s);
		if (w->rank == 1)
			err = fb_stream_serve(s);
		step[k] = s->steps_s - before;
		err = fb_group_agree(w, err);
	}
	s->step_s = fb_median(step + 1, TRIES, scratch);
	MPI_Bcast(&s->step_s, 1, MPI_DOUBLE, 1, w->comm);
	return err;
}

/* All layers behind the computing; the time of the whole is the slowest rank's. Collective. */
static void try_after(struct fb_stream *s, const struct tries *t, int k)
{
	const struct fb_group *w = fb_stream_mover(s)->group;
	uint32_t layers = s->model->layers;
	double began;

	MPI_Barrier(w->comm);
	began = now(s);
	fb_stream_request(s, false);
	t->after[k] = now(s) - began;
	MPI_Allreduce(MPI_IN_PLACE, &t->after[k], 1, MPI_DOUBLE, MPI_MAX, w->comm);
	for (uint32_t l = 0; l < layers && !w->rank; l++)
		t->computed[l * TRIES + (uint32_t)k] = s->at[l].computed - s->began;
	if (w->rank < 2)
		t->transfer[k] = w->rank ? s->at[layers - 1].there : s->at[layers - 1].computed;
	MPI_Barrier(w->comm);
}

/* Layer by layer without overlap. Collective. */
static void try_alone(struct fb_stream *s, const struct tries *t, int k)
{
	int rank = fb_stream_mover(s)->group->rank;

	fb_stream_alone(s);
	for (uint32_t l = 0; l < s->model->layers && rank < 2; l++) {
		const struct fb_stream_moment *m = &s->at[l];

		t->layer[l * TRIES + (uint32_t)k] = rank ? m->there : m->computed;
		t->posted[l * TRIES + (uint32_t)k] = rank ? 0 : m->posted - m->computed;
	}
}

/* Rank 1's moments less those of rank 0, on all ranks; in place. Collective. */
static void subtract(const struct fb_stream *s, double *moment, int n)
{
	const struct fb_group *w = fb_stream_mover(s)->group;

	for (int k = 0; k < n && w->rank < 2; k++)
		moment[k] = fb_handoff_global(s->base, moment[k]) * (w->rank ? 1 : -1);
	MPI_Allreduce(MPI_IN_PLACE, moment, n, MPI_DOUBLE, MPI_SUM, w->comm);
}

static double known(const struct fb_stream *s, const double *seconds)
{
	double scratch[2 * TRIES], median = fb_median(seconds, TRIES, scratch);

	return fb_handoff_known(s->base, median * 1e6, FB_ENDS_BOTH) * 1e-6;
}

/* Medians of the tries. Collective. */
static void put_parts(struct fb_stream *s, const struct tries *t)
{
	const struct fb_group *w = fb_stream_mover(s)->group;
	int n = (int)s->model->layers * TRIES;
	double scratch[2 * TRIES], posts = 0;

	MPI_Bcast(t->computed, n, MPI_DOUBLE, 0, w->comm);
	MPI_Bcast(t->posted, n, MPI_DOUBLE, 0, w->comm);
	subtract(s, t->transfer, TRIES);
	s->transfer_s = known(s, t->transfer);
	s->after_s = fb_median(t->after, TRIES, scratch);
	if (s->layerwise)
		subtract(s, t->layer, n);
	for (uint32_t l = 0; l < s->model->layers; l++) {
		s->compute_s = fb_median(&t->computed[l * TRIES], TRIES, scratch);
		s->computed_s[l] = s->compute_s + posts;
		if (!s->layerwise)
			continue;
		s->layer_s[l] = known(s, &t->layer[l * TRIES]);
		posts += fb_median(&t->posted[l * TRIES], TRIES, scratch);
	}
}

int fb_stream_parts(struct fb_stream *s)
{
	size_t n = (size_t)s->model->layers * TRIES;
	double *room = calloc(3 * n + 2 * TRIES, sizeof(*room));
	int err = fb_group_agree(fb_stream_mover(s)->group, room ? FB_OK : FB_ENOMEM);

	if (!err && room) {
		const struct tries t = {room, room + n, room + 2 * n, room + 3 * n,
					room + 3 * n + TRIES};

		err = time_others(s);
		for (int k = 0; k < TRIES && !err; k++) {
			try_after(s, &t, k);
			if (s->layerwise)
				try_alone(s, &t, k);
		}
		if (!err)
			err = fb_handoff_mark(s->base);
		if (!err)
			put_parts(s, &t);
	}
	free(room);
	s->steps_s = 0;
	s->steps = 0;
	return err;
}
