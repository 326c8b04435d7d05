/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover mpi: MPI_Isend and MPI_Irecv. All pieces of a transfer are one message, which a derived
 * datatype describes at either end (mpi_move.h); the library cuts it as it likes.
 */
#include <stdio.h>

#include "common/base/error.h"
#include "common/mover/mpi_move.h"

enum { TAG = 1 };

struct mpi_mover {
	struct fb_mover mover;
	MPI_Comm comm;
};

static void mpi_close(struct fb_mover *mover)
{
	MPI_Comm_free(&((struct mpi_mover *)mover)->comm);
	fb_mover_free(mover);
}

static int mpi_open(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, &fb_mover_mpi, sizeof(struct mpi_mover), session, group);

	(void)why;
	if (!err)
		MPI_Comm_dup(group->comm, &((struct mpi_mover *)*mover)->comm);
	return err;
}

static int mpi_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		       struct fb_move **move)
{
	(void)form;
	return fb_mpi_move_new(mover, given, sizeof(struct fb_mpi_move), move);
}

static int mpi_post(struct fb_move *move)
{
	struct fb_mpi_move *m = (struct fb_mpi_move *)move;
	MPI_Comm comm = ((const struct mpi_mover *)move->mover)->comm;

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		const struct fb_mpi_side *side = &m->side[i].local;
		char *at;

		if (!m->side[i].bytes)
			continue;
		at = fb_transfer_local(t, move->mover->group->rank) + side->at;
		if (t->verb == FB_MOVE_SEND)
			MPI_Isend(at, side->count, side->type, t->peer, TAG, comm, &m->request[i]);
		else
			MPI_Irecv(at, side->count, side->type, t->peer, TAG, comm, &m->request[i]);
	}
	return FB_OK;
}

static int mpi_test(struct fb_move *move, bool *done)
{
	struct fb_mpi_move *m = (struct fb_mpi_move *)move;
	int complete = 0;

	MPI_Testall((int)move->transfers, m->request, &complete, m->status);
	*done = complete;
	return FB_OK;
}

/* This mover has no notices; the call lets the library progress. */
static int mpi_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	int is;

	(void)from;
	(void)notice;
	MPI_Iprobe(MPI_ANY_SOURCE, TAG, ((struct mpi_mover *)mover)->comm, &is, MPI_STATUS_IGNORE);
	*count = 0;
	return FB_OK;
}

static void mpi_describe(struct fb_move *move, struct fb_traits *traits)
{
	snprintf(traits->path, sizeof(traits->path), "%.120s", move->mover->group->library);
	traits->channels = 1;
}

const struct fb_mover_ops fb_mover_mpi = {
	.name = "mpi",
	.summary = "the MPI library's messages, pieces described by datatypes",
	.transport = "library",
	.verbs = 1u << FB_MOVE_SEND | 1u << FB_MOVE_RECV,
	.open = mpi_open,
	.close = mpi_close,
	.add = fb_region_add,
	.remove = fb_region_remove,
	.prepare = mpi_prepare,
	.release = fb_mpi_move_release,
	.post = mpi_post,
	.test = mpi_test,
	.arrived = mpi_arrived,
	.describe = mpi_describe,
};
