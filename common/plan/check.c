/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs all ranks' plans on the checker's machine (model.h) until they end or nothing moves, and
 * proves every rank's output at the end of each of its runs.
 */
#include "common/plan/check.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/model.h"

static void note_depth(struct fb_model *m, const struct fb_thread *t)
{
	if (!t->run && !t->slice && t->depth > m->report->depth)
		m->report->depth = t->depth;
}

/* All lanes of the rank have ended: proves its output, and starts its next run. */
static int end_run(struct fb_model *m, int rank)
{
	struct fb_thread *t = &m->thread[rank * m->nlanes];
	int err;

	for (int l = 1; l < m->nlanes; l++)
		fb_model_join_clock(m, t->clock, t[l].clock);
	if (t->clock)
		t->clock[t - m->thread]++;
	for (int l = 0; l < m->nlanes && !t->run; l++)
		if (t[l].time_us > m->report->time_us)
			m->report->time_us = t[l].time_us;
	err = fb_model_check_output(m, rank);
	if (err || ++m->runs_done[rank] == (uint32_t)m->options->runs)
		return err;
	err = fb_model_reset_rank(m, rank);
	for (int l = 0; l < m->nlanes; l++) {
		struct fb_thread *o = &t[l];

		for (size_t i = 0; i < o->finished.n; i++)
			free(o->finished.posts[i].clock);
		o->finished.n = 0;
		fb_model_join_clock(m, o->clock, t->clock);
		o->done = false;
		o->step = 0;
		o->slice = 0;
		o->run++;
	}
	return err;
}

/* Runs t until it blocks; *moved: whether it executed a step. */
static int run_thread(struct fb_model *m, struct fb_thread *t, bool *moved)
{
	uint32_t nsteps = m->plans[t->rank]->lanes[t->lane].nsteps;
	bool all = true;
	int err;

	while (!t->done) {
		if (t->step < nsteps) {
			err = fb_model_execute(m, t);
			if (err == FB_BLOCKED)
				return FB_OK;
			if (err)
				return err;
			t->step++;
		}
		*moved = true;
		if (t->step < nsteps)
			continue;
		note_depth(m, t);
		t->step = 0;
		if (++t->slice < (uint32_t)m->options->slices)
			continue;
		t->slice = 0;
		t->done = true;
		for (int l = 0; l < m->nlanes; l++)
			all &= m->thread[t->rank * m->nlanes + l].done;
		if (!all)
			return FB_OK;
		err = end_run(m, t->rank);
		if (err)
			return err;
		all = true;
	}
	return FB_OK;
}

static int run_all(struct fb_model *m)
{
	bool moved = true;
	int err = FB_OK;

	for (int r = 0; r < m->nranks && !err; r++)
		err = fb_model_reset_rank(m, r);
	for (uint32_t i = 0; i < m->threads; i++)
		fb_model_join_clock(m, m->thread[i].clock,
				    m->thread[m->thread[i].rank * m->nlanes].clock);
	while (moved && !err) {
		moved = false;
		for (uint32_t i = 0; i < m->threads && !err; i++)
			err = run_thread(m, &m->thread[i], &moved);
	}
	for (uint32_t i = 0; i < m->threads && !err; i++)
		if (!m->thread[i].done)
			err = fb_model_fail(m, &m->thread[i], "deadlock");
	return err;
}

/* Checks that every message, credit and announcement was used. */
static int check_balance(struct fb_model *m)
{
	for (size_t i = 0; i < m->nwires; i++) {
		const struct fb_wire *w = &m->wires[i];

		if (w->messages.n != w->messages.taken || w->credits.n != w->pushes)
			return fb_model_fail(m, NULL, "link from rank %d to %d: %zu messages of "
					     "%zu used, %zu credits of %zu", w->from, w->to,
					     w->messages.taken, w->messages.n, w->pushes,
					     w->credits.n);
	}
	return FB_OK;
}

static void sum_traffic(struct fb_model *m)
{
	struct fb_check_report *r = m->report;
	uint64_t *sent = calloc((size_t)m->nranks, sizeof(*sent));

	for (size_t i = 0; i < m->nwires; i++) {
		const struct fb_wire *w = &m->wires[i];

		r->messages += w->messages.n / (size_t)(m->options->runs * m->options->slices);
		r->total_units += w->units;
		r->max_link_units = w->units > r->max_link_units ? w->units : r->max_link_units;
		if (sent)
			sent[w->from] += w->units;
	}
	for (int i = 0; i < m->nranks; i++) {
		uint32_t blocks = m->plans[i]->scratch_blocks;

		if (sent && sent[i] > r->max_rank_units)
			r->max_rank_units = sent[i];
		if (blocks > r->max_scratch_blocks)
			r->max_scratch_blocks = blocks;
	}
	free(sent);
}

int fb_plans_check(struct fb_plan *const *plans, int nranks,
		   const struct fb_check_options *options, struct fb_check_report *report)
{
	struct fb_model m = {.plans = plans, .nranks = nranks, .options = options,
			     .report = report};
	int err;

	*report = (struct fb_check_report){.why = ""};
	err = fb_model_open(&m);
	if (!err)
		err = run_all(&m);
	if (!err)
		err = check_balance(&m);
	if (!err)
		sum_traffic(&m);
	fb_model_close(&m);
	return err;
}
