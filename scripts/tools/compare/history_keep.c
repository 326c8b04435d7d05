/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which change points to keep; see history.h. */
#include "scripts/tools/compare/history_search.h"

#include <math.h>
#include <string.h>

#include "common/measure/stats.h"
#include "scripts/tools/compare/family.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"

/* The residuals of the nights without the changes, and how far neighbours are correlated. */
struct residuals {
	double spread; /* standard deviation, by MAD; at least FB_FAMILY_LEAST_SD */
	double alike;  /* lag-1 correlation, 0 at least */
};

static struct residuals residuals(struct fb_history_search *s, size_t n)
{
	static const double most_alike = 0.9;
	double *distance = fb_new(n + 1, sizeof(*distance));
	struct residuals r;
	size_t from = 0;

	for (size_t i = 0; i <= s->changes; i++) {
		size_t to = i < s->changes ? s->change[i].first : n;
		double middle = fb_history_median(s, from, to);

		for (; from < to; from++)
			s->residual[from] = s->y[from] - middle;
	}
	memcpy(distance, s->residual, n * sizeof(*distance));
	r.spread = fmax(fb_spread(distance, n, 0, s->sorted), FB_FAMILY_LEAST_SD);
	fb_drop(distance);
	/* An outlier would hide that the others are correlated. */
	for (size_t i = 0; i < n; i++)
		s->residual[i] = fmin(fmax(s->residual[i], -3 * r.spread), 3 * r.spread);
	r.alike = fb_autocorrelation(s->residual, n);
	/* Subtracting the middle of each stretch makes the correlation look smaller than it is. */
	r.alike += (1 + (double)s->changes) * (1 + 3 * r.alike) / (double)n;
	r.alike = fmin(fmax(r.alike, 0), most_alike);
	return r;
}

/* The size of a point divided by the largest size that chance explains. */
static double strength(const struct fb_history_search *s, size_t n, size_t i,
		       const struct residuals *r, double *p)
{
	static const double of_median = 1.2533; /* its standard error by that of the mean */
	size_t from = i > 0 ? s->change[i - 1].first : 0, at = s->change[i].first;
	size_t to = i + 1 < s->changes ? s->change[i + 1].first : n;
	double worth = (1 - r->alike) / (1 + r->alike);
	double before = fmax((double)(at - from) * worth, 1);
	double after = fmax((double)(to - at) * worth, 1);
	double degrees = fmax((double)n * worth - 1 - (double)s->changes, 3);
	double looks = (double)s->rows * (double)n;
	double t = fabs(log(s->change[i].ratio)) /
		   (of_median * r->spread * sqrt(1 / before + 1 / after));

	*p = fmin(1, looks * fb_student_p(t, (size_t)degrees));
	return t / fb_student_upper(s->alpha / looks, degrees);
}

/* Removes the weakest point until all are large enough, and larger than chance explains. */
void fb_history_keep(struct fb_history_search *s, size_t n, double theta)
{
	for (;;) {
		size_t weakest = 0;
		double least = (double)INFINITY;

		fb_history_refit(s, n);
		struct residuals r = residuals(s, n);

		for (size_t i = 0; i < s->changes; i++) {
			double size = strength(s, n, i, &r, &s->change[i].p);

			if (theta > 0)
				size = fmin(size, fabs(log(s->change[i].ratio)) / log1p(theta));
			if (size < least) {
				least = size;
				weakest = i;
			}
		}
		if (!(least < 1))
			return;
		s->changes--;
		memmove(s->change + weakest, s->change + weakest + 1,
			(s->changes - weakest) * sizeof(*s->change));
	}
}
