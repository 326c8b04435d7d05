/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that movers and their common code must refuse: bad transfers, overlapping targets, and
 * regions that are not the same to all ranks.
 */
#ifndef FB_TESTS_MPI_MOVER_REFUSED_H
#define FB_TESTS_MPI_MOVER_REFUSED_H

#include "common/base/error.h"
#include "common/cuda/gpu_segment.h"
#include "common/mover/rdma.h"
#include "common/mover/ucx.h"
#include "tests/unit/check.h"

/* A mover opened on a group, with a region. */
struct opened {
	struct fb_mover *mover;
	struct fb_gpu gpu; /* of movers between GPUs */
	struct fb_segment segment;
	struct fb_region *region;
};

/* What is refused, without a message that would look like a failure of the test. */
static inline void test_refused(const struct opened *o)
{
	uint64_t most = o->segment.part_bytes;
	struct fb_piece piece = {0, 0, 8};
	int verb = o->mover->ops->verbs & 1 ? FB_MOVE_PUT : FB_MOVE_SEND;
	struct fb_transfer good = {.verb = (enum fb_move_verb)verb, .local = o->region,
				   .remote = o->region, .piece = &piece, .pieces = 1};
	struct fb_transfer bad = good;
	struct fb_move *move = NULL;

	good.peer = bad.peer = o->mover->group->nranks - 1;
	bad.peer = o->mover->group->nranks;
	CHECK_INT(fb_move_prepare(o->mover, &bad, 1, NULL, &move), FB_EINPUT);
	bad = good;
	bad.notice = FB_NOTICES + 1;
	CHECK_INT(fb_move_prepare(o->mover, &bad, 1, NULL, &move), FB_EINPUT);
	bad = good;
	bad.local = NULL;
	CHECK_INT(fb_move_prepare(o->mover, &bad, 1, NULL, &move), FB_EINPUT);
	piece = (struct fb_piece){most - 7, 0, 8};
	CHECK_INT(fb_move_prepare(o->mover, &good, 1, NULL, &move), FB_EINPUT);
	piece = (struct fb_piece){UINT64_MAX - 3, 0, 8};
	CHECK_INT(fb_move_prepare(o->mover, &good, 1, NULL, &move), FB_EINPUT);
	piece = (struct fb_piece){0, 0, 8};
	good.repeats = 3;
	good.local_step = most / 2;
	CHECK_INT(fb_move_prepare(o->mover, &good, 1, NULL, &move), FB_EINPUT);
	good.repeats = 0;
	CHECK_INT(fb_move_prepare(o->mover, &good, 1, "no such form", &move), FB_EINPUT);
}

/* Targets that fall on each other: in a list, and between its repeats only. */
static inline void test_overlap(const struct opened *o)
{
	struct fb_piece pieces[] = {{0, 4096, 64}, {64, 0, 64}, {128, 64, 64}};
	struct fb_transfer t = {.verb = FB_MOVE_PUT, .local = o->region, .remote = o->region,
				.piece = pieces, .pieces = 3, .repeats = 2, .local_step = 192,
				.remote_step = 128};
	struct fb_move *move = NULL;

	CHECK_INT(fb_transfer_check_targets(&t), FB_OK);
	t.verb = FB_MOVE_GET;
	CHECK_INT(fb_transfer_check_targets(&t), FB_OK);
	t.local_step = 191;
	CHECK_INT(fb_transfer_check_targets(&t), FB_EINPUT);
	t.verb = FB_MOVE_PUT;
	CHECK_INT(fb_transfer_check_targets(&t), FB_OK);
	t.remote_step = 127;
	CHECK_INT(fb_transfer_check_targets(&t), FB_EINPUT);
	t.repeats = 1;
	CHECK_INT(fb_transfer_check_targets(&t), FB_OK);
	pieces[2].remote = 63;
	CHECK_INT(fb_transfer_check_targets(&t), FB_EINPUT);
	CHECK_INT(fb_move_prepare_checked(o->mover, &t, 1, NULL, &move), FB_EINPUT);
	CHECK(!move);
	pieces[1].bytes = 63;
	CHECK_INT(fb_transfer_check_targets(&t), FB_OK);
}

static inline void spoil_target(const struct opened *o, struct fb_piece *piece, int peer, bool key)
{
#if FB_HAVE_VERBS
	if (key && o->mover->ops == &fb_mover_rdma) {
		((struct fb_rdma_memory *)o->region)->reach[peer].rkey[0] ^= 0xff;
		return;
	}
#endif
	if (key) {
		((struct fb_ucx_memory *)o->region)->base[peer] += UINT64_C(1) << 40;
		return;
	}
	piece->remote = o->segment.part_bytes - 4;
}

/* The last rank's part has another size: all ranks learn of it, and none has a region. */
static inline void test_unlike_region(struct opened *o)
{
	const struct fb_group *g = o->mover->group;
	struct fb_segment unlike = o->segment;
	struct fb_region *region = NULL;
	struct fb_region_record own, other;

	if (g->nranks > 1) {
		unlike.part_bytes -= g->rank == g->nranks - 1 ? 4096 : 0;
		CHECK_INT(fb_mover_add(o->mover, &unlike, &region), FB_EINPUT);
		CHECK(!region);
	}
	fb_region_record_of(o->mover, &o->segment, &own);
	other = own;
	CHECK(!fb_region_record_unlike(&own, &other, sizeof(other)));
	for (size_t bytes = 0; bytes < sizeof(other); bytes++)
		CHECK(fb_region_record_unlike(&own, &other, bytes));
	other.mover[0]++;
	CHECK(fb_region_record_unlike(&own, &other, sizeof(other)));
	other = own;
	other.version++;
	CHECK(fb_region_record_unlike(&own, &other, sizeof(other)));
	other = own;
	other.device ^= 1;
	CHECK(fb_region_record_unlike(&own, &other, sizeof(other)));
}

/*
 * Spoils a prepared move, whose list is the caller's still: rank 0 puts behind the last rank's
 * region or, by RDMA, with a key that is not that region's. Who learns of it has to say so, and
 * nothing may be written: with messages the target, with RDMA the source, by its completion. All
 * ranks leave together, at the latest after patience_s. After that the mover can only be closed.
 */
static inline void test_wrong_target(struct opened *o, double patience_s)
{
	const struct fb_group *g = o->mover->group;
	const struct fb_mover_ops *ops = o->mover->ops;
	int last = g->nranks - 1, key = ops == &fb_mover_rdma || ops == &fb_mover_ucx, err = FB_OK;
	int judge = key ? 0 : last, over = 0;
	char *part = fb_segment_part(&o->segment, last);
	struct fb_piece piece = {0, 64, 8};
	struct fb_transfer t = {.verb = FB_MOVE_PUT, .peer = last, .local = o->region,
				.remote = o->region, .piece = &piece, .pieces = 1, .notice = 1};
	struct fb_move *move = NULL;
	MPI_Request all = MPI_REQUEST_NULL;
	double until = MPI_Wtime() + patience_s;
	uint64_t count = 0;
	bool done = false;

	if (g->rank == last)
		memset(part, 0x5a, 128);
	MPI_Barrier(g->comm);
	if (g->rank == 0) {
		CHECK_INT(fb_move_prepare(o->mover, &t, 1, NULL, &move), FB_OK);
		spoil_target(o, &piece, last, key);
		err = o->mover->ops->post(move);
	}
	while (!over) {
		if (!err && g->rank == 0 && !done)
			err = o->mover->ops->test(move, &done);
		if (!err && g->rank == last)
			err = o->mover->ops->arrived(o->mover, 0, 1, &count);
		if (all == MPI_REQUEST_NULL &&
		    (g->rank != judge || err || count || MPI_Wtime() > until))
			MPI_Ibarrier(g->comm, &all);
		if (all != MPI_REQUEST_NULL)
			MPI_Test(&all, &over, MPI_STATUS_IGNORE);
	}
	if (g->rank == judge)
		CHECK(err != FB_OK);
	CHECK_INT(count, 0);
	for (int i = 0; i < 128 && g->rank == last; i++)
		CHECK(part[i] == 0x5a);
	if (move)
		o->mover->ops->release(move);
}

#endif
