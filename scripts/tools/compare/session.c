/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing means of sessions; see session.h. */
#include "scripts/tools/compare/session.h"

#include <math.h>

#include "common/base/error.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/lib/memory.h"

/* The average over rows weighs as much as so many degrees of freedom of a row's own variation. */
enum { USUAL_DEGREES = 8 };

/* One row's sessions. */
struct row_sessions {
	double between; /* variance of sessions' means */
	double within;	/* what independent launches would make of it */
	bool known;
};

struct session {
	double sum, squares, n;
	unsigned side;
};

static struct row_sessions look_at_row(const struct fb_design *design, const unsigned *session,
				       const double *y, struct session *s)
{
	double mean[2] = {0, 0}, count[2] = {0, 0}, between = 0, within = 0, degrees = 0;
	double parts = 0, origin = (double)NAN;

	for (size_t i = 0; i < design->launches; i++) {
		s[i] = (struct session){.n = 0};
		/* Any value will do, so that sums of squares of equal values are exact. */
		origin = isnan(origin) ? y[i] : origin;
	}
	for (size_t i = 0; i < design->launches; i++) {
		struct session *at = &s[session[i]];

		at->side = design->side[i];
		if (isnan(y[i]))
			continue;
		at->sum += y[i] - origin;
		at->squares += (y[i] - origin) * (y[i] - origin);
		at->n++;
	}
	for (size_t i = 0; i < design->launches; i++)
		if (s[session[i]].n == 0)
			return (struct row_sessions){.known = false};
	for (size_t i = 0; i < design->launches; i++) {
		if (s[i].n == 0)
			continue;
		mean[s[i].side] += s[i].sum / s[i].n;
		count[s[i].side]++;
		within += s[i].squares - s[i].sum * s[i].sum / s[i].n;
		degrees += s[i].n - 1;
		parts += 1 / s[i].n;
	}
	for (size_t i = 0; i < design->launches; i++)
		if (s[i].n > 0)
			between += pow(s[i].sum / s[i].n - mean[s[i].side] / count[s[i].side], 2);
	return (struct row_sessions){
		.between = between / (count[0] + count[1] - 2),
		.within = within / degrees * parts / (count[0] + count[1]),
		.known = degrees > 0 && within > 0,
	};
}

static void count_sessions(const struct fb_design *design, const unsigned *session,
			   struct fb_sessions *out)
{
	for (size_t i = 0; i < design->launches; i++) {
		bool known = false;

		for (size_t j = 0; j < i; j++)
			known |= session[j] == session[i];
		out->count[design->side[i]] += !known;
	}
	out->degrees = out->count[0] + out->count[1] - 2;
	out->enough = out->degrees >= FB_SESSION_DEGREES;
}

int fb_sessions_check(const struct fb_design *design, const unsigned *session, const double *y,
		      size_t rows, double *error, struct fb_sessions *out)
{
	struct fb_sessions result = {.inflation = (double)NAN};
	struct fb_design_size size;
	int ret = fb_design_check(design, &size);

	if (ret)
		return ret;
	struct session *room = fb_new(design->launches, sizeof(*room));
	struct row_sessions *row = fb_new(rows + 1, sizeof(*row));
	double usual = 0, known = 0;

	count_sessions(design, session, &result);
	double apart = 1 / (double)result.count[0] + 1 / (double)result.count[1];
	double own = (double)result.degrees;

	for (size_t i = 0; i < rows; i++) {
		error[i] = (double)NAN;
		if (!result.enough)
			continue;
		row[i] = look_at_row(design, session, y + i * design->launches, room);
		if (row[i].known) {
			usual += row[i].between / row[i].within;
			known++;
		}
	}
	if (known > 0)
		result.inflation = fmax(1, usual / known);
	for (size_t i = 0; i < rows && known > 0; i++) {
		if (!row[i].known)
			continue;
		double ratio =
			(USUAL_DEGREES * result.inflation + own * row[i].between / row[i].within) /
			(USUAL_DEGREES + own);

		error[i] = sqrt(fmax(1, ratio) * row[i].within * apart);
	}
	*out = result;
	return FB_OK;
}

double fb_session_theta(const struct fb_sessions *sessions, double error, size_t rows, double alpha)
{
	double degrees = (double)(USUAL_DEGREES + sessions->degrees);

	return expm1(error * fb_student_upper(alpha / (double)rows, degrees));
}
