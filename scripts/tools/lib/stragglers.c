/* SPDX-License-Identifier: BSD-3-Clause */
/* Naming slow ranks, links and nodes by median polish; see stragglers.h. */
#include "common/measure/stats.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/stragglers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * How many standard deviations an excess must be: of a link, one of n (n - 1); of a rank, one of
 * 2 n, whose deviation is that of a median of n - 1. tests/unit/test_stragglers.c counts what noise
 * alone names by them.
 */
static const double link_factor = 6, rank_factor = 5, median_scale = 1.2533, few = 12;

enum { ROUNDS_MAX = 20 };

struct polish {
	size_t n;
	const size_t *host;
	double threshold;		  /* of logarithms */
	double *rest;			  /* [n * n]: logarithms, then what effects leave of them */
	double *sends, *receives;	  /* [n] effects */
	double *x, *scratch;		  /* [n * n], [2 * n * n] */
	double deviation;		  /* of rests */
	bool mirrored;			  /* one direction stands for both */
	bool *slow_sends, *slow_receives; /* [n] */
};

static bool same_host(const struct polish *p, size_t a, size_t b)
{
	return !p->host || p->host[a] == p->host[b];
}

/* Logarithms, more is slower. The diagonal is no link. */
static void take_logarithms(struct polish *p, const double *time, bool rate)
{
	size_t n = p->n;

	p->mirrored = true;
	for (size_t i = 0; i < n * n; i++) {
		bool usable = isfinite(time[i]) && time[i] > 0 && i / n != i % n;

		p->rest[i] = !usable ? (double)NAN : rate ? -log(time[i]) : log(time[i]);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			p->mirrored &= isnan(p->rest[i * n + j]) || isnan(p->rest[j * n + i]);
	for (size_t i = 0; i < n && p->mirrored; i++)
		for (size_t j = 0; j < n; j++)
			if (isnan(p->rest[i * n + j]))
				p->rest[i * n + j] = p->rest[j * n + i];
}

/* Takes out what is common to pairs of one host, or of two. */
static void take_common(struct polish *p, bool one_host)
{
	size_t found = 0;
	double median;

	for (size_t i = 0; i < p->n * p->n; i++)
		if (isfinite(p->rest[i]) && same_host(p, i / p->n, i % p->n) == one_host)
			p->x[found++] = p->rest[i];
	if (!found)
		return;
	median = fb_median(p->x, found, p->scratch);
	for (size_t i = 0; i < p->n * p->n; i++)
		if (same_host(p, i / p->n, i % p->n) == one_host)
			p->rest[i] -= median;
}

/* Takes the medians of rows (or columns) out; returns the largest. */
static double take_lines(struct polish *p, bool rows)
{
	double *effect = rows ? p->sends : p->receives, largest = 0;
	size_t n = p->n;

	for (size_t i = 0; i < n; i++) {
		size_t found = 0;
		double median;

		for (size_t k = 0; k < n; k++) {
			double rest = p->rest[rows ? i * n + k : k * n + i];

			if (isfinite(rest))
				p->x[found++] = rest;
		}
		if (!found)
			continue;
		median = fb_median(p->x, found, p->scratch);
		effect[i] += median;
		for (size_t k = 0; k < n; k++)
			p->rest[rows ? i * n + k : k * n + i] -= median;
		largest = fmax(largest, fabs(median));
	}
	return largest;
}

/* Subtracts the median of all effects, because it is common to all ranks. */
static void centre(struct polish *p, double *effect)
{
	double median;

	memcpy(p->x, effect, p->n * sizeof(*effect));
	median = fb_median(p->x, p->n, p->scratch);
	for (size_t i = 0; i < p->n; i++)
		effect[i] -= median;
}

static double spread(struct polish *p, const double *value, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(value[i]))
			p->x[found++] = value[i];
	return found ? fb_spread(p->x, found, 0, p->scratch) : 0;
}

static void fit(struct polish *p)
{
	double cells = 0, spent = (p->mirrored ? 1 : 2) * (double)p->n, left;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		double rows, columns;

		take_common(p, true);
		take_common(p, false);
		rows = take_lines(p, true);
		columns = take_lines(p, false);
		if (fmax(rows, columns) < 1e-6)
			break;
	}
	centre(p, p->sends);
	centre(p, p->receives);
	for (size_t i = 0; i < p->n * p->n; i++)
		cells += isfinite(p->rest[i]) ? 1 : 0;
	/*
	 * Effects also fit part of the noise, which is then missing in the rests. The scatter of
	 * few rests is uncertain itself; the second factor is for that, as Student's t is wider.
	 */
	cells /= p->mirrored ? 2 : 1;
	left = fmax(cells - spent, 1);
	p->deviation =
		spread(p, p->rest, p->n * p->n) * sqrt(cells / left) * (1 + pow(few / left, 3));
}

/* How many pairs of a rank are known. The median of fewer than three is one of the pairs. */
static size_t known(const struct polish *p, size_t rank, bool row)
{
	size_t found = 0;

	for (size_t k = 0; k < p->n; k++)
		found += isfinite(p->rest[row ? rank * p->n + k : k * p->n + rank]) ? 1 : 0;
	return found;
}

static void judge_ranks(struct polish *p)
{
	double of_median = p->deviation * median_scale / sqrt((double)p->n - 1);
	double among_sends = fmax(of_median, spread(p, p->sends, p->n));
	double among_receives = fmax(of_median, spread(p, p->receives, p->n));

	for (size_t i = 0; i < p->n; i++) {
		p->slow_sends[i] = known(p, i, true) >= 3 &&
				   p->sends[i] > fmax(p->threshold, rank_factor * among_sends);
		p->slow_receives[i] =
			known(p, i, false) >= 3 &&
			p->receives[i] > fmax(p->threshold, rank_factor * among_receives);
	}
}

/* Whether all ranks of a host, two at least, are slow, but not all ranks there are. */
static bool slow_host(const struct polish *p, size_t host, double *excess)
{
	size_t ranks = 0;

	*excess = 0;
	for (size_t i = 0; p->host && i < p->n; i++) {
		if (p->host[i] != host)
			continue;
		if (!p->slow_sends[i] && !p->slow_receives[i])
			return false;
		*excess += fmax(p->sends[i], p->receives[i]);
		ranks++;
	}
	*excess /= ranks ? (double)ranks : 1;
	return ranks >= 2 && ranks < p->n;
}

static void add_ranks(const struct polish *p, struct fb_stragglers *stragglers)
{
	for (size_t i = 0; i < p->n; i++) {
		bool sends = p->slow_sends[i], receives = p->slow_receives[i];
		struct fb_straggler found = {.from = i};
		double excess;

		if (!sends && !receives)
			continue;
		if (p->host && slow_host(p, p->host[i], &excess)) {
			size_t first = 0;

			while (p->host[first] != p->host[i])
				first++;
			if (first != i)
				continue;
			found.kind = FB_STRAGGLER_NODE;
			found.from = p->host[i];
		} else if (sends && receives) {
			found.kind = FB_STRAGGLER_RANK;
			excess = (p->sends[i] + p->receives[i]) / 2;
		} else {
			found.kind = sends ? FB_STRAGGLER_SENDER : FB_STRAGGLER_RECEIVER;
			excess = sends ? p->sends[i] : p->receives[i];
		}
		found.times = exp(excess);
		*FB_ADD(stragglers->item, stragglers->count) = found;
	}
}

/*
 * Where as many pairs are too quick as are too slow, there are two kinds of pairs, and neither kind
 * is at fault. A pair of two slow ranks takes less than the sum of their effects and is not
 * counted.
 */
static bool two_kinds(const struct polish *p, double limit)
{
	size_t quick = 0, slow = 0;

	for (size_t i = 0; i < p->n * p->n; i++) {
		size_t from = i / p->n, to = i % p->n;

		slow += p->rest[i] > limit ? 1 : 0;
		quick += p->rest[i] < -limit && !p->slow_sends[from] && !p->slow_receives[to];
	}
	return quick >= slow;
}

static void add_links(const struct polish *p, struct fb_stragglers *stragglers)
{
	double limit = fmax(p->threshold, link_factor * p->deviation);
	size_t n = p->n;

	if (two_kinds(p, limit))
		return;
	for (size_t i = 0; i < n * n; i++) {
		size_t from = i / n, to = i % n;
		double back = p->rest[to * n + from];
		bool both = back > limit;

		if (!(p->rest[i] > limit) || (both && to < from))
			continue;
		*FB_ADD(stragglers->item, stragglers->count) = (struct fb_straggler){
			.kind = FB_STRAGGLER_LINK,
			.from = from,
			.to = to,
			.both = both,
			.times = exp(both ? (p->rest[i] + back) / 2 : p->rest[i]),
		};
	}
}

static int compare_stragglers(const void *x, const void *y)
{
	const struct fb_straggler *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->times > b->times ? -1 : a->times < b->times;
}

void fb_stragglers_find(struct fb_stragglers *stragglers, const double *time, size_t n, bool rate,
			const size_t *host, double threshold)
{
	double *memory = fb_new(4 * n * n + 2 * n + 1, sizeof(*memory));
	bool *slow = fb_new(2 * n + 1, sizeof(*slow));
	struct polish p = {
		.n = n,
		.host = host,
		.threshold = log1p(threshold),
		.rest = memory,
		.x = memory + n * n,
		.scratch = memory + 2 * n * n,
		.sends = memory + 4 * n * n,
		.receives = memory + 4 * n * n + n,
		.slow_sends = slow,
		.slow_receives = slow + n,
	};

	*stragglers = (struct fb_stragglers){.count = 0};
	if (n < FB_STRAGGLER_RANKS_MIN)
		return;
	take_logarithms(&p, time, rate);
	fit(&p);
	judge_ranks(&p);
	add_ranks(&p, stragglers);
	add_links(&p, stragglers);
	if (stragglers->count)
		qsort(stragglers->item, stragglers->count, sizeof(*stragglers->item),
		      compare_stragglers);
}

/* "3", or "3 (GPU 1 at 0000:61:00.0)". */
static const char *rank_text(size_t rank, const char *const *devices, char buf[96])
{
	const char *device = devices ? devices[rank] : NULL;

	snprintf(buf, 96, "%zu%s%.64s%s", rank, device ? " (" : "", device ? device : "",
		 device ? ")" : "");
	return buf;
}

const char *fb_straggler_text(const struct fb_straggler *straggler, const char *const *hosts,
			      const char *const *devices, char buf[FB_STRAGGLER_CHARS])
{
	static const char *const what[] = {
		[FB_STRAGGLER_RANK] = "is slow",
		[FB_STRAGGLER_SENDER] = "sends slowly",
		[FB_STRAGGLER_RECEIVER] = "receives slowly",
	};
	char who[FB_STRAGGLER_CHARS - 24], from[96], to[96];

	if (straggler->kind == FB_STRAGGLER_NODE && hosts)
		snprintf(who, sizeof(who), "node %.48s is slow", hosts[straggler->from]);
	else if (straggler->kind == FB_STRAGGLER_NODE)
		snprintf(who, sizeof(who), "node %zu is slow", straggler->from);
	else if (straggler->kind == FB_STRAGGLER_LINK)
		snprintf(who, sizeof(who), "the link %s %s %s is slow",
			 rank_text(straggler->from, devices, from), straggler->both ? "-" : "to",
			 rank_text(straggler->to, devices, to));
	else
		snprintf(who, sizeof(who), "rank %s %s", rank_text(straggler->from, devices, from),
			 what[straggler->kind]);
	snprintf(buf, FB_STRAGGLER_CHARS, "%s: %.3g times", who, straggler->times);
	return buf;
}
