/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group whose last rank has no links, and a region that is removed when a PUT without a notice is
 * done at its source, while the target has not called its mover since. The bytes have to be there
 * behind the removal, and all ranks have to come through removal and close. Over wires once more
 * with a PUT that does not fit into the region: only its target sees that, in the removal. All
 * ranks still have to come through, and none of them may add another region. Closing takes back the
 * links' memory all the same.
 */
#ifndef FB_TESTS_MPI_MOVER_LEFT_OUT_H
#define FB_TESTS_MPI_MOVER_LEFT_OUT_H

#include <malloc.h>

#include "common/base/error.h"
#include "tests/mpi/mover_flow.h"
#include "tests/mpi/mover_refused.h"
#include "tests/unit/check.h"

/* The links of a rank have more memory than LEFT_OUT_LEAK; MPI's own differs by less. */
enum { LEFT_OUT_BYTES = 64, LEFT_OUT_PART = 4096, LEFT_OUT_LEAK = 1 << 20 };

/* Bytes that this process has of malloc; 0 with the address sanitizer, which sees leaks itself. */
static inline size_t allocated_left_out(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
}

/* Tests the move until it is done, and releases it. */
static inline void end_move(struct fb_move *move, double patience_s)
{
	const struct fb_mover_ops *ops = move->mover->ops;
	double until = MPI_Wtime() + patience_s;
	bool done = false;

	while (!done && MPI_Wtime() < until)
		if (!CHECK_INT(ops->test(move, &done), FB_OK))
			break;
	if (CHECK(done))
		ops->release(move);
}

/* One move of LEFT_OUT_BYTES with the peer, from the part's first bytes or to those behind them. */
static inline void move_left_out(const struct opened *o, enum fb_move_verb verb, int peer,
				 bool spoilt, double patience_s)
{
	static struct fb_piece piece; /* a move that is never done still names it */
	const struct fb_transfer t = {.verb = verb, .peer = peer, .local = o->region,
				      .remote = o->region, .piece = &piece, .pieces = 1};
	struct fb_move *move = NULL;

	piece = (struct fb_piece){verb == FB_MOVE_RECV ? LEFT_OUT_BYTES : 0, LEFT_OUT_BYTES,
				  LEFT_OUT_BYTES};
	if (!CHECK_INT(fb_move_prepare(o->mover, &t, 1, NULL, &move), FB_OK))
		return;
	if (spoilt)
		piece.remote = o->segment.part_bytes - 1;
	if (CHECK_INT(o->mover->ops->post(move), FB_OK))
		end_move(move, patience_s);
}

/* Until rank 0 says that its PUT is done. Only where that needs the target, it calls its mover. */
static inline void await_left_out(const struct opened *o)
{
	uint64_t count;
	int done = 0;
	MPI_Request said;

	MPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, o->mover->group->comm, &said);
	while (!done) {
		MPI_Test(&said, &done, MPI_STATUS_IGNORE);
		if (o->mover->ops->lands)
			CHECK_INT(o->mover->ops->arrived(o->mover, 0, 1, &count), FB_OK);
	}
}

/* Rank 0 to rank 1, or to itself where rank 1 is the last one. */
static inline void run_left_out(struct opened *o, bool spoilt, double patience_s)
{
	const struct fb_group *g = o->mover->group;
	unsigned char *part = (unsigned char *)fb_segment_part(&o->segment, g->rank);
	int last = g->nranks - 1, n = g->rank < last ? last : 0, target = last > 1, wrong = 0;
	int peers[MOST_RANKS];
	bool puts = o->mover->ops->verbs >> FB_MOVE_PUT & 1;

	for (int p = 0; p < n; p++)
		peers[p] = p;
	if (o->mover->ops->connect)
		CHECK_INT(o->mover->ops->connect(o->mover, peers, n), FB_OK);
	memset(part, CANARY, LEFT_OUT_PART);
	for (uint64_t i = 0; i < LEFT_OUT_BYTES && g->rank == 0; i++)
		part[i] = byte_of(1, i);
	MPI_Barrier(g->comm);
	if (g->rank == 0 && (puts || target))
		move_left_out(o, puts ? FB_MOVE_PUT : FB_MOVE_SEND, target, spoilt, patience_s);
	if (g->rank == 1 && target && !puts)
		move_left_out(o, FB_MOVE_RECV, 0, spoilt, patience_s);
	if (g->rank == 0 && target)
		MPI_Send(NULL, 0, MPI_BYTE, 1, 0, g->comm);
	if (g->rank == 1 && target)
		await_left_out(o);
	fb_mover_remove(o->region);
	for (uint64_t i = 0; i < LEFT_OUT_BYTES && g->rank == target && (puts || target); i++)
		wrong += part[LEFT_OUT_BYTES + i] != (spoilt ? CANARY : byte_of(1, i));
	CHECK_INT(wrong, 0);
	if (spoilt)
		CHECK_INT(fb_mover_add(o->mover, &o->segment, &o->region), FB_EPEER);
	CHECK_INT(fb_mover_close(o->mover), 0);
}

/* Host memory only, whose bytes this process can look at. A mover that is absent has said so. */
static inline void test_left_out(const struct fb_session *session, const struct fb_mover_ops *ops,
				 double patience_s)
{
	const struct fb_group *world = session->world;
	bool wire = ops == &fb_mover_tcp || ops == &fb_mover_file;
	int times = wire && world->nranks > 2 ? 2 : 1;
	struct opened o = {.mover = NULL};
	char why[FB_REASON_CHARS];

	for (int i = 0; i < times && !ops->device && world->nranks > 1; i++) {
		size_t before = allocated_left_out();

		if (fb_mover_open(&o.mover, ops, session, world, why))
			return;
		CHECK_INT(fb_mover_segment(&o.segment, ops, session, NULL, world, LEFT_OUT_PART),
			  FB_OK);
		CHECK_INT(fb_mover_add(o.mover, &o.segment, &o.region), FB_OK);
		run_left_out(&o, i > 0, patience_s);
		fb_segment_close(&o.segment);
		/* In the first round libraries keep what they have made for later. */
		CHECK(i == 0 || allocated_left_out() < before + LEFT_OUT_LEAK);
	}
}

#endif
