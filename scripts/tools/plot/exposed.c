/* SPDX-License-Identifier: BSD-3-Clause */
/* See exposed.h. */
#include "scripts/tools/plot/exposed.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool same_rank(const struct fb_span *a, const struct fb_span *b)
{
	return a->rank == b->rank && !strcmp(a->row, b->row);
}

double fb_exposed_of(const struct fb_spans *spans, size_t i, double from_us, fb_exposed_part part,
		     void *data)
{
	const struct fb_span *s = &spans->span[i];
	double at = fmax(from_us, s->begin_us), sum = 0;

	if (s->kind != FB_SPAN_COMMUNICATES)
		return 0;
	for (size_t k = 0; k < spans->count && at < s->end_us; k++) {
		const struct fb_span *c = &spans->span[k];
		double until = fmin(c->begin_us, s->end_us);

		if (c->kind != FB_SPAN_COMPUTES || c->end_us <= at || !same_rank(c, s))
			continue;
		if (part && until > at)
			part(data, at, until);
		sum += fmax(until - at, 0);
		at = c->end_us;
	}
	if (part && at < s->end_us)
		part(data, at, s->end_us);
	return sum + fmax(s->end_us - at, 0);
}

/* The rank and row of span `first`. */
static struct fb_exposed measure(const struct fb_spans *spans, size_t first)
{
	struct fb_exposed e = {.rank = spans->span[first].rank};
	double covered = -INFINITY;

	for (size_t i = first; i < spans->count; i++) {
		const struct fb_span *s = &spans->span[i];

		if (s->kind != FB_SPAN_COMMUNICATES || s->end_us <= covered ||
		    !same_rank(s, &spans->span[first]))
			continue;
		e.communication_us += s->end_us - fmax(s->begin_us, covered);
		e.exposed_us += fb_exposed_of(spans, i, covered, NULL, NULL);
		covered = s->end_us;
	}
	return e;
}

struct fb_exposed fb_exposed_most(const struct fb_spans *spans, const char *row)
{
	struct fb_exposed most = {.exposed_us = -1};

	for (size_t i = 0; i < spans->count; i++) {
		size_t k = 0;

		while (k < i && !same_rank(&spans->span[k], &spans->span[i]))
			k++;
		if (k == i && !strcmp(spans->span[i].row, row)) {
			struct fb_exposed e = measure(spans, i);

			most = e.exposed_us > most.exposed_us ? e : most;
		}
	}
	return most;
}
