/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the matrix that is tested out of two result sets; see comparison.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/comparison.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Seconds of "2024-05-31T23:59:59Z", or NAN. */
static double seconds(const char *utc)
{
	struct tm tm = {0};
	const char *end = strptime(utc, "%Y-%m-%dT%H:%M:%SZ", &tm);

	return end && !*end ? (double)timegm(&tm) : (double)NAN;
}

/* Any status but skipped and fault: it ran. */
static bool ran(const struct fb_outcome *o)
{
	return o->status[FB_STATUS_OK] || o->status[FB_STATUS_FEW] || o->status[FB_STATUS_WRONG];
}

static bool exists(const struct fb_outcome *o)
{
	return ran(o) || o->status[FB_STATUS_SKIPPED] || o->status[FB_STATUS_FAULT];
}

static enum fb_place place_of(const struct fb_outcome *base, const struct fb_outcome *new)
{
	if (base->values && new->values)
		return FB_PLACE_JUDGED;
	if (!exists(new))
		return FB_PLACE_ONLY_BASE;
	if (!exists(base))
		return FB_PLACE_ONLY_NEW;
	if (ran(base) && !ran(new))
		return FB_PLACE_LOST;
	if (!ran(base) && ran(new))
		return FB_PLACE_GAINED;
	if (!ran(base) || base->status[FB_STATUS_WRONG] || new->status[FB_STATUS_WRONG])
		return FB_PLACE_NEITHER;
	/* Both ran well: either no launch that counts has it, or the column is empty. */
	if ((!base->values && !base->times) || (!new->values && !new->times))
		return FB_PLACE_LEFT_OUT;
	return FB_PLACE_NO_METRIC;
}

/* After launches were left out, values are counted again. */
static void recount(struct fb_comparison *c, double *const value[2])
{
	for (int s = 0; s < 2; s++) {
		const struct fb_set *set = &c->set[s];

		for (size_t k = 0; k < c->keys.count; k++) {
			struct fb_outcome *o = &c->outcome[s][k];

			o->values = 0;
			for (size_t i = 0; i < set->nlaunches; i++)
				if (!set->launch[i].out && !isnan(value[s][k * set->nlaunches + i]))
					o->values++;
		}
	}
}

static void make_design(struct fb_comparison *c, bool paired)
{
	size_t total = c->set[0].nlaunches + c->set[1].nlaunches, n = 0;
	const char *run = "";
	bool timed = true;

	c->side = fb_new(total + 1, sizeof(*c->side));
	c->time = fb_new(total + 1, sizeof(*c->time));
	c->session = fb_new(total + 1, sizeof(*c->session));
	c->block = paired ? fb_new(total + 1, sizeof(*c->block)) : NULL;
	for (unsigned char s = 0; s < 2; s++)
		for (size_t i = 0; i < c->set[s].nlaunches; i++) {
			const struct fb_launch *launch = &c->set[s].launch[i];

			if (launch->out)
				continue;
			c->side[n] = s;
			/* Launches are sorted by run: a session is those that follow each other. */
			c->session[n] = (unsigned)n;
			if (n > 0 && c->side[n - 1] == s && !strcmp(run, launch->run))
				c->session[n] = c->session[n - 1];
			run = launch->run;
			c->time[n] = seconds(launch->utc);
			timed &= !isnan(c->time[n]);
			if (c->block)
				c->block[n] = (unsigned)launch->index;
			n++;
		}
	if (!timed)
		c->time = NULL;
	c->design = (struct fb_design){.launches = n, .side = c->side, .block = c->block};
}

static void fill_row(struct fb_comparison *c, double *const value[2], uint32_t key, double *y)
{
	size_t n = 0;

	for (int s = 0; s < 2; s++) {
		const struct fb_set *set = &c->set[s];
		const double *from = &value[s][key * set->nlaunches];

		for (size_t i = 0; i < set->nlaunches; i++)
			if (!set->launch[i].out)
				y[n++] = c->metric->rate ? -log(from[i]) : log(from[i]);
	}
}

static void make_rows(struct fb_comparison *c, double *const value[2])
{
	c->row_key = fb_new(c->keys.count + 1, sizeof(*c->row_key));
	c->place = fb_new(c->keys.count + 1, 1);
	for (size_t k = 0; k < c->keys.count; k++) {
		enum fb_place place = place_of(&c->outcome[0][k], &c->outcome[1][k]);

		c->place[k] = (unsigned char)place;
		c->places[place]++;
		for (int s = 0; s < 2; s++) {
			c->wrong[s] += c->outcome[s][k].status[FB_STATUS_WRONG] > 0;
			c->faults[s] += c->outcome[s][k].status[FB_STATUS_FAULT] > 0;
			c->few += c->outcome[s][k].status[FB_STATUS_FEW];
		}
		if (place == FB_PLACE_JUDGED)
			c->row_key[c->rows++] = (uint32_t)k;
	}
	fb_keys_sort(&c->keys, c->row_key, c->rows);
	c->y = fb_new(c->rows * c->design.launches + 1, sizeof(*c->y));
	for (size_t i = 0; i < c->rows; i++)
		fill_row(c, value, c->row_key[i], &c->y[i * c->design.launches]);
}

int fb_join(struct fb_comparison *c, bool paired)
{
	double *value[2] = {NULL, NULL};
	int err = fb_join_cells(c, value);

	if (!err)
		err = fb_join_launches(c, paired, value);
	if (err)
		return err;
	recount(c, value);
	make_design(c, paired);
	make_rows(c, value);
	return FB_OK;
}
