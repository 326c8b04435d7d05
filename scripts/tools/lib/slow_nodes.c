/* SPDX-License-Identifier: BSD-3-Clause */
/* Naming slow nodes and links; see slow_nodes.h. */
#include "common/measure/stats.h"
#include "scripts/tools/lib/slow_nodes.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <string.h>

/* So many standard deviations make an outlier. */
static const double scatter_factor = 4;

/* Fewer sets do not show their scatter, so the excess must then be that many thresholds. */
enum { SETS_MIN = 3, FACTOR_FEW = 5 };

struct work {
	const struct fb_timed_set *set;
	size_t nsets;
	bool *active;	  /* [nsets]: has a time, and no node named so far */
	double *x, *with; /* [nsets] */
	double *scratch;  /* [2 * nsets] */
};

static bool contains(const struct fb_timed_set *set, size_t node)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->node[i] == node)
			return true;
	return false;
}

/* Sorted into work->x: times of active sets with (or without) a node, or of all. */
static size_t collect(const struct work *work, size_t node, bool with)
{
	size_t n = 0;

	for (size_t i = 0; i < work->nsets; i++)
		if (work->active[i] && contains(&work->set[i], node) == with)
			work->x[n++] = work->set[i].time;
	fb_sort(work->x, n, work->scratch);
	return n;
}

static size_t collect_all(const struct work *work)
{
	return collect(work, (size_t)-1, false);
}

/* The time of a set that nothing impairs. With 3 nodes, two of the 3 pairs may hold a slow one. */
static double reference(const struct work *work)
{
	size_t n = collect_all(work);

	return n ? work->x[(n - 1) / 3] : (double)NAN;
}

/* The time above which a set is an outlier of x[0 .. n), which is sorted and overwritten. */
static double limit_of(const struct work *work, size_t n, double threshold)
{
	double median = fb_sorted_median(work->x, n);

	if (n < SETS_MIN)
		return median * (1 + FACTOR_FEW * threshold);
	return median + fmax(threshold * median,
			     scatter_factor * fb_spread(work->x, n, median, work->scratch));
}

/* Sets the scores of all nodes not named yet; returns the one that scores highest, or nnodes. */
static size_t score(const struct work *work, struct fb_node_score *node, size_t nnodes)
{
	double base = reference(work);
	size_t worst = nnodes;

	for (size_t i = 0; i < nnodes; i++) {
		size_t n;

		if (node[i].slow)
			continue;
		n = collect(work, i, true);
		if (n < 2)
			continue;
		node[i].score = work->x[(n - 1) / 2] / base;
		if (worst == nnodes || node[i].score > node[worst].score)
			worst = i;
	}
	return worst;
}

/*
 * One-sided p of Mann-Whitney's test that the n sets of a node, with[0 .. n), are not slower than
 * x[0 .. m), times `nodes`. By its normal approximation with correction for continuity, which for
 * the fewest sets that matter (3 and 3) gives 0.040 in place of 0.050.
 */
static double chance_of(const double *with, size_t n, const double *x, size_t m, size_t nodes)
{
	double u = 0, mean = (double)n * (double)m / 2;
	double deviation = sqrt((double)n * (double)m * (double)(n + m + 1) / 12);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			u += with[i] > x[j] ? 1 : with[i] < x[j] ? 0 : 0.5;
	return fmin(1, (double)nodes * 0.5 * erfc((u - mean - 0.5) / deviation / sqrt(2)));
}

/* Names the worst node and takes its sets away. Returns whether there was one. */
static bool name_one(const struct work *work, double threshold, struct fb_node_score *node,
		     size_t nnodes)
{
	size_t worst = score(work, node, nnodes), n, nwith;
	double base = reference(work);

	if (worst == nnodes)
		return false;
	nwith = collect(work, worst, true);
	memcpy(work->with, work->x, nwith * sizeof(*work->with));
	n = collect(work, worst, false);
	if (n == 0)
		return false;
	node[worst].chance = chance_of(work->with, nwith, work->x, n, nnodes);
	if (node[worst].score * base <= limit_of(work, n, threshold))
		return false;
	node[worst].slow = true;
	for (size_t i = 0; i < work->nsets; i++)
		if (contains(&work->set[i], worst))
			work->active[i] = false;
	return true;
}

static void judge(struct work *work, double threshold, struct fb_node_score *node, size_t nnodes,
		  bool *slow_set)
{
	double limit;
	size_t n;

	for (size_t i = 0; i < work->nsets; i++)
		work->active[i] = isfinite(work->set[i].time) && work->set[i].count < nnodes;
	for (size_t i = 0; i < nnodes; i++)
		node[i] = (struct fb_node_score){
			.sets = collect(work, i, true),
			.score = (double)NAN,
		};
	while (name_one(work, threshold, node, nnodes))
		;
	n = collect_all(work);
	limit = n ? limit_of(work, n, threshold) : (double)INFINITY;
	for (size_t i = 0; i < work->nsets; i++)
		slow_set[i] = work->active[i] && work->set[i].time > limit;
}

void fb_find_slow_nodes(const struct fb_timed_set *set, size_t nsets, double threshold,
			struct fb_node_score *node, size_t nnodes, bool *slow_set)
{
	struct work work = {
		.set = set,
		.nsets = nsets,
		.active = fb_new(nsets + 1, sizeof(*work.active)),
		.x = fb_new(nsets + 1, sizeof(*work.x)),
		.with = fb_new(nsets + 1, sizeof(*work.with)),
		.scratch = fb_new((nsets + 1) * 2, sizeof(*work.scratch)),
	};

	judge(&work, threshold, node, nnodes, slow_set);
}
