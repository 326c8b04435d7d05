/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mover as others write one, built as a library of its own and loaded by FB_MOVERS: the ranks of
 * a host copy from and to the segment that all of them map. docs/movers.md explains it.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/flags.h"

struct example {
	struct fb_mover mover; /* first */
	struct fb_segment flags;
};

static const struct fb_mover_ops ops;

static int example_open(struct fb_mover **mover, const struct fb_session *session,
			const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, &ops, sizeof(struct example), session, group);

	(void)why;
	if (err)
		return err;
	err = fb_segment_open(&((struct example *)*mover)->flags, group, fb_flags_bytes(group),
			      FB_PAGES_NORMAL);
	if (err)
		fb_mover_free(*mover);
	return err;
}

static void example_close(struct fb_mover *mover)
{
	MPI_Barrier(mover->group->comm);
	fb_segment_close(&((struct example *)mover)->flags);
	fb_mover_free(mover);
}

static int example_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			   struct fb_move **move)
{
	(void)form;
	return fb_move_new(mover, given, sizeof(**move), move);
}

static int example_post(struct fb_move *move)
{
	int rank = move->mover->group->rank;

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		struct fb_runs runs = {.walk = {.transfer = t}};
		uint64_t local, remote, bytes;

		while ((bytes = fb_runs_next(&runs, &local, &remote))) {
			char *here = fb_transfer_local(t, rank) + local;
			char *there = fb_segment_part(t->remote->segment, t->peer) + remote;

			if (t->verb == FB_MOVE_PUT)
				memcpy(there, here, bytes);
			else
				memcpy(here, there, bytes);
		}
		if (t->notice)
			fb_flag_give(&((struct example *)move->mover)->flags, move->mover, t->peer,
				     t->notice);
	}
	return FB_OK;
}

static int example_test(struct fb_move *move, bool *done)
{
	(void)move;
	*done = true;
	return FB_OK;
}

static int example_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	*count = fb_flag_count(&((struct example *)mover)->flags, mover, from, notice);
	return FB_OK;
}

static void example_describe(struct fb_move *move, struct fb_traits *traits)
{
	(void)move;
	snprintf(traits->path, sizeof(traits->path), "an example of a plugin");
}

static const struct fb_mover_ops ops = {
	.name = "example", .summary = "an example of a plugin", .transport = "shm",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET, .one_host = true,
	.open = example_open, .close = example_close, .add = fb_region_add,
	.remove = fb_region_remove, .prepare = example_prepare, .release = fb_move_free,
	.post = example_post, .test = example_test, .arrived = example_arrived,
	.describe = example_describe,
};

const struct fb_mover_ops *fb_mover_plugin(unsigned version)
{
	return version == FB_MOVER_VERSION ? &ops : NULL;
}
