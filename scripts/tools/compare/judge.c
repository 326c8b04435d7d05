/* SPDX-License-Identifier: BSD-3-Clause */
/* Judges every row; see comparison.h. effect.c and family.c have the statistics. */
#include "common/base/error.h"
#include "scripts/tools/compare/comparison.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/compare/statistic.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>

/* The geometric mean of a side's median times; NAN where there is none. */
static double mean_us(const struct fb_outcome *outcome)
{
	return outcome->times ? exp(outcome->log_us / outcome->times) : (double)NAN;
}

/* The smaller time of both sides, to compare the clock's cost with; NAN: no time is known. */
static double lesser_us(const struct fb_comparison *c, const struct fb_judged *row)
{
	if (c->metric->time)
		return fmin(row->effect.a_us, row->effect.b_us);
	if (c->metric->rate)
		return fmin(mean_us(&c->outcome[0][row->key]), mean_us(&c->outcome[1][row->key]));
	return (double)NAN;
}

/* How many launches a side a test of one row needs at least, whatever its noise. */
static size_t least_launches(const struct fb_comparison *c, double alpha)
{
	size_t n = 4;

	while (n < 1000 && (c->block ? ldexp(2, -(int)n) : fb_least_p(n, n)) > alpha)
		n++;
	return n;
}

/* Power of a row that max-T judged, by resampling its launches. */
static void add_family_power(const struct fb_comparison *c, const struct fb_family_power *power,
			     const double *y, double *room, struct fb_judged *row)
{
	const struct fb_effect *e = &row->effect;
	struct fb_statistic statistic = fb_statistic_of(&c->design, &c->size);
	double z2 = fb_statistic_z2_of_t(&statistic, power->critical_t);
	double scale = e->blocks ? sqrt(2 / (double)e->blocks)
				 : sqrt(1 / (double)e->na + 1 / (double)e->nb);
	double noise = e->noise, change;
	struct fb_row_values values;

	/* The row is complete and was read before, so this cannot fail. */
	if (fb_row_values(&c->design, y, room, &values))
		return;
	change = fb_statistic_least_change(&statistic, &values, z2, FB_POWER,
					   room + 2 * c->design.launches);
	/* The normal noise that would have been found as hard, for another number of launches. */
	if (isfinite(change))
		noise = change / fb_family_least_change(power, 1, scale);
	row->least_change = exp(change);
	row->launches_needed = fb_family_launches_needed(power, noise, row->limit.wanted);
}

/* Power of a row that was judged alone. The width of its interval gives its noise. */
static void add_single_power(const struct fb_comparison *c, double alpha, struct fb_judged *row)
{
	const struct fb_effect *e = &row->effect;
	double unit = fb_least_change(1, e->na, e->nb, FB_ALPHA, FB_POWER), noise = e->noise;

	if (isfinite(e->low) && isfinite(e->high))
		noise = log(e->high / e->low) / 2 / fb_normal_upper(FB_ALPHA / 2) *
			(fb_normal_upper(FB_ALPHA / 2) + fb_normal_upper(1 - FB_POWER)) / unit;
	row->least_change = exp(fb_least_change(noise, e->na, e->nb, alpha, FB_POWER));
	row->launches_needed = fb_launches_needed(noise, row->limit.wanted, alpha, FB_POWER);
	if (row->launches_needed && row->launches_needed < least_launches(c, alpha))
		row->launches_needed = least_launches(c, alpha);
}

/* Sets the least change that would have been found, which is shown where a row is UNSURE. */
static void add_power(const struct fb_comparison *c, const struct fb_judging *how, const double *y,
		      double *room, struct fb_judged *row)
{
	const struct fb_family_power power = {
		.critical_t = c->family.critical_t,
		.degrees = c->family.degrees,
		.rows = c->family.complete,
		.blocks = c->block != NULL,
		.power = FB_POWER,
		.alpha = how->alpha,
	};

	row->least_change = (double)NAN;
	if (isnan(row->effect.noise))
		return;
	if (row->test.list == FB_LIST_MAX_T)
		add_family_power(c, &power, y, room, row);
	else
		add_single_power(c, how->alpha / (double)c->rows, row);
}

/*
 * fb_verdict works at the level FB_ALPHA, so p is scaled for another alpha. A row is not SAME if
 * that needs a theta made large by noise or clock, or an interval not widened for sessions.
 */
static enum fb_verdict verdict_of(const struct fb_comparison *c, const struct fb_judged *row,
				  double same_theta, double alpha)
{
	double p = row->test.p * (FB_ALPHA / alpha), away = 0;
	struct fb_effect effect = row->effect;
	enum fb_verdict verdict;

	if (row->session_error > 0 && isfinite(effect.low) && isfinite(effect.high)) {
		away = row->session_error * fb_student_upper(FB_ALPHA, (double)c->sessions.degrees);
		effect.low = fmin(effect.low, effect.ratio * exp(-away));
		effect.high = fmax(effect.high, effect.ratio * exp(away));
	}
	verdict = fb_verdict(&row->effect, p > 1 ? 1 : p, row->limit.theta);
	if (verdict != FB_SAME && verdict != FB_UNSURE)
		return verdict;
	verdict = fb_verdict(&effect, 1, same_theta);
	if (verdict == FB_SAME && same_theta > FB_LARGEST_NOISE_THETA &&
	    row->limit.from != FB_FROM_DEFAULT && row->limit.from != FB_FROM_FILE)
		return FB_UNSURE;
	return verdict;
}

/*
 * Finds the row's limit, which differences between sessions may raise, and then the verdict. Where
 * there are too few sessions, a row is only judged if its noise on this machine is known.
 */
static void decide(struct fb_comparison *c, const struct fb_judging *how, struct fb_judged *row)
{
	double same_theta, theta = (double)NAN;

	row->limit = fb_limits_of(how->limits, &c->keys.key[row->key], lesser_us(c, row));
	same_theta = row->limit.theta;
	if (row->session_error > 0)
		theta = fb_session_theta(&c->sessions, row->session_error, c->rows, how->alpha);
	if (theta > row->limit.theta) {
		row->limit.theta = theta;
		row->limit.from = FB_FROM_SESSION;
	}
	row->before = verdict_of(c, row, same_theta, how->alpha);
	row->verdict = c->order.drift ? FB_UNSURE : row->before;
	if (c->apart && isnan(row->session_error) && isnan(row->limit.aa_noise))
		row->verdict = FB_UNSURE;
}

static int check_sessions(struct fb_comparison *c)
{
	double *error = fb_new(c->rows + 1, sizeof(*error));
	int err = FB_OK;

	c->apart = c->time && !c->block && c->order.separation > FB_SESSION_SEPARATION;
	if (c->apart)
		err = fb_sessions_check(&c->design, c->session, c->y, c->rows, error, &c->sessions);
	for (size_t i = 0; i < c->rows && !err; i++)
		c->judged[i].session_error = c->apart ? error[i] : (double)NAN;
	return err;
}

static int check_order(struct fb_comparison *c)
{
	double *rho = fb_new(c->rows + 1, sizeof(*rho));
	int err = FB_OK;

	if (c->time)
		err = fb_order_check(&c->design, c->time, c->y, c->rows, rho, &c->order);
	for (size_t i = 0; i < c->rows && !err; i++)
		c->judged[i].rho = c->time ? rho[i] : (double)NAN;
	return err;
}

static int test_rows(struct fb_comparison *c, const struct fb_judging *how)
{
	struct fb_family_options options = {.seed = how->seed, .alpha = how->alpha};
	struct fb_family_row *test = fb_new(c->rows + 1, sizeof(*test));
	int err = fb_family_test(&c->design, c->y, c->rows, &options, test, &c->family);

	c->judged = fb_new(c->rows + 1, sizeof(*c->judged));
	for (size_t i = 0; i < c->rows && !err; i++) {
		c->judged[i].key = c->row_key[i];
		c->judged[i].test = test[i];
		err = fb_effect(&c->design, &c->y[i * c->design.launches], &c->judged[i].effect);
	}
	return err;
}

int fb_judge(struct fb_comparison *c, const struct fb_judging *how)
{
	int err = fb_design_check(&c->design, &c->size);
	double *room;

	if (!err)
		err = test_rows(c, how);
	if (!err)
		err = check_order(c);
	if (!err)
		err = check_sessions(c);
	if (err)
		return err;
	room = fb_new(5 * c->design.launches, sizeof(*room));
	for (size_t i = 0; i < c->rows; i++) {
		struct fb_judged *row = &c->judged[i];

		decide(c, how, row);
		add_power(c, how, &c->y[i * c->design.launches], room, row);
		c->verdicts[row->verdict]++;
	}
	return FB_OK;
}
