/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover mpi_window: MPI_Rput and MPI_Rget on a window over each region, all in one passive epoch
 * (MPI_Win_lock_all). A transfer's pieces are one derived datatype at either end (mpi_move.h), so
 * that the library sees all of them at once; a notice is an empty message.
 *
 * Order. A PUT's notice is sent when MPI_Win_flush has returned: the bytes are then in the target's
 * memory. MPI distinguishes a window's public and private copy, so the target synchronises the
 * windows between the message and the first load (MPI_Win_sync). A GET's notice is also sent after
 * a flush: its bytes have then been read. Moves give their notices in the order of posting,
 * whichever of them is tested.
 *
 * Where the library carries one-sided calls out in software, MPI_Win_flush waits until the target
 * calls MPI; a target does so, because it waits for the notice by calling arrived().
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/memory/mpi_window.h"
#include "common/mover/mpi_move.h"

struct mpi_region {
	struct fb_region region;
	MPI_Win window;
	struct mpi_region *next;
};

/* The first requests, one per transfer, are for the bytes, the others for notices. */
struct mpi_move {
	struct fb_mpi_move base;
	struct mpi_move *next; /* among those that have notices to give */
	bool queued, moved;
};

struct mpi_mover {
	struct fb_mover mover;
	MPI_Comm data, notices;
	struct mpi_region *regions;
	struct mpi_move *head, *tail; /* posted, their notices not given, in order */
	MPI_Request next_notice;
	uint64_t (*arrived)[FB_NOTICES + 1]; /* [nranks] */
};

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): other functions began these requests. */
static void mpi_close(struct fb_mover *mover)
{
	struct mpi_mover *m = (struct mpi_mover *)mover;

	MPI_Barrier(mover->group->comm);
	MPI_Cancel(&m->next_notice);
	MPI_Wait(&m->next_notice, MPI_STATUS_IGNORE);
	MPI_Comm_free(&m->data);
	MPI_Comm_free(&m->notices);
	free(m->arrived);
	fb_mover_free(mover);
}

static void await_notice(struct mpi_mover *m)
{
	MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, m->notices, &m->next_notice);
}

static int mpi_open(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *group, char why[FB_REASON_CHARS])
{
	struct mpi_mover *m;
	int err = fb_mover_new(mover, &fb_mover_mpi_window, sizeof(*m), session, group);

	if (err)
		return err;
	m = (struct mpi_mover *)*mover;
	m->arrived = calloc((size_t)group->nranks, sizeof(*m->arrived));
	err = fb_group_agree(group, m->arrived ? FB_OK : FB_ENOMEM);
	MPI_Comm_dup(group->comm, &m->data);
	MPI_Comm_dup(group->comm, &m->notices);
	if (err)
		fb_error_print("mover mpi_window: out of memory");
	else if (!fb_mpi_has_windows(group, m->data, why, FB_REASON_CHARS))
		err = FB_EUNSUPPORTED;
	await_notice(m);
	if (err)
		mpi_close(*mover);
	return err;
}

/* --- regions ---------------------------------------------------------------------------------- */

static int mpi_add(struct fb_mover *mover, const struct fb_segment *segment,
		   struct fb_region **region)
{
	struct mpi_mover *m = (struct mpi_mover *)mover;
	struct mpi_region *r = calloc(1, sizeof(*r));
	int err = fb_group_agree(mover->group, r ? FB_OK : FB_ENOMEM);

	if (!err && r)
		err = fb_mpi_window(mover->group, m->data,
				    fb_segment_part(segment, mover->group->rank),
				    segment->part_bytes, &r->window);
	if (err || !r) {
		free(r);
		return fb_error(err, "mover mpi_window: no window over %zu bytes",
				segment->part_bytes);
	}
	r->region = (struct fb_region){mover, segment};
	MPI_Win_lock_all(MPI_MODE_NOCHECK, r->window);
	r->next = m->regions;
	m->regions = r;
	*region = &r->region;
	return FB_OK;
}

static void mpi_remove(struct fb_region *region)
{
	struct mpi_mover *m = (struct mpi_mover *)region->mover;
	struct mpi_region *r = (struct mpi_region *)region, **at = &m->regions;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	MPI_Win_unlock_all(r->window);
	MPI_Win_free(&r->window);
	free(r);
}

/* --- notices ---------------------------------------------------------------------------------- */

static void take_notices(struct mpi_mover *m)
{
	MPI_Status status;
	int came = 0;

	for (;;) {
		MPI_Test(&m->next_notice, &came, &status);
		if (!came)
			return;
		m->arrived[status.MPI_SOURCE][status.MPI_TAG]++;
		for (const struct mpi_region *r = m->regions; r; r = r->next)
			MPI_Win_sync(r->window);
		await_notice(m);
	}
}

static void give_notices(const struct mpi_mover *m, struct mpi_move *move)
{
	for (uint32_t i = 0; i < move->base.move.transfers; i++) {
		const struct fb_transfer *t = &move->base.move.transfer[i];

		if (!t->notice)
			continue;
		if (t->verb == FB_MOVE_PUT && t->pieces)
			MPI_Win_flush(t->peer, ((const struct mpi_region *)t->remote)->window);
		MPI_Isend(NULL, 0, MPI_BYTE, t->peer, t->notice, m->notices,
			  &move->base.request[move->base.move.transfers + i]);
	}
}

/*
 * Whether the move's bytes have moved on this side. MPICH 4.0 completes the request of an MPI_Rget
 * with datatypes before all bytes have arrived (tests/mpi/test_mover.c found that), so the window
 * is flushed as well.
 */
static bool has_moved(struct mpi_move *move)
{
	int done = 0;

	MPI_Testall((int)move->base.move.transfers, move->base.request, &done, move->base.status);
	if (!done || move->moved)
		return done;
	for (uint32_t i = 0; i < move->base.move.transfers; i++) {
		const struct fb_transfer *t = &move->base.move.transfer[i];

		if (t->verb == FB_MOVE_GET && t->pieces)
			MPI_Win_flush(t->peer, ((const struct mpi_region *)t->remote)->window);
	}
	move->moved = true;
	return true;
}

static void progress(struct mpi_mover *m)
{
	take_notices(m);
	while (m->head && has_moved(m->head)) {
		struct mpi_move *first = m->head;

		m->head = first->next;
		first->queued = false;
		give_notices(m, first);
	}
}

static int mpi_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct mpi_mover *m = (struct mpi_mover *)mover;

	progress(m);
	*count = m->arrived[from][notice];
	return FB_OK;
}

/* --- moves ------------------------------------------------------------------------------------ */

static int mpi_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		       struct fb_move **move)
{
	(void)form;
	return fb_mpi_move_new(mover, given, sizeof(struct mpi_move), move);
}

static void post_transfer(const struct mpi_mover *m, const struct fb_transfer *t,
			  const struct fb_mpi_sides *s, MPI_Request *request)
{
	MPI_Win window;
	char *local;

	if (!s->bytes)
		return;
	local = fb_transfer_local(t, m->mover.group->rank) + s->local.at;
	window = ((const struct mpi_region *)t->remote)->window;
	if (t->verb == FB_MOVE_PUT)
		MPI_Rput(local, s->local.count, s->local.type, t->peer, (MPI_Aint)s->remote.at,
			 s->remote.count, s->remote.type, window, request);
	else
		MPI_Rget(local, s->local.count, s->local.type, t->peer, (MPI_Aint)s->remote.at,
			 s->remote.count, s->remote.type, window, request);
}

static int mpi_post(struct fb_move *move)
{
	struct mpi_mover *m = (struct mpi_mover *)move->mover;
	struct mpi_move *mine = (struct mpi_move *)move;
	bool tells = false;

	mine->moved = false;
	for (uint32_t i = 0; i < move->transfers; i++) {
		post_transfer(m, &move->transfer[i], &mine->base.side[i], &mine->base.request[i]);
		tells |= move->transfer[i].notice != 0;
	}
	if (!tells)
		return FB_OK;
	mine->queued = true;
	mine->next = NULL;
	if (m->head)
		m->tail->next = mine;
	else
		m->head = mine;
	m->tail = mine;
	return FB_OK;
}

static int mpi_test(struct fb_move *move, bool *done)
{
	struct mpi_mover *m = (struct mpi_mover *)move->mover;
	struct mpi_move *mine = (struct mpi_move *)move;
	int told = 0;

	progress(m);
	*done = false;
	if (mine->queued || !has_moved(mine))
		return FB_OK;
	MPI_Testall((int)move->transfers, mine->base.request + move->transfers, &told,
		    mine->base.status);
	*done = told;
	return FB_OK;
}

static void mpi_describe(struct fb_move *move, struct fb_traits *traits)
{
	snprintf(traits->path, sizeof(traits->path), "%.120s windows", move->mover->group->library);
	traits->channels = 1;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

const struct fb_mover_ops fb_mover_mpi_window = {
	.name = "mpi_window",
	.summary = "the MPI library's one-sided calls",
	.transport = "library",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,
	.open = mpi_open,
	.close = mpi_close,
	.add = mpi_add,
	.remove = mpi_remove,
	.prepare = mpi_prepare,
	.release = fb_mpi_move_release,
	.post = mpi_post,
	.test = mpi_test,
	.arrived = mpi_arrived,
	.describe = mpi_describe,
};
