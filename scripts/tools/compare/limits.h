/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least change of a row that matters (theta). It follows from the user's threshold for all rows
 * or for some, from the noise that the row had in a self-test of the machine, and from the
 * resolution of the clock.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_LIMITS_H
#define FB_SCRIPTS_TOOLS_COMPARE_LIMITS_H

#include "scripts/tools/lib/env.h"
#include "scripts/tools/compare/keys.h"
#include "scripts/tools/compare/metric.h"

#include <stdio.h>

/* What decided about a row's theta. */
enum fb_limit_from { FB_FROM_DEFAULT, FB_FROM_FILE, FB_FROM_NOISE, FB_FROM_CLOCK, FB_FROM_SESSION };

struct fb_limit {
	double theta;	 /* a change below 1 + theta does not matter */
	double wanted;	 /* theta without the row's noise: what more launches could reach */
	double aa_noise; /* of the noise file; NAN: not in it */
	enum fb_limit_from from;
};

/* A line of the threshold file: which rows, and their threshold. */
struct fb_limit_rule {
	const char *pattern[FB_KEY_COLUMNS]; /* "": any */
	double threshold;
};

/* A self-test's figure over a side's launches; spread: a standard deviation, by MAD. */
struct fb_limit_cost {
	double median, spread;
};

/*
 * What reading the clock and leaving the barrier cost in one program's launches. A cost that is the
 * same in all launches is in the times of both sides, so it hides no change. Only a cost that
 * differs between launches or sides can hide one.
 */
struct fb_limit_floor {
	char *program;
	struct fb_limit_cost timer_us[2], skew_us[2]; /* of the sides; NAN: not known */
	double step_us;				      /* of the clock, the larger; 0: not known */
};

struct fb_limits {
	double threshold; /* for rows of no rule; a ratio - 1 */
	struct fb_limit_rule *rule;
	size_t nrules;
	struct fb_keys keys; /* of the noise file */
	double *noise;	     /* [nnoise]: of the first keys, standard deviations of the logarithm */
	size_t nnoise;
	struct fb_limit_floor *floor;
	size_t nfloors;
};

/* "default", "file", "noise", "clock", "session". */
const char *fb_limit_from_name(enum fb_limit_from from);

/*
 * Reads a threshold file: CSV with the column `threshold` ("5%" or "0.05") and any key columns,
 * whose fields are patterns (* ? [ ]), empty for any. The first line that fits a row counts.
 * Returns 0 or FB_EINPUT (printed).
 */
int fb_limits_read_thresholds(struct fb_limits *limits, const char *path);

/*
 * Reads a noise file, as fb_noise_write makes it. One that is of another metric is FB_EINPUT.
 * Returns 0 or FB_EINPUT (printed).
 */
int fb_limits_read_noise(struct fb_limits *limits, const char *path, const char *metric);

/* Writes the noise of rows: key columns, metric, launches, noise; NAN is left out. */
void fb_noise_write(FILE *out, const struct fb_keys *keys, const uint32_t *row_key, size_t rows,
		    const double *noise, const char *metric, size_t launches);

/* Takes the cost of the clock from the self-tests of a side. */
void fb_limits_add_floors(struct fb_limits *limits, const struct fb_env *env, int side);

/*
 * The limit of a row. time_us: its time on the faster side; NAN if the metric is neither a time nor
 * a rate, so that the clock's cost does not matter.
 */
struct fb_limit fb_limits_of(const struct fb_limits *limits, const struct fb_key *key,
			     double time_us);

#endif
