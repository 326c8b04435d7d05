/* SPDX-License-Identifier: BSD-3-Clause */
/* Engine cuda of a build without CUDA: it is there, and says so in every row. */
#include <stdlib.h>

#include "common/error.h"
#include "p2p/engine/device.h"

static int absent_open(struct fb_p2p_engine **engine, struct fb_run *run)
{
	struct fb_p2p_device *e = calloc(1, sizeof(*e));
	int err = fb_world_agree(fb_run_world(run), e ? FB_OK : FB_ENOMEM);

	if (!err && e) {
		e->engine.ops = &fb_p2p_cuda;
		err = fb_p2p_device_open(e, run);
	}
	if (err || !e) {
		free(e);
		return fb_error(err, "engine cuda cannot be opened");
	}
	*engine = &e->engine;
	return FB_OK;
}

static void absent_close(struct fb_p2p_engine *engine)
{
	fb_p2p_device_close((struct fb_p2p_device *)engine);
	free(engine);
}

static bool absent_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	(void)job;
	return fb_p2p_device_can((const struct fb_p2p_device *)engine, c, reason);
}

static const char *const protocols[] = {"direct", "ll", NULL};

const struct fb_p2p_engine_ops fb_p2p_cuda = {
	.name = "cuda",
	.summary = "kernels between GPUs (not in this build)",
	.own = true,
	.device = true,
	.protocols = protocols,
	.one_sided = true,
	.rounds = 500,
	.open = absent_open,
	.close = absent_close,
	.can = absent_can,
};
