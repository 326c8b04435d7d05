/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of serve as replays. The knee is the highest rate at which the wanted share of
 * requests meets the objective (knee.h says how it is searched for). Where so few requests are
 * replayed that all of them may come at once, no rate is too high, and there is no knee. There is
 * none either where they are too few for a steady state at the rate that was found.
 *
 * A run that is no sample does not search: it replays the trace once in each mode, which warms up
 * all that a search uses. These replays are the first steps of a search, doubling or halving the
 * rate, so that the first sample begins near the knee.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/progress.h"
#include "common/system/launcher.h"
#include "kvtransfer/serve/router.h"

/* Says on standard error what a replay of a search has shown. */
static void say(const struct fb_router *r, double rate, bool met, double seconds)
{
	const struct fb_serve_instance *i = r->i;
	const struct fb_knee *k = &i->search[i->plan.mode];
	char line[160], where[64] = "no knee yet";

	if (fb_knee_is_between(k))
		snprintf(where, sizeof(where), "knee between %.3g and %.3g/s", k->low, k->high);
	else if (!(k->rate > 0))
		snprintf(where, sizeof(where), "no knee");
	snprintf(line, sizeof(line), "%s, %s: %.3g/s %s the objective (%.1f s); %s",
		 fb_serve_operations[i->plan.operation],
		 i->plan.mode == FB_SERVE_COLOCATED ? "colocated" : "disaggregated", rate,
		 met ? "meets" : "does not meet", seconds, where);
	fb_progress_say("serve", line, i->state->machine.settings->quiet);
}

/* The next replay of the search of the plan's mode. */
static int try_rate(struct fb_router *r, bool whole)
{
	struct fb_serve_instance *i = r->i;
	struct fb_knee *k = &i->search[i->plan.mode];
	double share = 0, rate = k->rate, began = fb_router_now(r);
	int err = fb_router_replay(r, rate, whole, &share);
	bool met = share >= i->state->own->attainment;

	if (err)
		return err;
	fb_knee_note(k, met);
	say(r, rate, met, fb_router_now(r) - began);
	return FB_OK;
}

/* The knee that a search has found; NAN, and a reason on standard error, if it is not steady. */
static double steady(const struct fb_router *r, double found)
{
	struct fb_serve_instance *i = r->i;
	const struct fb_serve_settings *own = i->state->own;
	double requests = found > 0 ? fb_router_requests(r, found) : 0;
	double knee = fb_knee_steady(found, requests, own->ttft_s);
	char line[160];

	if (isnan(knee) && !isnan(found)) {
		snprintf(line, sizeof(line),
			 "no knee: at %.3g/s all requests arrive within %.3g s, less than two "
			 "objectives for the first token; use more --requests",
			 found, requests / found);
		fb_progress_say("serve", line, i->state->machine.settings->quiet);
	}
	i->excess = fmax(i->excess, fb_knee_excess(knee, requests, own->ttft_s, own->attainment));
	return knee;
}

/* *found: false if --max-time, or the job, is over before the search is; then no *knee. */
static int find_knee(struct fb_router *r, double *knee, bool *found)
{
	struct fb_serve_instance *i = r->i;
	struct fb_knee *k = &i->search[i->plan.mode];
	double *known = &i->known[i->plan.mode];
	int err = FB_OK;

	fb_knee_begin(k, i->plan.rate, *known, fb_serve_seed(i), ++i->searches);
	while (k->rate > 0 && fb_router_now(r) < i->until && !(i->whole && fb_launcher_ends()) &&
	       !err)
		err = try_rate(r, false);
	*found = !(k->rate > 0);
	if (err || !*found)
		return err;
	*known = fb_knee_result(k);
	*knee = steady(r, *known);
	return FB_OK;
}

/* The first steps of a search, one in each run; the first replay is a whole one. */
static int warm_up(struct fb_router *r)
{
	struct fb_serve_instance *i = r->i;
	struct fb_knee *k = &i->search[i->plan.mode];
	int err = FB_OK;

	if (!i->runs)
		fb_knee_begin(k, i->plan.rate, 0, fb_serve_seed(i), 0);
	if (k->rate > 0 && !fb_knee_is_between(k))
		err = try_rate(r, !i->runs);
	i->known[i->plan.mode] = fb_knee_is_between(k) ? fb_knee_result(k) : fmax(k->low, k->high);
	return err;
}

static int keep(struct fb_series *s, double value)
{
	double *more = realloc(s->value, (s->n + 1) * sizeof(*more));

	if (!more)
		return fb_error(FB_ENOMEM, "out of memory");
	s->value = more;
	s->value[s->n++] = value;
	return FB_OK;
}

/* A repetition without a knee (NAN) adds no number to the row, and the row says so. */
static int keep_knee(struct fb_serve_instance *i, double knee)
{
	i->kneeless |= isnan(knee);
	return isnan(knee) ? FB_OK : keep(&i->knee, knee);
}

/*
 * A run of an operation that searches, for the knee of one mode, or for those of both, in turns
 * which of them is first. A sample that --max-time ends before it has found them does not count.
 */
static int search(struct fb_router *r)
{
	struct fb_serve_instance *i = r->i;
	bool verdict = i->plan.operation == FB_SERVE_VERDICT, found = true;
	double knee[FB_SERVE_MODES] = {0};
	int err = FB_OK;

	for (int k = 0; k < (verdict ? FB_SERVE_MODES : 1) && found && !err; k++) {
		if (verdict)
			i->plan.mode = (enum fb_serve_mode)((k + i->runs) % FB_SERVE_MODES);
		err = i->sampling ? find_knee(r, &knee[i->plan.mode], &found) : warm_up(r);
	}
	if (err || !i->sampling)
		return err;
	if (!found && !i->cut++)
		fb_progress_say("serve", "--max-time is over: this repetition does not count",
				i->state->machine.settings->quiet);
	if (!found)
		return FB_OK;
	i->whole++;
	if (!verdict)
		return keep_knee(i, knee[i->plan.mode]);
	if (knee[FB_SERVE_COLOCATED] > 0 && !isnan(knee[FB_SERVE_DISAGGREGATED]))
		err = keep(&i->ratio, knee[FB_SERVE_DISAGGREGATED] / knee[FB_SERVE_COLOCATED]);
	i->kneeless |= isnan(knee[FB_SERVE_COLOCATED]);
	return err ? err : keep_knee(i, knee[FB_SERVE_DISAGGREGATED]);
}

/* The run is over: how long the workers' steps took with transfers under way and without. */
static int take_times(struct fb_router *r)
{
	struct fb_spin spin = {.yields = r->i->state->machine.world->oversubscribed};
	int err = FB_OK;

	while (r->told < r->i->plan.workers && !err)
		err = fb_router_turn(r, &spin, "waiting for the times of workers");
	/* No sample is whole once --max-time has cut one, so its steps do not count either. */
	if (err || r->i->cut || r->without_s <= 0)
		return err;
	return keep(&r->i->interference, r->with_s / r->without_s);
}

int fb_router_run(struct fb_router *r)
{
	struct fb_serve_instance *i = r->i;
	const struct fb_control_header stop = {.kind = FB_CONTROL_END};
	double share = 0;
	int err;

	if (i->plan.operation == FB_SERVE_REPLAY)
		err = fb_router_replay(r, i->plan.rate, true, &share);
	else
		err = search(r);
	if (!err)
		err = fb_router_send_all(r, &stop);
	return err ? err : take_times(r);
}
