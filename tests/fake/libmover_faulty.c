/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mover with a fault, by name, as a plugin: shm, but of the notices of any rank and number only
 * the first so many are ever seen, and later ones are lost.
 */
#include "common/mover/mover.h"

enum { SEEN = 7 };

static struct fb_mover_ops ops;

static int faulty_open(struct fb_mover **mover, const struct fb_session *session,
		       const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_mover_shm.open(mover, session, group, why);

	if (!err)
		(*mover)->ops = &ops;
	return err;
}

static int faulty_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	int err = fb_mover_shm.arrived(mover, from, notice, count);

	*count = *count < SEEN ? *count : SEEN;
	return err;
}

const struct fb_mover_ops *fb_mover_plugin(unsigned version)
{
	ops = fb_mover_shm;
	ops.name = "faulty";
	ops.summary = "shm that loses notices";
	ops.open = faulty_open;
	ops.arrived = faulty_arrived;
	return version == FB_MOVER_VERSION ? &ops : NULL;
}
