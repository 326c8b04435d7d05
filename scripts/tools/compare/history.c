/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Change points; see history.h.
 *
 * All sums are of differences of doubled ranks, which are whole numbers, so that equal splits have
 * equal sums. Let before(i) be the sum of |x_i - x_j| over j < i, and total(i) over all j. One pass
 * over these gives, for every split, the sums within both parts and between them. A Fenwick tree of
 * counts and sums by rank gives both, so a stretch of n nights costs n log n.
 *
 * A stretch that goes up and comes down again has no single split that explains it, so the end of
 * the second part is searched for as well (as in the paper), on a grid. Points found while others
 * were still unknown are moved to where they fit best between their neighbours.
 */
#include "scripts/tools/compare/history_search.h"

#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/family.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"

static const double default_max_p = 0.001;
enum { DEFAULT_PART = 5, LEAST_DRAWS = 999, ENDS = 16, REFINEMENTS = 3 };

static void tree_add(struct fb_history_search *s, size_t n, size_t place, int64_t value)
{
	for (; place <= n; place += place & -place) {
		s->count[place]++;
		s->sum[place] += value;
	}
}

/* The sum of |value - v| over all v in the tree, of which there are `added`, `all` in sum. */
static int64_t tree_distance(const struct fb_history_search *s, size_t place, int64_t value,
			     int64_t added, int64_t all)
{
	int64_t count = 0, sum = 0;

	for (; place > 0; place -= place & -place) {
		count += s->count[place];
		sum += s->sum[place];
	}
	return value * count - sum + (all - sum) - value * (added - count);
}

struct split {
	size_t at;    /* nights in the first part; 0: too few nights to split */
	double score; /* energy distance of the parts, weighted by their lengths */
};

static void clear_tree(struct fb_history_search *s, size_t places)
{
	memset(s->count, 0, (places + 1) * sizeof(*s->count));
	memset(s->sum, 0, (places + 1) * sizeof(*s->sum));
}

/* Sets total[0 .. n) of the first n nights, with so many places; returns half of their sum. */
static int64_t sum_distances(struct fb_history_search *s, size_t n, size_t places)
{
	int64_t all = 0, twice = 0;

	clear_tree(s, places);
	for (size_t i = 0; i < n; i++) {
		tree_add(s, places, s->nights[i].place, s->nights[i].rank2);
		all += s->nights[i].rank2;
	}
	for (size_t i = 0; i < n; i++) {
		const struct fb_history_night *night = &s->nights[i];

		s->total[i] = tree_distance(s, night->place, night->rank2, (int64_t)n, all);
		twice += s->total[i];
	}
	return twice / 2;
}

/* The best split of the first n nights of a stretch with so many places. */
static struct split split_first(struct fb_history_search *s, size_t n, size_t places)
{
	struct split best = {.score = -(double)INFINITY};
	int64_t pairs = sum_distances(s, n, places), inside = 0, across = 0, all = 0;

	clear_tree(s, places);
	for (size_t i = 0; i + s->least_part < n; i++) {
		const struct fb_history_night *night = &s->nights[i];
		int64_t before = tree_distance(s, night->place, night->rank2, (int64_t)i, all);
		double a = (double)(i + 1), b = (double)(n - i - 1);

		tree_add(s, places, night->place, night->rank2);
		all += night->rank2;
		inside += before;
		across += s->total[i] - 2 * before;
		if (i + 1 < s->least_part)
			continue;
		double rest = (double)(pairs - inside - across);
		double energy = 2 * (double)across / (a * b) - 2 * (double)inside / (a * (a - 1)) -
				2 * rest / (b * (b - 1));

		if (a * b / (a + b) * energy > best.score)
			best = (struct split){.at = i + 1, .score = a * b / (a + b) * energy};
	}
	return best;
}

/* The best split over all ends of the second part. */
static struct split best_split(struct fb_history_search *s, size_t n)
{
	struct split best = split_first(s, n, n);
	size_t step = n / ENDS > 0 ? n / ENDS : 1;

	for (size_t end = n - step; end >= 2 * s->least_part && end > step; end -= step) {
		struct split split = split_first(s, end, n);

		if (split.score > best.score)
			best = split;
	}
	return best;
}

static void rank_nights(struct fb_history_search *s, size_t first, size_t n)
{
	memcpy(s->sorted, s->y + first, n * sizeof(*s->sorted));
	fb_sort(s->sorted, n, s->sorted + n);
	for (size_t i = 0, next; i < n; i = next) {
		next = i + 1;
		while (next < n && s->sorted[next] == s->sorted[i])
			next++;
		for (size_t j = 0; j < n; j++)
			if (s->y[first + j] == s->sorted[i])
				s->nights[j] = (struct fb_history_night){
					.rank2 = (int64_t)(i + next + 1),
					.place = i + 1,
				};
	}
}

double fb_history_median(struct fb_history_search *s, size_t from, size_t to)
{
	memcpy(s->sorted, s->y + from, (to - from) * sizeof(*s->sorted));
	fb_sort(s->sorted, to - from, s->sorted + (to - from));
	return fb_sorted_median(s->sorted, to - from);
}

/*
 * The split at which means differ most, if they differ by more than independent nights would; 0:
 * there is none. Ranks alone need some ten nights on either side to find a change. Outliers are
 * pulled in.
 */
static size_t shift_split(struct fb_history_search *s, size_t first, size_t n)
{
	static const double wild = 5, clear = 4;
	double middle = fb_history_median(s, first, first + n), all = 0, sum = 0, most = 0;
	double *y = s->residual, spread;
	size_t best = 0;

	memcpy(y, s->y + first, n * sizeof(*y));
	spread = fmax(fb_spread(y, n, middle, s->sorted), FB_FAMILY_LEAST_SD);
	for (size_t i = 0; i < n; i++) {
		y[i] = fmin(fmax((s->y[first + i] - middle) / spread, -wild), wild);
		all += y[i];
	}
	for (size_t i = 0; i + s->least_part < n; i++) {
		double a = (double)(i + 1), b = (double)(n - i - 1);

		sum += y[i];
		if (i + 1 < s->least_part)
			continue;
		double t = fabs(sum / a - (all - sum) / b) * sqrt(a * b / (a + b));

		if (t > most) {
			most = t;
			best = i + 1;
		}
	}
	return most > clear ? best : 0;
}

/*
 * Finds the points of nights first .. first + n - 1. Most stretches have none, and then a few
 * random orders are enough to see it.
 */
static void search(struct fb_history_search *s, size_t first, size_t n)
{
	size_t as_good = 0, at;

	if (n < 2 * s->least_part)
		return;
	at = shift_split(s, first, n);
	if (at == 0) {
		struct split real;

		rank_nights(s, first, n);
		real = best_split(s, n);
		at = real.at;
		for (size_t i = 0; i < s->draws && as_good <= s->allowed; i++) {
			fb_shuffle(s->nights, n, sizeof(*s->nights), &s->rng);
			as_good += best_split(s, n).score >= real.score - 1e-9 * fabs(real.score);
		}
	}
	if (as_good > s->allowed)
		return;
	search(s, first, at);
	s->change[s->changes++] = (struct fb_change){.first = first + at};
	search(s, first + at, n - at);
}

/* Measures the change at every point, given its neighbours. */
static void measure_changes(struct fb_history_search *s, size_t n)
{
	for (size_t i = 0; i < s->changes; i++) {
		struct fb_change *change = &s->change[i];
		size_t from = i > 0 ? change[-1].first : 0;
		size_t to = i + 1 < s->changes ? change[1].first : n;
		double before = fb_history_median(s, from, change->first);
		double after = fb_history_median(s, change->first, to);

		change->before_us = exp(before);
		change->after_us = exp(after);
		change->ratio = exp(after - before);
	}
}

/* Moves every point to the best split between its neighbours, until none moves. */
static void refine(struct fb_history_search *s, size_t n)
{
	bool moved = true;

	for (int i = 0; i < REFINEMENTS && moved; i++) {
		moved = false;
		for (size_t k = 0; k < s->changes; k++) {
			size_t from = k > 0 ? s->change[k - 1].first : 0;
			size_t to = k + 1 < s->changes ? s->change[k + 1].first : n;

			rank_nights(s, from, to - from);
			size_t first = from + split_first(s, to - from, to - from).at;

			moved = moved || first != s->change[k].first;
			s->change[k].first = first;
		}
	}
}

void fb_history_refit(struct fb_history_search *s, size_t n)
{
	refine(s, n);
	measure_changes(s, n);
}

static int check_input(const double *y, size_t n, const struct fb_history_options *o)
{
	if (!(o->max_p > 0 && o->max_p < 1))
		return fb_error(FB_EINPUT,
				"the largest p is %g, accepted is more than 0 and less "
				"than 1",
				o->max_p);
	if (!(o->theta >= 0))
		return fb_error(FB_EINPUT, "the least change is %g, accepted is 0 or more",
				o->theta);
	if (o->least_part < 2)
		return fb_error(FB_EINPUT, "a part has at least 2 nights, not %zu", o->least_part);
	for (size_t i = 0; i < n; i++)
		if (!isfinite(y[i]))
			return fb_error(FB_EINPUT, "the value of night %zu is %g", i, y[i]);
	return FB_OK;
}

/* Draws so that the least p they can give is no more than max_p. */
static size_t enough_draws(double max_p)
{
	double draws = ceil(1 / max_p * (1 - 1e-12)) - 1;

	return draws < LEAST_DRAWS ? LEAST_DRAWS : (size_t)draws;
}

int fb_history(const double *y, size_t n, const struct fb_history_options *options,
	       struct fb_change *out, size_t *count)
{
	struct fb_history_options o = *options;
	struct fb_history_search s = {.y = y};
	int ret;

	if (o.max_p == 0)
		o.max_p = default_max_p;
	if (o.least_part == 0)
		o.least_part = DEFAULT_PART;
	ret = check_input(y, n, &o);
	if (ret)
		return ret;
	s.least_part = o.least_part;
	s.alpha = o.alpha > 0 ? o.alpha : FB_ALPHA;
	s.rows = o.rows > 0 ? o.rows : 1;
	s.draws = o.draws > 0 ? o.draws : enough_draws(o.max_p);
	double accepted = floor(o.max_p * (double)(s.draws + 1) * (1 + 1e-12));

	if (accepted < 1)
		return fb_error(FB_EINPUT, "%zu draws cannot give a p of %g", s.draws, o.max_p);
	s.allowed = (size_t)accepted - 1;
	fb_rng_seed(&s.rng, o.seed);
	s.sorted = fb_new(2 * n + 1, sizeof(*s.sorted));
	s.nights = fb_new(n + 1, sizeof(*s.nights));
	s.count = fb_new(n + 1, sizeof(*s.count));
	s.sum = fb_new(n + 1, sizeof(*s.sum));
	s.residual = fb_new(n + 1, sizeof(*s.residual));
	s.total = fb_new(n + 1, sizeof(*s.total));
	s.change = fb_new(n / o.least_part + 1, sizeof(*s.change));
	search(&s, 0, n);
	fb_history_keep(&s, n, o.theta);
	memcpy(out, s.change, s.changes * sizeof(*out));
	*count = s.changes;
	fb_drop_since(s.sorted);
	return FB_OK;
}
