/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for a knee; see knee.h. */
#include "kvtransfer/serve/knee.h"

#include <math.h>

#include "common/base/rng.h"

static const double span = 2048;	 /* of rates that are tried, from the first one */
static const double spread_log2 = 0.125; /* from a known knee to the first rates */
static const double narrow_log2 = 0.125; /* an interval that is narrow enough */
static const double objectives = 10; /* for the first token, in which a replay's requests arrive */

void fb_knee_begin(struct fb_knee *k, double first, double known, uint64_t seed, unsigned search)
{
	struct fb_rng rng;
	double shift;

	fb_rng_seed(&rng, fb_mix64(seed) + search);
	shift = search ? (fb_rng_unit(&rng) - 0.5) * narrow_log2 : 0;

	*k = (struct fb_knee){.least = first / span, .most = first * span};
	k->rate = known > 0 ? known * exp2(shift - spread_log2) : first * exp2(shift);
	k->step = known > 0 ? exp2(2 * spread_log2) : 2;
}

/* One of both ends is missing: further out, by steps that grow up to doubling. */
static void widen(struct fb_knee *k)
{
	k->rate = k->high > 0 ? k->high / k->step : k->low * k->step;
	k->step = fmin(k->step * k->step, 2);
	/* The shift must not decide about the last rate. */
	if (k->rate < k->least / 1.1 || k->rate > k->most * 1.1)
		k->rate = 0;
}

void fb_knee_note(struct fb_knee *k, bool met)
{
	if (met)
		k->low = k->rate;
	else
		k->high = k->rate;
	if (!fb_knee_is_between(k))
		widen(k);
	else if (k->high > k->low * exp2(narrow_log2 * 1.001))
		k->rate = sqrt(k->low * k->high);
	else
		k->rate = 0;
}

double fb_knee_result(const struct fb_knee *k)
{
	return k->high > 0 ? sqrt(k->low * k->high) : (double)NAN;
}

uint32_t fb_knee_requests(double rate, double ttft_s, uint32_t fewest)
{
	double n = ceil(objectives * ttft_s * rate);
	double most = (double)fewest * FB_KNEE_MOST_REQUESTS;

	return (uint32_t)fmax(fewest, fmin(n, most));
}

double fb_knee_steady(double knee, double requests, double ttft_s)
{
	return requests < 2 * ttft_s * knee ? (double)NAN : knee;
}

double fb_knee_excess(double knee, double requests, double ttft_s, double attainment)
{
	double lasts = requests / (ttft_s * knee);

	return lasts < 0.99 * objectives ? 1 + 1 / (attainment * lasts) : 1;
}
