/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sides that ran one after the other: is it the change, or the session?
 *
 * A session is what ran at a stretch: all launches of one run on one side. Launches of a session
 * share its temperature, neighbours and placement, and follow each other, so they are more alike
 * than launches of another session, and a permutation test of launches takes that for a change.
 * What is compared are then the sessions' means, by their own variation. Three sessions are too few
 * to know it row by row, so a row's is drawn towards what is usual: how many times larger it is
 * than launches of independent noise would make it, on average over rows.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_SESSION_H
#define FB_SCRIPTS_TOOLS_COMPARE_SESSION_H

#include "scripts/tools/compare/design.h"

/* Sides are apart from this separation on; see order.h. */
#define FB_SESSION_SEPARATION 0.9

/* Fewest degrees of freedom between sessions: 2 and 2, or 3 and 1. */
enum { FB_SESSION_DEGREES = 2 };

struct fb_sessions {
	size_t count[2];  /* of the sides */
	size_t degrees;	  /* sessions - 2 */
	bool enough;	  /* degrees are enough to tell the change from the session */
	double inflation; /* variance of sessions by that of independent launches; NAN: !enough */
};

/*
 * session[launch]: its number, those of side A and B are different ones; below design->launches.
 * Sets error[rows] to the standard error of each row's difference of y between the sides, for which
 * sessions are the unit; NAN where it is not known (a session without a value, or !enough). Returns
 * 0 or FB_EINPUT (bad design).
 */
int fb_sessions_check(const struct fb_design *design, const unsigned *session, const double *y,
		      size_t rows, double *error, struct fb_sessions *out);

/*
 * The least change of a row, as a ratio - 1, that is more than sessions make in one of so many
 * rows in a share alpha of comparisons.
 */
double fb_session_theta(const struct fb_sessions *sessions, double error, size_t rows,
			double alpha);

#endif
