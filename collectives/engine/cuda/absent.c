/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA engine of a build without CUDA: it is there, and says so in every row. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/engine/engine.h"
#include "common/base/error.h"

static int absent_open(struct fb_engine **engine, const struct fb_session *session,
		     const struct fb_group *group)
{
	struct fb_engine *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(group, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return err;
	}
	*e = (struct fb_engine){&fb_engine_cuda, session, group};
	*engine = e;
	return FB_OK;
}

static void absent_close(struct fb_engine *engine)
{
	free(engine);
}

static bool absent_can(const struct fb_engine *engine, const struct fb_case *c,
		       const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	(void)engine;
	(void)c;
	(void)op;
	snprintf(reason, FB_REASON_CHARS, "built without CUDA");
	return false;
}

const struct fb_engine_ops fb_engine_cuda = {
	.name = "cuda",
	.summary = "the project's plans between GPUs (not in this build)",
	.planned = true,
	.device = true,
	.open = absent_open,
	.close = absent_close,
	.can = absent_can,
};
