/* SPDX-License-Identifier: BSD-3-Clause */
/* See estimate.h. */
#include "scripts/tools/lib/estimate.h"

#include <math.h>

#include "common/measure/stats.h"

struct fb_estimate fb_estimate_launches(double *us, size_t n)
{
	const double none = (double)NAN;
	struct fb_estimate e = {none, none, none, none, none};
	size_t low, high;

	if (n == 0)
		return e;
	fb_sort(us, n, us + n);
	e.us = fb_sorted_median(us, n);
	e.low_us = e.least_us = us[0];
	e.high_us = e.most_us = us[n - 1];
	if (fb_median_ci_ranks(n, (double)n, &low, &high)) {
		e.low_us = us[low - 1];
		e.high_us = us[high - 1];
	}
	return e;
}

double fb_spread(double *x, size_t n, double centre, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		x[i] = fabs(x[i] - centre);
	return 1.4826 * fb_median(x, n, scratch);
}
