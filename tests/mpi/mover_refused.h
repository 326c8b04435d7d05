/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What movers and their common code have to refuse: bad transfers, overlapping targets, and regions
 * that are not the same to all ranks.
 */
#ifndef FB_TESTS_MPI_MOVER_REFUSED_H
#define FB_TESTS_MPI_MOVER_REFUSED_H

#include "common/base/error.h"
#include "common/cuda/gpu_segment.h"
#include "common/mover/mover.h"
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
	pieces[1].bytes = 63;
	CHECK_INT(fb_transfer_check_targets(&t), FB_OK);
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

#endif
