/* SPDX-License-Identifier: BSD-3-Clause */
/* Losses, and the cheapest sequence of choices; see choose.h. */
#include "scripts/tools/tune/choose.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>

/* Costs that decide between equal candidates: far less than any loss that counts. */
static const double per_channel = 1e-5, per_number = 1e-6, per_tie = 1e-5;

static const struct fb_tune_point *point_at(const struct fb_tune_problem *p, size_t context,
					    size_t size, size_t candidate)
{
	return &p->point[(context * p->nsizes + size) * p->ncandidates + candidate];
}

static bool takes_part(const bool *list, size_t i)
{
	return !list || list[i];
}

/* The quickest of those that take part; NULL where the context has no time at that size. */
static const struct fb_tune_point *best_at(const struct fb_tune_problem *p, size_t context,
					   size_t size)
{
	const struct fb_tune_point *best = NULL;

	for (size_t k = 0; k < p->ncandidates; k++) {
		const struct fb_tune_point *point = point_at(p, context, size, k);

		if (takes_part(p->candidate, k) && point->us > 0 &&
		    (!best || point->us < best->us))
			best = point;
	}
	return best;
}

/* Whether either median lies within the other's interval. */
static bool is_tie(const struct fb_tune_point *point, const struct fb_tune_point *best)
{
	return point->us <= best->us * (1 + FB_TUNE_MOST_TIE) &&
	       (point->us <= best->high_us || point->low_us <= best->us);
}

/* Sums over contexts; with `ties`, ties cost almost nothing. The contexts, or 0: not in all. */
static size_t sum_losses(const struct fb_tune_problem *p, size_t size, size_t candidate, bool ties,
			 double *loss, double *log_us)
{
	size_t n = 0;

	*loss = *log_us = 0;
	for (size_t c = 0; c < p->ncontexts; c++) {
		const struct fb_tune_point *point = point_at(p, c, size, candidate), *best;
		double ratio;

		best = takes_part(p->context, c) ? best_at(p, c, size) : NULL;
		if (!best)
			continue;
		if (!(point->us > 0))
			return 0;
		ratio = log(point->us / best->us);
		*loss += ties && is_tie(point, best) ? per_tie * ratio : ratio;
		*log_us += log(point->us);
		n++;
	}
	return n;
}

double fb_tune_excess(const struct fb_tune_problem *problem, size_t size, size_t candidate)
{
	double loss, log_us;
	size_t n = sum_losses(problem, size, candidate, false, &loss, &log_us);

	return n ? exp(loss / (double)n) - 1 : (double)INFINITY;
}

double fb_tune_time_us(const struct fb_tune_problem *problem, size_t size, size_t candidate)
{
	double loss, log_us;
	size_t n = sum_losses(problem, size, candidate, false, &loss, &log_us);

	return n ? exp(log_us / (double)n) : (double)NAN;
}

bool fb_tune_equals_best(const struct fb_tune_problem *p, size_t size, size_t candidate)
{
	bool equals = true;

	for (size_t c = 0; c < p->ncontexts && equals; c++) {
		const struct fb_tune_point *point = point_at(p, c, size, candidate);
		const struct fb_tune_point *best = takes_part(p->context, c) ? best_at(p, c, size)
									     : NULL;

		equals = !best || (point->us > 0 && is_tie(point, best));
	}
	return equals;
}

/* What choosing the candidate at that size costs; INFINITY: it cannot be chosen. */
static double cost_of(const struct fb_tune_problem *p, size_t size, size_t candidate)
{
	double loss, log_us;
	unsigned channels = 0;
	size_t n;

	if (!takes_part(p->candidate, candidate))
		return (double)INFINITY;
	n = sum_losses(p, size, candidate, true, &loss, &log_us);
	if (!n)
		return (double)INFINITY;
	for (size_t c = 0; c < p->ncontexts; c++) {
		const struct fb_tune_point *point = point_at(p, c, size, candidate);

		if (takes_part(p->context, c) && point->us > 0 && point->channels > channels)
			channels = point->channels;
	}
	return loss / (double)n + per_channel * channels +
	       per_number * (p->numbers ? p->numbers[candidate] : 0);
}

/* One size further: sum[] are the least sums that end in each candidate, from[] what was before. */
static void step(const struct fb_tune_problem *p, size_t size, bool first, double *sum, int *from)
{
	double change = log(1 + p->change);
	size_t best = 0;
	bool any = false;

	for (size_t k = 0; k < p->ncandidates; k++)
		if (sum[k] < sum[best])
			best = k;
	for (size_t k = 0; k < p->ncandidates; k++)
		any |= isfinite(cost_of(p, size, k));
	for (size_t k = 0; k < p->ncandidates; k++) {
		bool changes = !first && sum[best] + change < sum[k];

		from[k] = changes ? (int)best : (int)k;
		sum[k] = changes ? sum[best] + change : sum[k];
	}
	/* A size without any data decides nothing. */
	for (size_t k = 0; k < p->ncandidates && any; k++)
		sum[k] += cost_of(p, size, k);
}

void fb_tune_choose(const struct fb_tune_problem *problem, int *choice)
{
	size_t n = problem->ncandidates, last = 0;
	double *sum = fb_new(n + 1, sizeof(*sum));
	int *from = fb_new(n * problem->nsizes + 1, sizeof(*from)), k;

	for (size_t s = 0; s < problem->nsizes; s++)
		step(problem, s, s == 0, sum, from + s * n);
	for (size_t i = 0; i < n; i++)
		if (sum[i] < sum[last])
			last = i;
	k = (int)last;
	for (size_t s = problem->nsizes; n && s-- > 0;) {
		choice[s] = isfinite(cost_of(problem, s, (size_t)k)) ? k : -1;
		k = from[s * n + (size_t)k];
	}
	for (size_t s = 0; s < problem->nsizes && !n; s++)
		choice[s] = -1;
}
