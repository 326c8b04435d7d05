/* SPDX-License-Identifier: BSD-3-Clause */
/* What users feel; see account.h. */
#include "kvtransfer/serve/account.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/timeline.h"

static void add(struct fb_account *a, struct fb_series *s, double seconds)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 1024;
		double *more = realloc(s->value, room * sizeof(*more));

		if (!more) {
			a->err = FB_ENOMEM;
			return;
		}
		s->value = more;
		s->room = room;
	}
	s->value[s->n++] = seconds * 1e6;
}

void fb_account_close(struct fb_account *a)
{
	free(a->ttft.value);
	free(a->tpot.value);
	free(a->itl.value);
	free(a->queue.value);
	free(a->kv.value);
	*a = (struct fb_account){.requests = 0};
}

void fb_account_token(struct fb_account *a, struct fb_served *r, double now)
{
	if (r->tokens++)
		add(a, &a->itl, now - r->last);
	else
		r->first = now;
	r->last = now;
}

/* By the same comparisons as when all is over. */
static bool has_met(const struct fb_served *r, const struct fb_objective *objective)
{
	double tpot = r->tokens > 1 ? (r->last - r->first) / (r->tokens - 1) : 0;

	return r->first - r->planned <= objective->ttft_s && tpot <= objective->itl_s;
}

enum fb_fate fb_served_fate(const struct fb_served *r, const struct fb_objective *objective,
			    double now)
{
	double until = r->first + objective->itl_s * (r->output - 1.0);

	if (r->tokens && r->tokens >= r->output)
		return has_met(r, objective) ? FB_FATE_MET : FB_FATE_MISSED;
	if (!r->tokens)
		until = r->planned + objective->ttft_s;
	else if (r->first - r->planned > objective->ttft_s)
		return FB_FATE_MISSED;
	/* More than rounding: what is missed here is missed by has_met(), too. */
	return now > until + 1e-6 ? FB_FATE_MISSED : FB_FATE_OPEN;
}

enum fb_fate fb_share_fate(uint32_t met, uint32_t missed, uint32_t n, double wanted)
{
	if ((double)met / n >= wanted)
		return FB_FATE_MET;
	return (double)(n - missed) / n < wanted ? FB_FATE_MISSED : FB_FATE_OPEN;
}

double fb_account_replay(struct fb_account *a, const struct fb_served *served, uint32_t n,
			 const struct fb_objective *objective)
{
	double begin = INFINITY, end = 0;
	uint32_t met = 0, ended = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct fb_served *r = &served[i];
		double ttft = r->first - r->planned;

		if (r->tokens < r->output)
			continue;
		ended++;
		add(a, &a->ttft, ttft);
		add(a, &a->queue, r->prefilled - r->planned - r->compute);
		add(a, &a->kv, r->arrived - r->prefilled);
		if (r->tokens > 1)
			add(a, &a->tpot, (r->last - r->first) / (r->tokens - 1));
		a->ttft_sum += ttft;
		a->kv_sum += r->arrived - r->prefilled;
		a->tokens += r->tokens;
		met += has_met(r, objective);
		begin = fmin(begin, r->planned);
		end = fmax(end, r->last);
	}
	a->requests += ended;
	a->met += met;
	a->span += ended ? end - begin : 0;
	return n ? (double)met / n : 0;
}

int fb_account_trace(const struct fb_served *served, uint32_t n, const char *folder,
		     const char *row)
{
	static const char *const names[] = {"queue", "prefill", "kv", "decode"};
	enum { SPANS = sizeof(names) / sizeof(names[0]) };
	struct fb_timeline_span *span = calloc((size_t)n * SPANS + 1, sizeof(*span));
	size_t count = 0;
	int err;

	if (!span)
		return fb_error(FB_ENOMEM, "out of memory for the spans of %u requests", n);
	for (uint32_t i = 0; i < n; i++) {
		const struct fb_served *r = &served[i];
		const double moment[] = {r->planned, fmax(r->planned, r->prefilled - r->compute),
					 r->prefilled, r->arrived, r->last};

		for (int k = 0; k < SPANS; k++) {
			struct fb_timeline_span *s = &span[count];

			if (moment[k + 1] <= moment[k])
				continue;
			snprintf(s->lane, sizeof(s->lane), "request %u", i);
			snprintf(s->name, sizeof(s->name), "%s", names[k]);
			s->begin_us = moment[k] * 1e6;
			s->end_us = moment[k + 1] * 1e6;
			count++;
		}
	}
	err = fb_timeline_append("trace-out", folder, row, span, count,
				 n ? served[0].planned * 1e6 : 0, 0);
	free(span);
	return err;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double fb_series_quantile(struct fb_series *s, double q)
{
	size_t floor = q <= 0.5 ? 1 : q <= 0.95 ? FB_MIN_SAMPLES_P95 : FB_MIN_SAMPLES_P99;

	if (s->n < floor)
		return (double)NAN;
	qsort(s->value, s->n, sizeof(*s->value), by_size);
	return fb_sorted_quantile(s->value, s->n, q);
}

void fb_series_interval(const struct fb_series *s, size_t repetitions, double result[3])
{
	double *sorted = calloc(s->n + 1, sizeof(*sorted));
	size_t low, high;

	if (sorted && s->n) {
		bool ends = s->n >= repetitions &&
			    fb_median_ci_ranks(s->n, (double)s->n, &low, &high);

		memcpy(sorted, s->value, s->n * sizeof(*sorted));
		qsort(sorted, s->n, sizeof(*sorted), by_size);
		result[0] = fb_sorted_median(sorted, s->n);
		result[1] = ends ? sorted[low - 1] : (double)NAN;
		result[2] = ends ? sorted[high - 1] : (double)NAN;
	}
	free(sorted);
}
