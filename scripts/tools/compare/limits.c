/* SPDX-License-Identifier: BSD-3-Clause */
/* Thresholds by row; see limits.h. The noise file is noise.c's. */
#include "common/base/error.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/limits.h"
#include "scripts/tools/compare/verdict.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/sheet.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const from_names[] = {"default", "file", "noise", "clock", "session"};

const char *fb_limit_from_name(enum fb_limit_from from)
{
	return from_names[from];
}

/* "5%", "0.05"; who writes 5 means 5%, not 500%. */
static bool read_threshold(const char *text, double *threshold)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0))
		return false;
	*threshold = *end ? value / 100 : value;
	return *threshold > 0 && *threshold <= (*end ? 100 : 1);
}

int fb_limits_read_thresholds(struct fb_limits *limits, const char *path)
{
	size_t keys = fb_keys_columns();
	int err, threshold, key[FB_KEY_COLUMNS];
	struct fb_sheet sheet;

	err = fb_sheet_read_any(&sheet, path);
	if (err)
		return err;
	threshold = fb_sheet_column(&sheet, "threshold");
	if (threshold < 0)
		return fb_error(FB_EINPUT, "%s: no column threshold", path);
	/* A rule with a misspelt key would hold for all rows. */
	if (fb_keys_locate(sheet.column, sheet.ncolumns, key) + 1 != sheet.ncolumns)
		return fb_error(FB_EINPUT, "%s: a column that is neither a key nor threshold",
				path);
	for (size_t row = 0; row < sheet.nrows; row++) {
		struct fb_limit_rule *rule = FB_ADD(limits->rule, limits->nrules);
		const char *text = fb_sheet_text(&sheet, row, threshold);

		if (!read_threshold(text, &rule->threshold))
			return fb_sheet_refuse(&sheet, row, threshold,
					       "a ratio such as 5% or 0.05");
		for (size_t i = 0; i < keys; i++)
			rule->pattern[i] = fb_sheet_text(&sheet, row, key[i]);
	}
	return FB_OK;
}

/* program.NAME.LAUNCH.selftest.WHAT: sets *what, returns the length of NAME; 0 for another key. */
static size_t program_of(const char *key, const char **what)
{
	static const char selftest[] = "selftest.";
	size_t length = fb_env_program(key, what);

	if (!length || strncmp(*what, selftest, strlen(selftest)) != 0)
		return 0;
	*what += strlen(selftest);
	return length;
}

/* A self-test figure of one program over launches, times `unit`; NAN where there is none. */
static struct fb_limit_cost figure(const struct fb_env *env, const char *program, size_t length,
				   const char *wanted, double unit, double *x)
{
	struct fb_limit_cost cost;
	size_t n = 0;

	for (size_t i = 0; i < env->count; i++) {
		const char *key = env->fact[i].key, *what;
		size_t chars = program_of(key, &what);

		if (chars == length && !strncmp(key + strlen("program."), program, length) &&
		    !strcmp(what, wanted))
			x[n++] = unit * strtod(env->fact[i].value, NULL);
	}
	cost.median = fb_median(x, n, x + env->count);
	cost.spread = fb_spread(x, n, cost.median, x + env->count);
	return cost;
}

/* The program's floor, which is added where it is new. */
static struct fb_limit_floor *get_floor(struct fb_limits *limits, const char *program,
					size_t length)
{
	const struct fb_limit_cost none = {(double)NAN, (double)NAN};
	struct fb_limit_floor *floor;

	for (size_t i = 0; i < limits->nfloors; i++) {
		floor = &limits->floor[i];
		if (strlen(floor->program) == length && !strncmp(floor->program, program, length))
			return floor;
	}
	floor = FB_ADD(limits->floor, limits->nfloors);
	*floor = (struct fb_limit_floor){
		.program = fb_new_text("%.*s", (int)length, program),
		.timer_us = {none, none},
		.skew_us = {none, none},
	};
	return floor;
}

void fb_limits_add_floors(struct fb_limits *limits, const struct fb_env *env, int side)
{
	static const char timer[] = "timer_median_ns", skew[] = "barrier_skew_median_us";
	double *x = fb_new(3 * env->count + 1, sizeof(*x));
	const char *what, *last = "";
	size_t last_length = 0;

	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->fact[i].key + strlen("program.");
		size_t length = program_of(env->fact[i].key, &what);
		struct fb_limit_floor *floor;

		if (length == 0 || strcmp(what, timer) != 0)
			continue;
		/* Facts are sorted: a program's launches follow one another. */
		if (length == last_length && !strncmp(name, last, length))
			continue;
		last = name;
		last_length = length;
		floor = get_floor(limits, name, length);
		floor->timer_us[side] = figure(env, name, length, timer, 2e-3, x);
		floor->skew_us[side] = figure(env, name, length, skew, 1, x);
		/* fmax() ignores NAN. */
		floor->step_us = fmax(floor->step_us,
				      figure(env, name, length, "clock_step_ns", 1e-3, x).median);
	}
}

/* The largest change that the clock's cost can fake or hide. A side with NAN is not known. */
static double uncertainty(const struct fb_limit_cost side[2])
{
	double apart = fabs(side[0].median - side[1].median);

	return fmax(apart, 0) + 2 * fmax(0, fmax(side[0].spread, side[1].spread));
}

/*
 * The least change in us that the clock can resolve: the distance of the sides' medians plus twice
 * the larger spread, for 2 x timer overhead and for barrier skew; at least one step of the clock.
 */
static double floor_us(const struct fb_limit_floor *floor)
{
	double us = uncertainty(floor->timer_us) + uncertainty(floor->skew_us);

	return fmax(us, floor->step_us);
}

static const struct fb_limit_rule *rule_of(const struct fb_limits *limits, const struct fb_key *key)
{
	size_t keys = fb_keys_columns();

	for (size_t r = 0; r < limits->nrules; r++) {
		const char *const *pattern = limits->rule[r].pattern;
		size_t i = 0;

		while (i < keys && (!*pattern[i] || !fnmatch(pattern[i], key->field[i], 0)))
			i++;
		if (i == keys)
			return &limits->rule[r];
	}
	return NULL;
}

static double noise_of(const struct fb_limits *limits, const struct fb_key *key)
{
	uint32_t index = fb_keys_find(&limits->keys, key->field);

	return index < limits->nnoise ? limits->noise[index] : (double)NAN;
}

struct fb_limit fb_limits_of(const struct fb_limits *limits, const struct fb_key *key,
			     double time_us)
{
	const char *program = fb_key_text(key, "program");
	struct fb_threshold threshold = {.least = limits->threshold, .time_us = time_us};
	const struct fb_limit_rule *rule = rule_of(limits, key);
	struct fb_limit limit = {.from = FB_FROM_DEFAULT};
	double floor = 0;

	if (rule) {
		threshold.least = rule->threshold;
		limit.from = FB_FROM_FILE;
	}
	limit.aa_noise = noise_of(limits, key);
	threshold.noise = limit.aa_noise;
	for (size_t i = 0; i < limits->nfloors; i++)
		if (!strcmp(limits->floor[i].program, program))
			floor = floor_us(&limits->floor[i]);
	if (!isnan(time_us))
		threshold.floor_us = floor;
	limit.theta = fb_theta(&threshold);
	threshold.noise = 0;
	limit.wanted = fb_theta(&threshold);
	if (limit.theta > threshold.least)
		limit.from = limit.theta <= FB_THETA_NOISES * limit.aa_noise ? FB_FROM_NOISE
									     : FB_FROM_CLOCK;
	return limit;
}
