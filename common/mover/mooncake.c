/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover mooncake: the row that says why Mooncake's transfer engine is not measured by itself. Its
 * Python wheel has no C interface, and its C++ interface is of the compiler that built the wheel.
 * NIXL has a plugin for it, which mover nixl can use.
 */
#include <stdio.h>

#include "common/base/error.h"
#include "common/mover/mover.h"

static int mooncake_open(struct fb_mover **mover, const struct fb_session *session,
			 const struct fb_group *group, char why[FB_REASON_CHARS])
{
	(void)mover;
	(void)session;
	(void)group;
	snprintf(why, FB_REASON_CHARS, "Mooncake's wheel has no C interface: use engine nixl with "
		 "FB_NIXL_BACKEND=MOONCAKE, a plugin that NIXL builds from source");
	return FB_EUNSUPPORTED;
}

const struct fb_mover_ops fb_mover_mooncake = {
	.name = "mooncake", .summary = "Mooncake's transfer engine", .transport = "mooncake",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET, .open = mooncake_open,
};
