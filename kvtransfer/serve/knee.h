/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for a knee: which rate to try next, given which rates met the objective. Pure.
 *
 * Without a knee that is known, the rate is doubled or halved until one rate met the objective and
 * one did not. With one, the rates 8% below and 9% above it are tried first, and the interval is
 * widened if the knee is not between them. Then the interval is halved on a logarithmic scale until
 * its ends differ by 9%; the knee is its middle. A narrower interval would cost as much time as
 * more searches, and knees of searches with other arrivals differ by as much.
 *
 * Both ends of the interval are always tried anew, so that a search does not inherit what chance
 * did to the one before. Searches would still try the same rates again and again, and the median of
 * their knees would be one of few values. So each search shifts its rates by a random part of the
 * last interval. Parts that were spread evenly would make the knees of a row less independent than
 * the interval of their median takes them to be.
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

/* The rate that was to be tried has met the objective, or has not. */
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
 * How many requests a replay of a search has at a rate: as many as arrive in ten objectives for the
 * first token, of `ttft_s` seconds, so that a service that is 10% too slow falls behind by an
 * objective before the replay ends. `fewest` at least, and FB_KNEE_MOST_REQUESTS times as many at
 * most.
 */
uint32_t fb_knee_requests(double rate, double ttft_s, uint32_t fewest);

/*
 * A knee, or NAN if at this rate all `requests` arrive within less than two objectives for the
 * first token, of `ttft_s` seconds: then most of them may wait for all that came before and still
 * meet the objective, so the rate is none that the service could keep up.
 */
double fb_knee_steady(double knee, double requests, double ttft_s);

/*
 * By what factor a knee may be too high, because replays of so many `requests` are shorter than ten
 * objectives: at a rate that is too high by this factor, the share `attainment` of the requests has
 * come when the service falls behind by an objective. 1 where replays are long enough, or at 0 and
 * NAN. An estimate for requests that are all alike.
 */
double fb_knee_excess(double knee, double requests, double ttft_s, double attainment);

#endif
