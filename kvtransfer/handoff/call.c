/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The course of a request; see handoff.h.
 *
 * PUT: a sender begins a call when all receivers have permitted it (FREE), then builds and posts. A
 * receiver has finished when it has been notified (notify.c), and permits the next call. GET: the
 * sender notifies that its pages are READY. The receiver builds and posts, and has finished when
 * its moves are done; the notice that they were read permits the sender's next call. SEND: both
 * ends post, the receiver first, and it says so by an empty MPI message. Permissions come before a
 * call begins, so they are in none of its stages.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "kvtransfer/handoff/fit.h"

enum { MOST_CALLS = 1 << 20, TAG = 0x6b76 };

/* Makes room for a call's times, all NAN; NULL (printed): memory is out. */
static struct fb_handoff_times *new_call(struct fb_handoff_instance *i)
{
	double none = (double)NAN;

	if ((i->calls & (i->calls - 1)) == 0 && i->calls < MOST_CALLS) {
		size_t room = i->calls ? 2 * i->calls : 1;
		struct fb_handoff_times *more = realloc(i->times, room * sizeof(*more));

		if (!more) {
			fb_error_print("out of memory for times");
			return NULL;
		}
		i->times = more;
	}
	/* A run without an end overwrites the last entry. */
	i->calls += i->calls < MOST_CALLS;
	i->times[i->calls - 1] = (struct fb_handoff_times){none, none, none, none, none,
							   none, none, none, none, none};
	return &i->times[i->calls - 1];
}

bool fb_handoff_posts(const struct fb_handoff_instance *i, const struct fb_handoff_link *link)
{
	return i->plan.send ||
	       i->state->machine.world->rank == (i->plan.get ? link->to : link->from);
}

bool fb_handoff_waits(const struct fb_handoff_instance *i, const struct fb_handoff_link *link)
{
	return !i->plan.send &&
	       i->state->machine.world->rank == (i->plan.get ? link->from : link->to);
}

/* Begins to copy a part of a message out of GPU memory, or into it; not needed if mapped. */
static int copy_chunk(const struct fb_handoff_instance *i, const struct fb_handoff_link *link,
		      uint32_t move, bool out)
{
	const struct fb_handoff_chunk *c = &link->chunk[move];

	if (i->plan.staging == FB_KV_STAGING_MAPPED)
		return FB_OK;
	return fb_kv_stage_copy(i->stage, move, out ? c->host : c->device,
				out ? c->device : c->host, (size_t)c->bytes);
}

/* Until the copy is over; what this link has posted before goes on meanwhile. */
static int await_copy(const struct fb_handoff_instance *i, const struct fb_handoff_link *link,
		      uint32_t move)
{
	bool done = i->plan.staging == FB_KV_STAGING_MAPPED, ignored;
	int err = FB_OK;

	while (!done && !err) {
		err = fb_kv_stage_done(i->stage, move, &done);
		if (!err && !done && !i->receives && !i->plan.get && move)
			err = i->engine->ops->test(link->move[move - 1], &ignored);
	}
	return err;
}

int fb_handoff_repack(const struct fb_handoff_instance *i, const struct fb_handoff_link *link,
		      uint32_t move)
{
	const struct fb_handoff_chunk *chunk;
	int err = FB_OK;

	if (!link->packing)
		return FB_OK;
	chunk = &link->chunk[move];
	if (!i->plan.staging)
		return fb_kv_packing_run(&link->packing[chunk->packing], i->engine->device);
	if (i->receives) {
		err = copy_chunk(i, link, move, false);
		if (!err && chunk->last)
			err = await_copy(i, link, move);
		return err || !chunk->last ? err : fb_kv_packing_run(&link->packing[chunk->packing],
								     true);
	}
	if (chunk->first)
		err = fb_kv_packing_run(&link->packing[chunk->packing], true);
	/* The chunks of a message lie one behind the other. */
	for (uint32_t m = move; chunk->first && m < link->moves && !err &&
				link->chunk[m].packing == chunk->packing; m++)
		err = copy_chunk(i, link, m, true);
	return err ? err : await_copy(i, link, move);
}

/* With GET: makes all messages that this rank's pages are in. */
static int pack_all(struct fb_handoff_instance *i, struct fb_handoff_times *t)
{
	double began = fb_handoff_now(i);
	int err = FB_OK;

	for (int k = 0; k < i->links && i->plan.get; k++)
		for (uint32_t m = 0; m < i->link[k].moves && !err; m++)
			if (fb_handoff_waits(i, &i->link[k]))
				err = fb_handoff_repack(i, &i->link[k], m);
	t->pack = fb_handoff_now(i) - began;
	return err;
}

/* Packs, with PUT, and posts a link's moves; adds what packing took. */
static int post_link(const struct fb_handoff_instance *i, const struct fb_handoff_link *link,
		     double *pack)
{
	int err = FB_OK;

	for (uint32_t m = 0; m < link->moves && !err; m++) {
		double began = fb_handoff_now(i);

		if (!i->receives)
			err = fb_handoff_repack(i, link, m);
		*pack += fb_handoff_now(i) - began;
		if (!err)
			err = i->engine->ops->post(link->move[m]);
	}
	return err;
}

/* Builds and posts what this rank posts, link by link. */
static int begin(struct fb_handoff_instance *i, struct fb_handoff_times *t)
{
	double began = fb_handoff_now(i), pack = 0;
	int err = FB_OK;

	for (int k = 0; k < i->links && i->plan.cold && !err; k++)
		if (fb_handoff_posts(i, &i->link[k]))
			err = fb_handoff_build(i, &i->link[k]);
	if (i->posts)
		t->build = fb_handoff_now(i) - began;
	began = fb_handoff_now(i);
	for (int k = 0; k < i->links && !err; k++)
		if (fb_handoff_posts(i, &i->link[k]))
			err = post_link(i, &i->link[k], &pack);
	if (i->posts)
		t->post = fb_handoff_now(i) - began - pack;
	if (i->posts && !i->receives)
		t->pack = pack;
	return err;
}

static void stamp(const struct fb_handoff_instance *i, double *when)
{
	*when = isnan(*when) ? fb_handoff_now(i) : *when;
}

uint64_t fb_handoff_pair_moves(const struct fb_handoff_instance *i,
			       const struct fb_handoff_link *link)
{
	uint64_t moves = 0;

	for (int k = 0; k < i->links; k++)
		if (i->link[k].from == link->from && i->link[k].to == link->to)
			moves += i->link[k].moves;
	return moves;
}

/* Seconds of all of this process's threads. */
static double cpu_seconds(void)
{
	struct timespec t = {0, 0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Puts back those messages of a link that have come, if this rank receives: all with GET. */
static int unpack(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
		  struct fb_handoff_times *t)
{
	double began = fb_handoff_now(i);
	int err = FB_OK;

	if (!link->packing || link->unpacked >= link->come)
		return FB_OK;
	while (link->unpacked < link->moves && link->unpacked < link->come && !err)
		err = fb_handoff_repack(i, link, link->unpacked++);
	t->unpack = fb_handoff_now(i) - began + (isnan(t->unpack) ? 0 : t->unpack);
	return err;
}

/* How far this rank's own moves of a link are; *open: one link more if some are under way. */
static int look_at_moves(const struct fb_handoff_instance *i, struct fb_handoff_link *link,
			 uint64_t call, struct fb_handoff_times *t, int *open)
{
	bool done = true;
	int err = FB_OK;

	while (link->open && done && !err) {
		err = i->engine->ops->test(link->move[link->open - 1], &done);
		link->open -= done;
	}
	*open += link->open > 0;
	if (!link->open)
		fb_handoff_note_told(i, link, call, t);
	if (i->receives && !link->open)
		link->come = link->moves;
	return err;
}

/* Looks once at all links, then unpacks what has arrived; *open: number of unfinished links. */
static int look(struct fb_handoff_instance *i, uint64_t call, struct fb_handoff_times *t, int *open)
{
	int own = 0, others = 0, err = FB_OK;

	if (i->watches && i->receives && isnan(t->visible) && fb_handoff_seen(i))
		t->visible = fb_handoff_now(i);
	for (int k = 0; k < i->links && !err; k++) {
		struct fb_handoff_link *link = &i->link[k];

		if (fb_handoff_posts(i, link))
			err = look_at_moves(i, link, call, t, &own);
		if (fb_handoff_waits(i, link) && (link->packing || !link->follows) && !err)
			err = fb_handoff_listen(i, link, call, t, &others);
	}
	if (!err)
		err = fb_handoff_tell(i);
	for (int k = 0; k < i->links && !err; k++)
		err = unpack(i, &i->link[k], t);
	if (i->posts && !own)
		stamp(i, i->receives ? &t->usable : &t->released);
	if (i->waits && !others)
		stamp(i, i->plan.get ? &t->released : &t->usable);
	*open = own + others;
	return err;
}

/* Receivers of SENDs say that their RECVs are posted. */
static void announce_receives(const struct fb_handoff_instance *i)
{
	MPI_Comm comm = i->state->machine.world->comm;

	for (int k = 0; k < i->links; k++) {
		const struct fb_handoff_link *link = &i->link[k];

		if (link->follows)
			continue;
		if (i->receives)
			MPI_Send(NULL, 0, MPI_BYTE, link->from, TAG, comm);
		else
			MPI_Recv(NULL, 0, MPI_BYTE, link->to, TAG, comm, MPI_STATUS_IGNORE);
	}
}

/* Waits until the other ends permit the call, which is not timed; `call` counts from 1. */
int fb_handoff_await_leave(const struct fb_handoff_instance *i, uint64_t call)
{
	bool get = i->plan.get;
	int err = FB_OK;

	for (int k = 0; k < i->links && !i->plan.send && !err; k++) {
		const struct fb_handoff_link *link = &i->link[k];
		uint64_t wanted = link->note_base + (get ? call : call - 1);

		if (fb_handoff_posts(i, link) && !link->follows)
			err = fb_mover_await(i->engine->mover, get ? link->from : link->to,
					     get ? FB_NOTE_READY : FB_NOTE_FREE, wanted);
	}
	return err;
}

/* Permits the next request; with --notify last, senders progress the last notice until it left. */
static int give_leave(const struct fb_handoff_instance *i)
{
	int err = FB_OK;

	for (int k = 0; k < i->links && !err; k++)
		if (i->link[k].note) {
			err = i->engine->ops->post(i->link[k].note);
			if (!err)
				err = fb_move_wait(i->link[k].note);
		} else if (i->link[k].last) {
			err = fb_move_wait(i->link[k].last);
		}
	return err;
}

void fb_handoff_once(struct fb_handoff_instance *i, uint64_t call)
{
	struct fb_handoff_times *t = new_call(i);
	struct fb_spin spin = {.yields = i->state->machine.world->oversubscribed};
	int open = 1, err = !t ? FB_ENOMEM : i->plan.registers ? fb_handoff_forget(i) : FB_OK;
	double cpu_s = cpu_seconds(), began;

	if (!err && i->beside)
		err = fb_kv_beside_begin(i->beside, i->fastest_s);
	/* On GPUs this waits for earlier computing, which must not be in any rank's stage. */
	if (i->plan.beside && i->engine->device)
		err = fb_group_agree(i->state->machine.world, err);
	began = fb_handoff_now(i);
	if (!err && i->plan.registers)
		err = fb_handoff_register(i, t);
	if (!err && i->plan.get) {
		if (i->waits)
			stamp(i, &t->begin);
		err = pack_all(i, t);
		if (!err)
			err = give_leave(i);
	}
	if (!err)
		err = fb_handoff_await_leave(i, call);
	if (!err && i->plan.send && !i->receives)
		announce_receives(i);
	if (!err && !i->plan.get && i->posts && !i->receives)
		stamp(i, &t->begin);
	if (!err)
		err = begin(i, t);
	if (!err && i->plan.send && i->receives)
		announce_receives(i);
	i->seen.link = 0;
	i->seen.repeat = i->seen.run = 0;
	for (int k = 0; k < i->links; k++) {
		i->link[k].told = 0;
		i->link[k].said = false;
		i->link[k].unpacked = 0;
		i->link[k].come = 0;
		i->link[k].open = fb_handoff_posts(i, &i->link[k]) ? i->link[k].moves : 0;
	}
	if (!err)
		err = fb_handoff_tell(i);
	while (!err && open) {
		err = look(i, call, t, &open);
		if (!err && open)
			err = fb_mover_again(i->engine->mover, &spin, "waiting for a peer's pages");
	}
	for (int k = 0; k < i->links && i->plan.cold && !err; k++)
		if (fb_handoff_posts(i, &i->link[k]))
			fb_handoff_unbuild(i, &i->link[k]);
	i->cpu_s += cpu_seconds() - cpu_s;
	i->fastest_s = fb_kv_beside_fastest(i->fastest_s, fb_handoff_now(i) - began);
	if (i->watches && i->receives && !err) {
		/* The data that the last look did not wait for has come by now, or is late. */
		i->early |= isnan(t->visible) && !fb_handoff_seen(i);
		t->visible = isnan(t->visible) ? t->notified : t->visible;
		fb_handoff_hide(i);
	}
	err = err || i->plan.get ? err : give_leave(i);
	if (err)
		fb_fail(i->state->machine.session, "a request", err);
}

int fb_handoff_run(void *instance, int calls)
{
	struct fb_handoff_instance *i = instance;
	int err = FB_OK;

	if (i->plan.operation == FB_HANDOFF_HANDOVER)
		return i->carrier->run(i->request, FB_KV_ALL, calls);
	for (int k = 0; k < calls && !err; k++)
		if (i->plan.operation == FB_HANDOFF_FIT)
			err = fb_fit_run(i);
		else
			fb_handoff_once(i, ++i->handed);
	return err;
}
