/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes how slow each set of nodes was, over many experiments; see node_sets.h. */
#include "common/measure/stats.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/node_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ratio {
	size_t set;
	double value;
};

/* Room for what is worked on: each array for as many as there are times. */
struct work {
	const struct fb_node_sets *sets;
	struct ratio *ratio; /* of all experiments so far */
	size_t count;
	double *x, *scratch; /* [ntimes], [2 * ntimes] */
};

/* The times of one experiment, time[0 .. n): a ratio for each set in it. */
static void add_experiment(struct work *work, const struct fb_node_time *time, size_t n)
{
	struct ratio *ratio = work->ratio + work->count;
	size_t count = 0;
	double base;

	for (size_t first = 0, next; first < n; first = next) {
		for (next = first; next < n && time[next].set == time[first].set; next++)
			work->x[next - first] = time[next].us;
		ratio[count++] = (struct ratio){
			.set = time[first].set,
			.value = fb_median(work->x, next - first, work->scratch),
		};
	}
	for (size_t i = 0; i < count; i++)
		work->x[i] = ratio[i].value;
	base = fb_median(work->x, count, work->scratch);
	for (size_t i = 0; i < count; i++)
		ratio[i].value /= base;
	work->count += count;
}

static int compare_ratios(const void *x, const void *y)
{
	const struct ratio *a = x, *b = y;

	return (a->set > b->set) - (a->set < b->set);
}

static void join(struct work *work, double *out)
{
	for (size_t i = 0; i < work->sets->nsets; i++)
		out[i] = (double)NAN;
	qsort(work->ratio, work->count, sizeof(*work->ratio), compare_ratios);
	for (size_t first = 0, next; first < work->count; first = next) {
		size_t set = work->ratio[first].set;

		for (next = first; next < work->count && work->ratio[next].set == set; next++)
			work->x[next - first] = work->ratio[next].value;
		out[set] = fb_median(work->x, next - first, work->scratch);
	}
}

static size_t add_experiments(struct work *work, uint64_t low, uint64_t high)
{
	const struct fb_node_time *time = work->sets->time;
	size_t n = work->sets->ntimes, experiments = 0;

	for (size_t first = 0, next; first < n; first = next) {
		for (next = first; next < n && !strcmp(time[next].key, time[first].key);)
			next++;
		if (time[first].bytes < low || time[first].bytes > high ||
		    time[first].set == time[next - 1].set)
			continue;
		add_experiment(work, time + first, next - first);
		experiments++;
	}
	return experiments;
}

void fb_node_sets_ratios(const struct fb_node_sets *sets, uint64_t low, uint64_t high, double *out,
			 size_t *experiments)
{
	struct work work = {
		.sets = sets,
		.ratio = fb_new(sets->ntimes + 1, sizeof(*work.ratio)),
		.x = fb_new(sets->ntimes + 1, sizeof(*work.x)),
		.scratch = fb_new((sets->ntimes + 1) * 2, sizeof(*work.scratch)),
	};

	*experiments = add_experiments(&work, low, high);
	join(&work, out);
}

double fb_node_sets_by_switches(const struct fb_node_sets *sets, const double *ratio,
				size_t switches, size_t *count)
{
	double *x = fb_new((sets->nsets + 1) * 3, sizeof(*x));

	*count = 0;
	for (size_t i = 0; i < sets->nsets; i++)
		if (sets->set[i].switches == switches && isfinite(ratio[i]))
			x[(*count)++] = ratio[i];
	return *count ? fb_median(x, *count, x + sets->nsets + 1) : (double)NAN;
}
