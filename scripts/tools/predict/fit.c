/* SPDX-License-Identifier: BSD-3-Clause */
/* Fitting the model; see predict.h. */
#include "collectives/tuning/solve.h"
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/predict/predict.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3, LEAST_TIMES = 4, ROUNDS = 6 };

/* A block is a rank's share where a buffer has one for each rank. */
static double block_bytes(enum fb_collective collective, uint64_t bytes, int ranks)
{
	const struct fb_collective_info *info = fb_collective_info(collective);
	bool shares = info->in == FB_BLOCK_PER_RANK || info->out == FB_BLOCK_PER_RANK ||
		      info->in == FB_PER_RANK_AT_ROOT || info->out == FB_PER_RANK_AT_ROOT;

	return (double)bytes / (shares ? ranks : 1);
}

struct fb_job fb_job_of(const struct fb_cell *cell)
{
	int ranks = (int)strtol(fb_cell_text(cell, "ranks"), NULL, 10);
	int nodes = (int)strtol(fb_cell_text(cell, "nodes"), NULL, 10);

	if (nodes < 1 || ranks % nodes)
		return (struct fb_job){0, 0};
	return (struct fb_job){ranks, nodes > 1 ? ranks / nodes : 0};
}

static int find_price(const struct fb_algorithm *algorithm, bool direct, struct fb_job job,
		      struct fb_price *price)
{
	int nodes = job.each ? job.ranks / job.each : 1, err;
	int *node_of = fb_new(2 * (size_t)job.ranks, sizeof(*node_of));
	const struct fb_topology topology = {.nranks = job.ranks, .nnodes = nodes,
					     .node_of = node_of,
					     .local_rank_of = node_of + job.ranks};
	const struct fb_shape shape = {
		.collective = algorithm->collective, .nranks = job.ranks,
		.topology = nodes > 1 ? &topology : NULL,
		.nchannels = algorithm->channels ? algorithm->channels : 1,
	};
	char why[256];

	for (int r = 0; r < job.ranks && nodes > 1; r++) {
		node_of[r] = r / job.each;
		node_of[job.ranks + r] = r % job.each;
	}
	err = fb_algorithm_can(algorithm, &shape, why, sizeof(why))
		      ? fb_price(algorithm, &shape, direct, price)
		      : FB_EPLAN;
	return err;
}

/* The same, kept: the price of many ranks takes up to a second. */
static int price_of(struct fb_model *model, const struct fb_algorithm *algorithm, bool direct,
		    struct fb_job job, struct fb_price *price)
{
	struct fb_model_price *more;

	for (size_t i = 0; i < model->prices; i++) {
		const struct fb_model_price *p = &model->price[i];

		if (p->algorithm == algorithm && p->direct == direct &&
		    p->job.ranks == job.ranks && p->job.each == job.each) {
			*price = p->price;
			return p->err;
		}
	}
	more = FB_ADD(model->price, model->prices);
	*more = (struct fb_model_price){.algorithm = algorithm, .direct = direct, .job = job};
	more->err = job.each && job.ranks % job.each
			    ? FB_EUNSUPPORTED
			    : find_price(algorithm, direct, job, &more->price);
	*price = more->price;
	return more->err;
}

/* What the three parts are multiplied by, in one piece or cut, whichever the model finds less. */
static void terms(const struct fb_price *p, double block, const double us[PARTS], double x[PARTS])
{
	double one = p->messages * us[1] + p->blocks * block * us[2];
	double cut = p->cut_messages * us[1] + p->cut_blocks * block * us[2];

	x[0] = 1;
	x[1] = cut < one ? p->cut_messages : p->messages;
	x[2] = (cut < one ? p->cut_blocks : p->blocks) * block;
}

static double model_us(const struct fb_price *price, double block, const double us[PARTS])
{
	double x[PARTS];

	terms(price, block, us, x);
	return x[0] * us[0] + x[1] * us[1] + x[2] * us[2];
}

/*
 * Least squares of relative errors over the parts of `used`; the others become 0. False, and `us`
 * stays, where the times do not tell the parts apart.
 */
static bool solve_round(const struct fb_model_series *s, int without, const bool used[PARTS],
			double us[PARTS])
{
	double a[FB_SOLVE_MOST][FB_SOLVE_MOST] = {{0}}, b[FB_SOLVE_MOST] = {0};
	double found[FB_SOLVE_MOST], x[PARTS];
	int of[PARTS], n = 0;

	for (int k = 0; k < PARTS; k++)
		if (used[k])
			of[n++] = k;
	for (size_t i = 0; i < s->count; i++) {
		if (s->time[i].ranks == without)
			continue;
		terms(&s->time[i].price, s->time[i].block_bytes, us, x);
		for (int j = 0; j < n; j++) {
			for (int k = 0; k < n; k++)
				a[j][k] += x[of[j]] * x[of[k]] / s->time[i].us / s->time[i].us;
			b[j] += x[of[j]] / s->time[i].us;
		}
	}
	if (!n || !fb_solve(a, b, n, found))
		return false;
	memset(us, 0, PARTS * sizeof(*us));
	for (int k = 0; k < n; k++)
		us[of[k]] = found[k];
	return true;
}

/*
 * No part of a time is negative: one that comes out so is left out, the most negative first. False:
 * nothing could be fitted.
 */
static bool fit(const struct fb_model_series *s, int without, double us[PARTS])
{
	bool used[PARTS] = {false, true, true}, solved;
	const struct fb_model_time *first = NULL;
	int worst;

	/* If all times have the same number of messages, start and messages cannot be separated. */
	for (size_t i = 0; i < s->count; i++) {
		if (s->time[i].ranks == without)
			continue;
		first = first ? first : &s->time[i];
		used[0] |= s->time[i].price.messages != first->price.messages;
	}

	do {
		solved = false;
		us[0] = 0;
		us[1] = 1;
		us[2] = 1e-3;
		for (int round = 0; round < ROUNDS; round++)
			solved |= solve_round(s, without, used, us);
		worst = -1;
		for (int k = 0; k < PARTS; k++)
			if (us[k] < 0 && (worst < 0 || us[k] < us[worst]))
				worst = k;
		if (worst >= 0)
			used[worst] = false;
	} while (worst >= 0);
	return solved;
}

/* Gives the median and the greatest relative error of the times of `only` ranks (0: all). */
static void errors(const struct fb_model_series *s, int only, const double us[PARTS],
		   double *scratch, double *median, double *most)
{
	size_t n = 0;

	*most = 0;
	for (size_t i = 0; i < s->count; i++) {
		const struct fb_model_time *t = &s->time[i];
		double error = fabs(model_us(&t->price, t->block_bytes, us) / t->us - 1);

		if (only && t->ranks != only)
			continue;
		*most = fmax(*most, error);
		scratch[n++] = error;
	}
	*median = fb_median(scratch, n, scratch + s->count);
}

/* Returns false for a series that cannot be fitted. */
static bool fit_series(struct fb_model_series *s)
{
	double *scratch = fb_new(3 * s->count, sizeof(*scratch)), held[PARTS];
	bool fitted;

	s->held_error = s->held_worst = (double)NAN;
	if (s->least_ranks < s->most_ranks && fit(s, s->most_ranks, held))
		errors(s, s->most_ranks, held, scratch, &s->held_error, &s->held_worst);
	fitted = fit(s, 0, s->us);
	errors(s, 0, s->us, scratch, &s->error, &s->worst);
	return fitted;
}

static bool is_direct(const struct fb_cell *cell)
{
	return fb_protocol_is_direct(fb_cell_text(cell, "protocol"));
}

bool fb_model_alike(const struct fb_cell *a, const struct fb_cell *b)
{
	static const char *const but[] = {"ranks", "nodes", "bytes", NULL};

	return fb_cells_alike(a, b, but);
}

static struct fb_model_series *series_of(struct fb_model *model, const struct fb_cell *cell,
					 const struct fb_algorithm *algorithm)
{
	struct fb_model_series *more;

	for (size_t i = 0; i < model->count; i++)
		if (fb_model_alike(model->series[i].cell, cell))
			return &model->series[i];
	more = FB_ADD(model->series, model->count);
	*more = (struct fb_model_series){
		.cell = cell, .algorithm = algorithm, .direct = is_direct(cell),
		.least_ranks = INT_MAX, .least_bytes = UINT64_MAX,
	};
	return more;
}

static void add_cell(struct fb_model *model, const struct fb_cell *cell)
{
	int collective = fb_collective_parse(fb_cell_text(cell, "program"));
	struct fb_job job = fb_job_of(cell);
	const struct fb_algorithm *algorithm = NULL;
	struct fb_model_series *s;
	struct fb_price price;
	const char *stages;

	if (collective >= 0)
		algorithm = fb_algorithm_of_text((enum fb_collective)collective,
						 fb_cell_text(cell, "algorithm"), &stages);
	if (!algorithm || stages || !fb_cell_has_time(cell) || job.ranks < 2 ||
	    price_of(model, algorithm, is_direct(cell), job, &price))
		return;
	s = series_of(model, cell, algorithm);
	*FB_ADD(s->time, s->count) = (struct fb_model_time){
		price, block_bytes(algorithm->collective, cell->bytes, job.ranks), cell->us,
		job.ranks};
	s->least_bytes = cell->bytes < s->least_bytes ? cell->bytes : s->least_bytes;
	s->most_bytes = cell->bytes > s->most_bytes ? cell->bytes : s->most_bytes;
	s->least_ranks = job.ranks < s->least_ranks ? job.ranks : s->least_ranks;
	s->most_ranks = job.ranks > s->most_ranks ? job.ranks : s->most_ranks;
}

void fb_model_fit(struct fb_model *model, const struct fb_cells *cells)
{
	size_t kept = 0;

	for (size_t i = 0; i < cells->count; i++)
		add_cell(model, &cells->cell[i]);
	for (size_t i = 0; i < model->count; i++)
		if (model->series[i].count >= LEAST_TIMES && fit_series(&model->series[i]))
			model->series[kept++] = model->series[i];
	model->count = kept;
}

double fb_model_us(struct fb_model *model, const struct fb_model_series *s, uint64_t bytes,
		   struct fb_job job)
{
	struct fb_price price;

	if (price_of(model, s->algorithm, s->direct, job, &price))
		return (double)NAN;
	return model_us(&price, block_bytes(s->algorithm->collective, bytes, job.ranks), s->us);
}

double fb_expected_maximum(const double *x, size_t count, double draws)
{
	double sum = 0, below = 0;

	/* The greatest of k draws is at most x[i] with chance ((i + 1) / count)^k. */
	for (size_t i = 0; i < count; i++) {
		double chance = pow((double)(i + 1) / (double)count, draws);

		sum += x[i] * (chance - below);
		below = chance;
	}
	return sum;
}
