/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells a change from a difference between sessions, where the sides ran one after the other.
 *
 * A session is all launches of one run on one side, which ran without a break. They share
 * temperature, neighbours and placement, so they are more alike than launches of different
 * sessions, and a permutation test of launches would take that for a change. So the means of
 * sessions are compared, by the variation between sessions. Three sessions are too few to know this
 * variation for a single row. It is therefore averaged with what is usual: how many times larger
 * the variation is than independent launches would make it, on average over all rows.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_SESSION_H
#define FB_SCRIPTS_TOOLS_COMPARE_SESSION_H

#include "scripts/tools/compare/design.h"

/* The least separation (order.h) at which sides count as run one after the other. */
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
 * session[launch] is the number of its session, below design->launches; the sides share no session.
 * Sets error[rows] to the standard error of each row's difference of y between the sides, with
 * sessions as the unit. It is NAN where it is not known (a session without a value, or !enough).
 * Returns 0 or FB_EINPUT (bad design).
 */
int fb_sessions_check(const struct fb_design *design, const unsigned *session, const double *y,
		      size_t rows, double *error, struct fb_sessions *out);

/*
 * The least change of a row, as a ratio - 1, that cannot be a difference between sessions: in at
 * most a share alpha of comparisons, such differences exceed it in any of `rows` rows.
 */
double fb_session_theta(const struct fb_sessions *sessions, double error, size_t rows,
			double alpha);

#endif
