/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of a pipeline's passes; see pipeline_order.h. */
#include "overlap/schedule/pipeline_order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* When each pass ends: [pass][virtual stage][batch]; negative: not yet. */
struct times {
	const struct fb_pipeline_shape *shape;
	double *end;
};

static bool splits(const struct fb_pipeline_shape *s)
{
	return s->schedule == FB_PIPELINE_ZERO_BUBBLE;
}

static double *end_of(const struct times *t, enum fb_pass pass, int stage, int batch)
{
	int stages = t->shape->ranks * t->shape->chunks;

	return &t->end[((int)pass * stages + stage) * t->shape->batches + batch];
}

/* When a pass may begin on its rank; negative: something before it has no end yet. */
static double ready_at(const struct times *t, int rank, struct fb_pass_of p)
{
	int stages = t->shape->ranks * t->shape->chunks;
	int stage = p.chunk * t->shape->ranks + rank;
	double own, other;

	if (p.pass == FB_FORWARD)
		return stage ? *end_of(t, FB_FORWARD, stage - 1, p.batch) : 0;
	if (p.pass == FB_WEIGHTS)
		return *end_of(t, FB_BACKWARD, stage, p.batch);
	own = *end_of(t, FB_FORWARD, stage, p.batch);
	other = stage + 1 < stages ? *end_of(t, FB_BACKWARD, stage + 1, p.batch) : own;
	if (own < 0 || other < 0)
		return -1;
	return own > other ? own : other;
}

static double length_of(const struct fb_pipeline_shape *s, enum fb_pass pass, int stage)
{
	return (pass == FB_BACKWARD && !splits(s) ? 2 : 1) * (s->weight ? s->weight[stage] : 1);
}

/* The k-th forward or backward of a rank: batches in rounds of as many as ranks, by chunk. */
static struct fb_pass_of nth(const struct fb_pipeline_shape *s, enum fb_pass pass, int k)
{
	int round = s->ranks * s->chunks, chunk = k % round / s->ranks;

	if (s->chunks == 1)
		return (struct fb_pass_of){pass, k, 0};
	return (struct fb_pass_of){pass, k / round * s->ranks + k % s->ranks,
				   pass == FB_FORWARD ? chunk : s->chunks - 1 - chunk};
}

/* Forwards before the first backward. */
static int warm_up(const struct fb_pipeline_shape *s, int rank)
{
	int all = s->batches * s->chunks, n = s->ranks - 1 - rank;

	if (s->schedule == FB_PIPELINE_GPIPE)
		return all;
	if (s->schedule == FB_PIPELINE_INTERLEAVED)
		n = 2 * n + (s->chunks - 1) * s->ranks;
	return n < all ? n : all;
}

/* Schedules that a formula gives: forwards, then one of each by turns, then the rest. */
static void order_rank(struct fb_pipeline *p, int rank)
{
	const struct fb_pipeline_shape *s = &p->shape;
	struct fb_pass_of *to = p->passes + rank * p->per_rank;
	int all = s->batches * s->chunks, before = warm_up(s, rank), n = 0;

	for (int k = 0; k < before; k++)
		to[n++] = nth(s, FB_FORWARD, k);
	for (int k = 0; k < all; k++) {
		if (before + k < all)
			to[n++] = nth(s, FB_FORWARD, before + k);
		to[n++] = nth(s, FB_BACKWARD, k);
	}
}

/*
 * What a rank of a pipeline without bubbles does at time `now`: backward as early as possible,
 * forward as long as no more batches are under way than with 1F1B, else weights' gradients.
 */
static bool choose(const struct times *t, int rank, const int done[FB_PASSES], double now,
		   struct fb_pass_of *chosen)
{
	static const enum fb_pass order[] = {FB_BACKWARD, FB_FORWARD, FB_WEIGHTS};

	for (int i = 0; i < FB_PASSES; i++) {
		struct fb_pass_of p = {order[i], done[order[i]], 0};
		double ready;

		if (p.batch == t->shape->batches ||
		    (p.pass == FB_FORWARD &&
		     done[FB_FORWARD] - done[FB_BACKWARD] >= t->shape->ranks - rank))
			continue;
		ready = ready_at(t, rank, p);
		if (ready < 0 || ready > now)
			continue;
		*chosen = p;
		return true;
	}
	return false;
}

/* All passes take one unit of time, so that a time is a number of rounds. */
static void order_without_bubbles(struct fb_pipeline *p, struct times *t, int *done)
{
	const struct fb_pipeline_shape *s = &p->shape;
	int left = s->ranks * p->per_rank;

	for (int now = 0; left; now++)
		for (int r = 0; r < s->ranks; r++) {
			int *mine = done + r * FB_PASSES, n = 0;
			struct fb_pass_of pass;

			for (int k = 0; k < FB_PASSES; k++)
				n += mine[k];
			if (!choose(t, r, mine, now, &pass))
				continue;
			p->passes[r * p->per_rank + n] = pass;
			*end_of(t, pass.pass, r, pass.batch) = now + 1;
			mine[pass.pass]++;
			left--;
		}
}

/* Runs all lists, each pass as soon as it may; the idle share of the whole. */
static int measure(struct fb_pipeline *p, struct times *t, int *next, double *free_at)
{
	const struct fb_pipeline_shape *s = &p->shape;
	double span = 0, most = 0, *work = free_at + s->ranks;
	bool moved = true;

	for (int i = 0; i < FB_PASSES * s->ranks * s->chunks * s->batches; i++)
		t->end[i] = -1;
	while (moved) {
		moved = false;
		for (int r = 0; r < s->ranks; r++)
			while (next[r] < p->per_rank) {
				struct fb_pass_of pass = p->passes[r * p->per_rank + next[r]];
				double ready = ready_at(t, r, pass), length;

				if (ready < 0)
					break;
				length = length_of(s, pass.pass, pass.chunk * s->ranks + r);
				free_at[r] = (ready > free_at[r] ? ready : free_at[r]) + length;
				*end_of(t, pass.pass, pass.chunk * s->ranks + r, pass.batch) =
					free_at[r];
				work[r] += length;
				next[r]++;
				moved = true;
			}
	}
	for (int r = 0; r < s->ranks; r++) {
		if (next[r] < p->per_rank)
			return FB_EPLAN;
		span = free_at[r] > span ? free_at[r] : span;
		most = work[r] > most ? work[r] : most;
	}
	p->bubble = 1 - most / span;
	return FB_OK;
}

int fb_pipeline_open(struct fb_pipeline *pipeline, const struct fb_pipeline_shape *shape)
{
	int passes = shape->batches * shape->chunks * (splits(shape) ? 3 : 2);
	size_t ranks = (size_t)shape->ranks;
	struct fb_pipeline p = {.shape = *shape, .per_rank = passes};
	struct times t = {.shape = shape};
	int *next = calloc(ranks * (1 + FB_PASSES), sizeof(*next)), err = FB_ENOMEM;
	double *free_at = calloc(2 * ranks, sizeof(*free_at));

	p.passes = calloc(ranks * (size_t)passes, sizeof(*p.passes));
	t.end = calloc((size_t)FB_PASSES * ranks * (size_t)shape->chunks * (size_t)shape->batches,
		       sizeof(*t.end));
	if (!next || !free_at || !p.passes || !t.end)
		goto free_times;
	for (int i = 0; i < FB_PASSES * shape->ranks * shape->chunks * shape->batches; i++)
		t.end[i] = -1;
	if (splits(shape))
		order_without_bubbles(&p, &t, next + shape->ranks);
	for (int r = 0; r < shape->ranks && !splits(shape); r++)
		order_rank(&p, r);
	err = measure(&p, &t, next, free_at);
free_times:
	free(next);
	free(free_at);
	free(t.end);
	if (err)
		free(p.passes);
	else
		*pipeline = p;
	return err;
}

void fb_pipeline_close(struct fb_pipeline *pipeline)
{
	free(pipeline->passes);
}
