/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many tokens a step computes: as many as the user says, or as many as take the time that the
 * user says, alone. That is found by trying, twice, as time per token changes with their number.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/clock.h"
#include "overlap/program.h"

enum {
	FIRST_TOKENS = 1024, /* on a GPU, which needs some to be busy */
	STEP_TOKENS = 16,    /* there, for its matrix units */
	MOST_TOKENS = 1 << 20,
	TRIALS = 3,
};

static uint64_t most_rows(const struct fb_ddp_instance *i)
{
	uint64_t most = 1;

	for (size_t t = 0; t < i->gradients.ntensors; t++) {
		uint64_t rows = fb_ddp_rows(i->state, &i->gradients.tensors[t]);

		most = rows > most ? rows : most;
	}
	return most;
}

double fb_ddp_flop(const struct fb_ddp_instance *i)
{
	double rows = 0;

	for (size_t t = 0; t < i->gradients.ntensors; t++)
		rows += (double)fb_ddp_rows(i->state, &i->gradients.tensors[t]);
	return 4 * rows * (double)i->tokens * (double)i->state->own->hidden;
}

/* Collective: memory for i->tokens in place of what there was. */
static int open_tokens(struct fb_ddp_instance *i)
{
	const struct fb_ddp_settings *own = i->state->own;
	int err;

	if (i->device) {
		err = fb_gpu_compute_resize(i->state->gpu, i->tokens, own->hidden, most_rows(i));
	} else {
		fb_host_compute_close(&i->compute);
		err = fb_host_compute_open(&i->compute, i->tokens, own->hidden, most_rows(i));
	}
	return fb_group_agree(i->state->collective->world, err);
}

/* Local: everything that a step computes, once. */
static int compute_all(struct fb_ddp_instance *i)
{
	const struct fb_gradients *g = &i->gradients;
	int err = FB_OK;

	for (size_t t = 0; t < g->ntensors && !err; t++) {
		uint64_t rows = fb_ddp_rows(i->state, &g->tensors[t]);

		if (i->device)
			err = fb_gpu_compute_enqueue(i->state->gpu, rows, NULL);
		else
			fb_host_compute_rows(&i->compute, 0, rows);
	}
	if (!err && i->device)
		err = fb_gpu_compute_finish(i->state->gpu);
	return err;
}

/* Collective: the least of some trials, of the slowest rank, in seconds. */
static int time_all(struct fb_ddp_instance *i, double *seconds)
{
	const struct fb_group *w = i->state->collective->world;
	const struct fb_clock *clock = i->state->collective->session->clock;
	double least = 0;
	int err = compute_all(i);

	for (int trial = 0; trial < TRIALS && !err; trial++) {
		uint64_t start = fb_clock_ticks(clock);
		double took;

		err = compute_all(i);
		took = fb_clock_seconds(clock, fb_clock_ticks(clock) - start);
		least = trial == 0 || took < least ? took : least;
	}
	MPI_Allreduce(&least, seconds, 1, MPI_DOUBLE, MPI_MAX, w->comm);
	return fb_group_agree(w, err);
}

/* Collective: tokens that take --compute. */
static int calibrate(struct fb_ddp_instance *i)
{
	uint64_t step = i->device ? STEP_TOKENS : 1;
	double seconds = 0;
	int err = FB_OK;

	i->tokens = i->device ? FIRST_TOKENS : 1;
	for (int trial = 0; trial < 2 && !err; trial++) {
		double wanted;

		err = open_tokens(i);
		if (!err)
			err = time_all(i, &seconds);
		if (err)
			break;
		wanted = (double)i->tokens * i->state->own->compute_s /
			 (seconds > 0 ? seconds : 1e-9) / (double)step + 0.5;
		i->tokens = wanted < 1 ? step : wanted > MOST_TOKENS ? MOST_TOKENS
								     : (uint64_t)wanted * step;
	}
	return err;
}

/* What was found before for as many gradients; 0: nothing. */
static uint64_t known_tokens(const struct fb_ddp_instance *i)
{
	const struct fb_ddp_state *s = i->state;

	if (s->own->tokens)
		return s->own->tokens;
	for (size_t k = 0; k < s->nwork; k++)
		if (s->work[k].elements == i->whole.op.count && s->work[k].device == i->device)
			return s->work[k].tokens;
	return 0;
}

/* Collective. */
static int remember(struct fb_ddp_instance *i)
{
	struct fb_ddp_state *s = i->state;
	struct fb_ddp_work *more = realloc(s->work, (s->nwork + 1) * sizeof(*more));
	int err = fb_group_agree(s->collective->world, more ? FB_OK : FB_ENOMEM);

	if (more)
		s->work = more;
	if (!err)
		s->work[s->nwork++] = (struct fb_ddp_work){i->whole.op.count, i->tokens,
							   i->device};
	return err;
}

int fb_ddp_open_work(struct fb_ddp_instance *i)
{
	struct fb_ddp_state *s = i->state;
	int err = FB_OK;

	if (i->device && !s->gpu)
		err = fb_group_agree(s->collective->world,
				     fb_gpu_compute_open(&s->gpu, &s->collective->gpu,
							 s->own->cublas,
							 (int)s->own->compute_sms));
	i->tokens = known_tokens(i);
	if (!err && !i->tokens) {
		err = calibrate(i);
		if (!err)
			err = remember(i);
	}
	return err ? err : open_tokens(i);
}
