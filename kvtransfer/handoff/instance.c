/* SPDX-License-Identifier: BSD-3-Clause */
/* One case of handoff, from setup to teardown; see handoff.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/clock.h"
#include "kvtransfer/handoff/fit.h"

enum { BULK_TRIES = 5 };

double fb_handoff_now(const struct fb_handoff_instance *i)
{
	return fb_clock_now(i->state->machine.session->clock);
}

/* Collective; every rank may have to do with every other. `again`: it was known before. */
static int open_memory(struct fb_handoff_state *state, struct fb_kv_backend *e, bool again)
{
	int n = state->machine.world->nranks, *peers = calloc((size_t)n, sizeof(*peers)), err;

	err = fb_group_agree(state->machine.world, peers ? FB_OK : FB_ENOMEM);
	for (int r = 0; r < n && peers; r++)
		peers[r] = r;
	if (!err)
		err = again ? fb_kv_backend_register(e, peers, n)
			    : fb_kv_backend_memory(&state->machine, e, false, peers, n);
	free(peers);
	return err;
}

int fb_handoff_forget(struct fb_handoff_instance *i)
{
	fb_kv_backend_forget(i->engine);
	/* Else a sender's time would contain what is left of the other ranks' forgetting. */
	return fb_group_agree(i->state->machine.world, FB_OK);
}

int fb_handoff_register(struct fb_handoff_instance *i, struct fb_handoff_times *t)
{
	struct fb_kv_backend *e = i->engine;
	double began = fb_handoff_now(i);
	int err = open_memory(i->state, e, true);

	if (i->links && !i->receives) {
		t->begin = began;
		t->registered = fb_handoff_now(i) - began;
	}
	for (int k = 0; k < i->links && !err; k++)
		for (uint32_t m = 0; m < i->link[k].moves && i->link[k].transfer; m++) {
			i->link[k].transfer[m].local = e->region;
			if (!i->plan.send)
				i->link[k].transfer[m].remote = e->region;
		}
	return err;
}

/* What a link's moves are while the bulk is timed. */
struct kept {
	struct fb_transfer transfer, *list;
	struct fb_move *move, **moves;
	struct fb_piece piece;
	struct fb_kv_packing *packing;
	uint32_t count;
};

/* In place of a link's moves one with the same bytes in one piece. */
static int swap_in(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
		   struct kept *kept)
{
	bool flip = i->plan.get || (i->plan.send && i->receives);

	kept->list = link->transfer;
	kept->moves = link->move;
	kept->count = link->moves;
	kept->packing = link->packing;
	link->packing = NULL;
	link->moves = 1;
	if (!fb_handoff_posts(i, link))
		return FB_OK;
	kept->piece = (struct fb_piece){flip ? link->to_at : link->from_at,
					flip ? link->from_at : link->to_at, link->wire_bytes};
	kept->transfer = link->transfer[0];
	kept->transfer.piece = &kept->piece;
	kept->transfer.pieces = kept->transfer.repeats = 1;
	kept->move = NULL;
	link->transfer = &kept->transfer;
	link->move = &kept->move;
	return fb_handoff_build(i, link);
}

/* The same bytes of each link as one piece, all links at once, fastest of some; collective. */
static int time_bulk(struct fb_handoff_instance *i)
{
	const struct fb_group *w = i->state->machine.world;
	struct kept *kept = calloc((size_t)i->links + 1, sizeof(*kept));
	int err = fb_group_agree(w, kept ? FB_OK : FB_ENOMEM);
	const char *form = i->plan.form;
	bool cold = i->plan.cold, registers = i->plan.registers;

	if (err || !kept) {
		free(kept);
		return err;
	}
	i->plan.cold = i->plan.registers = false;
	/* On GPUs forms differ in how they carry many pieces; on hosts also in the path. */
	if (i->engine->device)
		i->plan.form = NULL;
	for (int k = 0; k < i->links && !err; k++)
		err = swap_in(i, &i->link[k], &kept[k]);
	err = fb_group_agree(w, err);
	for (int k = 0; k < BULK_TRIES && !err; k++) {
		double began, us;

		MPI_Barrier(w->comm);
		began = fb_handoff_now(i);
		fb_handoff_once(i, (uint64_t)k + 1);
		us = (fb_handoff_now(i) - began) * 1e6;
		MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, w->comm);
		i->bulk_us = k && i->bulk_us < us ? i->bulk_us : us;
	}
	/* Leaves of GETs are ahead by one call, of PUTs by the last one. */
	for (int k = 0; k < i->links; k++)
		i->link[k].count_base += BULK_TRIES * fb_handoff_pair_notices(i, &i->link[k]);
	for (int k = 0; k < i->links; k++) {
		struct fb_handoff_link *link = &i->link[k];

		if (!kept[k].count)
			continue;
		if (fb_handoff_posts(i, link))
			fb_handoff_unbuild(i, link);
		link->transfer = kept[k].list;
		link->move = kept[k].moves;
		link->moves = kept[k].count;
		link->packing = kept[k].packing;
		link->note_base += BULK_TRIES;
	}
	free(kept);
	i->plan.cold = cold;
	i->plan.registers = registers;
	i->plan.form = form;
	i->calls = 0;
	i->cpu_s = 0;
	i->fastest_s = 0;
	return err;
}

static void close_instance(struct fb_handoff_instance *i)
{
	fb_kv_beside_close(i->beside);
	if (i->plan.operation == FB_HANDOFF_FIT)
		fb_fit_close(i);
	fb_handover_close(i);
	fb_kv_stage_close(i->stage);
	fb_handoff_links_close(i);
	fb_handoff_jobs_close(i);
	free(i->times);
	free(i);
}

static int open_stage(struct fb_handoff_instance *i)
{
	const struct fb_segment *host = i->engine->memory;
	uint32_t copies = 0;

	for (int k = 0; k < i->links; k++)
		copies = i->link[k].moves > copies ? i->link[k].moves : copies;
	return fb_kv_stage_open(&i->stage, i->plan.staging,
				fb_segment_part(host, i->state->machine.world->rank),
				(size_t)fb_handoff_stage_bytes(&i->plan), copies);
}

static int open_case(struct fb_handoff_instance *i)
{
	int err;

	if (i->plan.operation == FB_HANDOFF_FIT)
		return fb_fit_open(i);
	err = fb_group_agree(i->state->machine.world, fb_handoff_jobs_open(i));
	if (!err && i->plan.operation == FB_HANDOFF_HANDOVER)
		return fb_handover_open(i);
	if (!err)
		err = fb_group_agree(i->state->machine.world, fb_handoff_links_open(i));
	i->receives = i->links && i->link[0].to == i->state->machine.world->rank;
	fb_handoff_find_ends(i, i->links > 0, i->receives);
	for (int k = 0; k < i->links && !err; k++) {
		i->posts |= fb_handoff_posts(i, &i->link[k]);
		i->waits |= fb_handoff_waits(i, &i->link[k]);
	}
	if (!err && i->plan.staging)
		err = fb_group_agree(i->state->machine.world, open_stage(i));
	return err ? err : time_bulk(i);
}

/* Local: ranks that have a part compute meanwhile. */
static int open_beside(struct fb_handoff_instance *i)
{
	const struct fb_kv_machine *m = &i->state->machine;
	bool fit = i->plan.operation == FB_HANDOFF_FIT;

	if (!fb_handoff_counts(i))
		return FB_OK;
	return fb_kv_beside_open(&i->beside, i->plan.beside, i->engine->device ? &m->gpu : NULL,
				 m->session->clock, fit ? m->world->rank == 0 : !i->receives);
}

int fb_handoff_set_up(void *arg, const struct fb_case *c, void **result)
{
	struct fb_handoff_state *state = arg;
	struct fb_handoff_instance *i = calloc(1, sizeof(*i));
	int err = fb_group_agree(state->machine.world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->state = state;
	state->cases++;
	i->key = c;
	i->automatic = !strcmp(c->engine, "auto");
	i->engine = fb_handoff_engine_of(state, c);
	i->plan = fb_handoff_plan_of(c);
	i->pages = i->engine->device ? &fb_kv_pages_gpu : &fb_kv_pages_host;
	i->data = (struct fb_data){.seed = state->machine.settings->seed, .op = FB_SUM,
				   .type = i->plan.operation == FB_HANDOFF_FIT ? FB_U8
									       : c->datatype,
				   .nranks = state->machine.world->nranks};
	for (int k = 0; k < FB_HANDOFF_COLUMNS; k++)
		i->value[k] = (double)NAN;
	err = open_memory(state, i->engine, false);
	if (!err)
		err = open_case(i);
	/* Behind the bulk, which is what the mover does alone. */
	if (!err && i->plan.beside)
		err = fb_group_agree(state->machine.world, open_beside(i));
	if (!err)
		err = fb_handoff_mark(i);
	if (err) {
		close_instance(i);
		return err;
	}
	*result = i;
	return FB_OK;
}

int fb_handoff_set_up_watched(void *state, const struct fb_case *c, void **result)
{
	struct fb_handoff_instance *i;
	int err = fb_handoff_set_up(state, c, result);

	if (err)
		return err;
	i = *result;
	if (i->plan.operation != FB_HANDOFF_FIT && i->plan.operation != FB_HANDOFF_HANDOVER)
		err = fb_handoff_watch(i);
	if (err)
		close_instance(i);
	return err;
}

/* The last leaves, so that none comes when others are counted. */
void fb_handoff_tear_down(void *instance)
{
	struct fb_handoff_instance *i = instance;

	if (!i->plan.get && i->plan.operation != FB_HANDOFF_FIT)
		(void)fb_handoff_await_leave(i, i->handed + 1);
	MPI_Barrier(i->state->machine.world->comm);
	close_instance(i);
}

/* --- data ------------------------------------------------------------------------------------- */

int fb_handoff_prime(void *instance)
{
	struct fb_handoff_instance *i = instance;
	int err = FB_OK;

	if (i->plan.operation == FB_HANDOFF_FIT)
		return fb_fit_prime(i);
	for (int j = 0; j < i->jobs && !err; j++) {
		struct fb_kv_job *job = &i->job[j];

		job->seed += (uint64_t)i->jobs + 1;
		for (int side = 0; side < FB_KV_SIDES && !err; side++)
			if (job->index[side] >= 0)
				err = i->pages->fill(job, (enum fb_kv_side)side,
						     side == FB_KV_DECODE);
	}
	return err;
}

int fb_handoff_check(void *instance, int calls, struct fb_mismatch *bad)
{
	struct fb_handoff_instance *i = instance;
	int err = FB_OK;

	(void)calls;
	if (i->plan.operation == FB_HANDOFF_FIT)
		return fb_fit_check(i, bad);
	for (int j = 0; j < i->jobs && !err; j++)
		for (int side = FB_KV_SIDES - 1; side >= 0 && !err; side--)
			if (i->job[j].index[side] >= 0)
				err = i->pages->check(&i->job[j], (enum fb_kv_side)side, bad);
	if (i->early && !err) {
		bad->errors++;
		bad->index = 0;
		snprintf(bad->got, sizeof(bad->got), "not there when notified");
		snprintf(bad->expected, sizeof(bad->expected), "there");
	}
	return err;
}

bool fb_handoff_counts(void *instance)
{
	const struct fb_handoff_instance *i = instance;

	return i->plan.operation == FB_HANDOFF_FIT ? i->state->machine.world->rank < 2
						   : i->posts || i->waits;
}
