/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared part of plugins that are mover shm with one fault; each changes calls in `ops`. */
#ifndef FB_TESTS_FAKE_MOVER_OVER_SHM_H
#define FB_TESTS_FAKE_MOVER_OVER_SHM_H

#include "common/mover/mover.h"

static struct fb_mover_ops ops;

static int open_over_shm(struct fb_mover **mover, const struct fb_session *session,
			 const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_mover_shm.open(mover, session, group, why);

	if (!err)
		(*mover)->ops = &ops;
	return err;
}

/* Sets ops to those of shm, under a name of their own. */
static void begin_over_shm(const char *name, const char *summary)
{
	ops = fb_mover_shm;
	ops.name = name;
	ops.summary = summary;
	ops.open = open_over_shm;
}

#endif
