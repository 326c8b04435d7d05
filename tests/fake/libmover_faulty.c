/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mover with a fault, by name, as a plugin: shm, but of the notices of any rank and number only
 * the first so many are ever seen, and later ones are lost.
 */
#include "tests/fake/mover_over_shm.h"

enum { SEEN = 7 };

static int faulty_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	int err = fb_mover_shm.arrived(mover, from, notice, count);

	*count = *count < SEEN ? *count : SEEN;
	return err;
}

const struct fb_mover_ops *fb_mover_plugin(unsigned version)
{
	begin_over_shm("faulty", "shm that loses notices");
	ops.arrived = faulty_arrived;
	return version == FB_MOVER_VERSION ? &ops : NULL;
}
