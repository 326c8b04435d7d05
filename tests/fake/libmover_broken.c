/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mover with a fault, as a plugin: shm, but one rank's call fails with "broken on purpose".
 * FB_BROKEN is the call: add, connect (both end with an error on all ranks, as movers agree on it),
 * prepare, post, or test; FB_BROKEN_RANK the rank; FB_BROKEN_AT which of its calls, from 1.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "tests/fake/mover_over_shm.h"

/* FB_ESYS (printed) where this is the call that fails. */
static int fail_at(const struct fb_mover *mover, const char *call)
{
	static unsigned calls;
	const char *which = getenv("FB_BROKEN"), *rank = getenv("FB_BROKEN_RANK");
	const char *at = getenv("FB_BROKEN_AT");

	if (!which || strcmp(which, call) || !rank || atoi(rank) != mover->group->rank)
		return FB_OK;
	if (++calls != (at ? (unsigned)atoi(at) : 1))
		return FB_OK;
	return fb_error(FB_ESYS, "mover broken: %s is broken on purpose", call);
}

static int broken_open(struct fb_region *region)
{
	return fail_at(region->mover, "add");
}

static int broken_add(struct fb_mover *mover, const struct fb_segment *segment,
		      struct fb_region **region)
{
	return fb_region_new(mover, segment, sizeof(struct fb_region), broken_open, region);
}

static int broken_connect(struct fb_mover *mover, const int *peers, int n)
{
	(void)peers;
	(void)n;
	return fb_group_agree(mover->group, fail_at(mover, "connect"));
}

static int broken_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			  struct fb_move **move)
{
	int err = fail_at(mover, "prepare");

	return err ? err : fb_mover_shm.prepare(mover, given, form, move);
}

static int broken_post(struct fb_move *move)
{
	int err = fail_at(move->mover, "post");

	return err ? err : fb_mover_shm.post(move);
}

static int broken_test(struct fb_move *move, bool *done)
{
	int err = fail_at(move->mover, "test");

	return err ? err : fb_mover_shm.test(move, done);
}

const struct fb_mover_ops *fb_mover_plugin(unsigned version)
{
	begin_over_shm("broken", "shm with a call that fails");
	ops.add = broken_add;
	ops.connect = broken_connect;
	ops.prepare = broken_prepare;
	ops.post = broken_post;
	ops.test = broken_test;
	return version == FB_MOVER_VERSION ? &ops : NULL;
}
