/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for a knee: which rate to try next, given which rates met the objective. Pure.
 *
 * If no knee is known yet, the rate is doubled or halved until one rate has met the objective and
 * another has not. If one is known from an earlier search, the rates 8% below and 9% above it are
 * tried first, and the interval is widened if the knee is not between them. Then the interval is
 * halved on a logarithmic scale until its ends differ by 9%; the knee is its middle. A narrower
 * interval would not pay: knees of searches with other arrivals differ by as much, so the time is
 * better spent on more searches.
 *
 * Each search tries both ends of its interval again, so that it does not inherit a result that the
 * previous search had by chance. Searches would still try the same few rates, and the median of
 * their knees could only have few values. So each search shifts its rates by a random part of the
 * last interval. The parts are random and not evenly spaced, because the interval of the median
 * takes the knees of a row to be independent.
 */
#ifndef FB_KVTRANSFER_SERVE_KNEE_H
#define FB_KVTRANSFER_SERVE_KNEE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	FB_KNEE_FEWEST = 3,	    /* replays of a search that begins from a knee that is right */
	FB_KNEE_MOST_REQUESTS = 16, /* times --requests: the most that a replay of a search has */
};

struct fb_knee {
	double rate; /* to try next; 0: the search is over */
	double low, high; /* highest rate that met, lowest that did not; 0: none */
	double step; /* by which the rate changes while one of both is missing */
	double least, most; /* no rate beyond these is tried */
};

/*
 * Begins a search. `first`: the rate that the user gave; rates up to 2048 times as high or as low
 * are tried. `known`: the knee of the search before, 0 or NAN without one. `search`: counts
 * searches; the shift of the rates depends on it and on `seed` alone, and 0, a warm-up, has none.
 */
void fb_knee_begin(struct fb_knee *knee, double first, double known, uint64_t seed,
		   unsigned search);

/* Enters whether the rate that was tried has met the objective. */
void fb_knee_note(struct fb_knee *knee, bool met);

/* Whether some rate met the objective and some did not. */
static inline bool fb_knee_is_between(const struct fb_knee *knee)
{
	return knee->low > 0 && knee->high > 0;
}

/*
 * In requests a second: the middle of the interval; NAN where every rate met the objective, 0 where
 * none did.
 */
double fb_knee_result(const struct fb_knee *knee);

/*
 * How many requests a replay of a search has at a rate: as many as arrive in ten times `ttft_s`,
 * the objective for the first token. Then requests of a service that is 10% too slow are late by a
 * whole objective before the replay ends. At least `fewest`, at most FB_KNEE_MOST_REQUESTS times as
 * many.
 */
uint32_t fb_knee_requests(double rate, double ttft_s, uint32_t fewest);

/*
 * Returns the knee, or NAN if at this rate all `requests` arrive in less than twice `ttft_s`, the
 * objective for the first token. Then most requests could wait for all earlier ones and still meet
 * the objective, so the service could not sustain the rate for longer.
 */
double fb_knee_steady(double knee, double requests, double ttft_s);

/*
 * By what factor a knee may be too high because replays of `requests` requests are shorter than ten
 * objectives for the first token. At a rate that is too high by this factor, the share `attainment`
 * of the requests has arrived when requests begin to be late by an objective. 1 if replays are long
 * enough, and for a knee of 0 or NAN. It is an estimate for requests that are all alike.
 */
double fb_knee_excess(double knee, double requests, double ttft_s, double attainment);

#endif
