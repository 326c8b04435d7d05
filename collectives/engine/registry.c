/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of engines: a new one is a file in this folder and a line here. */
#include "collectives/engine/engine.h"

#ifndef FB_HAVE_CUDA

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/copy/plan.h"
#include "common/base/error.h"
#include "common/cuda/gpu.h"

/* Engines of a build without CUDA: rows that say so. */
static int open_absent(const struct fb_engine_ops *ops, struct fb_engine **engine,
		       const struct fb_session *session, const struct fb_group *group)
{
	struct fb_engine *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(group, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine %s", ops->name);
	}
	*e = (struct fb_engine){ops, session, group};
	*engine = e;
	return FB_OK;
}

static int open_cuda(struct fb_engine **engine, const struct fb_session *session,
		     const struct fb_group *group)
{
	return open_absent(&fb_engine_cuda, engine, session, group);
}

static int open_copy(struct fb_engine **engine, const struct fb_session *session,
		     const struct fb_group *group)
{
	return open_absent(&fb_engine_copy, engine, session, group);
}

static void close_absent(struct fb_engine *engine)
{
	free(engine);
}

/* What copy engines could not do on any machine comes first. */
static bool can_absent(const struct fb_engine *engine, const struct fb_case *c,
		       const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	if (engine->ops == &fb_engine_cuda ||
	    fb_copy_can(op, !strcmp(c->algorithm, "pull"), reason, FB_REASON_CHARS))
		snprintf(reason, FB_REASON_CHARS, FB_NO_CUDA);
	return false;
}

const struct fb_engine_ops fb_engine_cuda = {
	.name = "cuda", .summary = "the project's plans between GPUs (not in this build)",
	.planned = true, .device = true, .open = open_cuda, .close = close_absent,
	.can = can_absent,
};

const struct fb_engine_ops fb_engine_copy = {
	.name = "copy", .summary = "the copy engines of the GPUs (not in this build)",
	.device = true, .open = open_copy, .close = close_absent, .can = can_absent,
};

#endif

const struct fb_engine_ops *const fb_engines[] = {
	&fb_engine_host,
	&fb_engine_mpi,
	&fb_engine_cuda,
	&fb_engine_nccl,
	&fb_engine_nvshmem,
	&fb_engine_nccl_process,
	&fb_engine_copy,
	&fb_engine_auto,
	NULL,
};
