/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An owner whose bytes for one rank stay unsent, as that rank does not read: neither its notice of
 * another rank's GET nor the end of its PUT to that other rank may wait. By sockets, as nothing of
 * memory stays unsent.
 */
#ifndef FB_TESTS_MPI_MOVER_STUCK_H
#define FB_TESTS_MPI_MOVER_STUCK_H

#include "common/base/error.h"
#include "common/mover/wire.h"
#include "common/transport/tcp.h"
#include "tests/mpi/mover_left_out.h"
#include "tests/unit/check.h"

/* STUCK_BYTES fit into the slots, not into the sockets' buffers of a rank that does not read. */
enum {
	STUCK_BYTES = 32 << 20,
	STUCK_SLOTS = 256,
	STUCK_BUFFER = 256 << 10, /* of a socket, at each end */
	STUCK_POLLS = 20000,
	STUCK_NOTICE = 1,
	STUCK_PUT = 64, /* bytes behind those that rank 2 gets */
};

/* Rank 0: polls until the notice of rank `from`'s GET has come. False: it has not within `s`. */
static inline bool stuck_notice(struct fb_mover *mover, int from, double s)
{
	double until = MPI_Wtime() + s;
	uint64_t count = 0;

	while (!count && MPI_Wtime() < until)
		if (mover->ops->arrived(mover, from, STUCK_NOTICE, &count))
			return false;
	return count == 1;
}

/* Rank 0: rank 2 does not read; rank 1 gets its bytes, and a PUT to it is done. */
static inline void own_stuck(const struct opened *o, double patience_s)
{
	struct fb_mover *mover = o->mover;
	const struct fb_piece piece = {STUCK_BYTES, STUCK_BYTES, STUCK_PUT};
	const struct fb_transfer put = {.verb = FB_MOVE_PUT, .peer = 1, .local = o->region,
					.remote = o->region, .piece = &piece, .pieces = 1};
	struct fb_move *move = NULL;
	MPI_Comm comm = mover->group->comm;
	const struct fb_transport *transport = ((struct fb_wire *)mover)->transport;
	uint64_t count = 0;

	MPI_Recv(NULL, 0, MPI_BYTE, 2, 0, comm, MPI_STATUS_IGNORE);
	for (int i = 0; i < STUCK_POLLS; i++)
		CHECK_INT(mover->ops->arrived(mover, 2, STUCK_NOTICE, &count), FB_OK);
	CHECK(count == 0);
	CHECK(!fb_tcp_idle(transport));
	MPI_Send(NULL, 0, MPI_BYTE, 1, 0, comm);
	CHECK(stuck_notice(mover, 1, patience_s));
	if (CHECK_INT(fb_move_prepare(mover, &put, 1, NULL, &move), FB_OK) &&
	    CHECK_INT(mover->ops->post(move), FB_OK))
		end_move(move, patience_s);
	CHECK(!fb_tcp_idle(transport));
	MPI_Send(NULL, 0, MPI_BYTE, 2, 0, comm);
	CHECK(stuck_notice(mover, 2, patience_s));
}

/* Ranks 1 and 2: a GET of rank 0's part, when rank 0 says so; rank 2 has asked before that. */
static inline void get_stuck(const struct opened *o, double patience_s)
{
	const struct fb_mover_ops *ops = o->mover->ops;
	MPI_Comm comm = o->mover->group->comm;
	int rank = o->mover->group->rank;
	struct fb_piece piece = {0, 0, rank == 2 ? STUCK_BYTES : 64};
	const struct fb_transfer t = {.verb = FB_MOVE_GET, .local = o->region,
				      .remote = o->region, .piece = &piece, .pieces = 1,
				      .notice = STUCK_NOTICE};
	struct fb_move *move = NULL;

	CHECK_INT(fb_move_prepare(o->mover, &t, 1, NULL, &move), FB_OK);
	if (rank == 2) {
		CHECK_INT(ops->post(move), FB_OK);
		MPI_Send(NULL, 0, MPI_BYTE, 0, 0, comm);
	}
	MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
	if (rank == 1)
		CHECK_INT(ops->post(move), FB_OK);
	end_move(move, patience_s);
}

static inline void test_stuck(const struct fb_session *with, double patience_s)
{
	struct fb_settings settings = *with->settings;
	struct fb_session session = *with;
	const struct fb_group *world = with->world;
	struct opened o = {.mover = NULL};
	const int peers[] = {0, 1, 2};
	char why[FB_REASON_CHARS];

	if (world->nranks < 3)
		return;
	settings.slots = STUCK_SLOTS;
	settings.tcp.send_buffer = settings.tcp.receive_buffer = STUCK_BUFFER;
	session.settings = &settings;
	if (!CHECK_INT(fb_mover_open(&o.mover, &fb_mover_tcp, &session, world, why), FB_OK))
		return;
	CHECK_INT(fb_mover_segment(&o.segment, &fb_mover_tcp, &session, NULL, world,
				   STUCK_BYTES + STUCK_PUT), FB_OK);
	CHECK_INT(fb_mover_add(o.mover, &o.segment, &o.region), FB_OK);
	CHECK_INT(o.mover->ops->connect(o.mover, peers, world->rank < 3 ? 3 : 0), FB_OK);
	if (world->rank == 0)
		own_stuck(&o, patience_s);
	else if (world->rank < 3)
		get_stuck(&o, patience_s);
	MPI_Barrier(world->comm);
	fb_mover_remove(o.region);
	CHECK_INT(fb_mover_close(o.mover), 0);
	fb_segment_close(&o.segment);
}

#endif
