/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of engines: a new one is a file in this folder and a line here. */
#include "p2p/engine/engine.h"

#ifndef FB_HAVE_CUDA

#include <stdlib.h>

#include "common/base/error.h"
#include "p2p/engine/device.h"

/* Engines of a build without CUDA: rows that say so. */
static int open_absent(struct fb_p2p_engine **engine, const struct fb_session *session,
		       const struct fb_group *group, const struct fb_p2p_engine_ops *ops)
{
	struct fb_p2p_device *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(group, e ? FB_OK : FB_ENOMEM);

	if (!err && e) {
		e->engine.ops = ops;
		err = fb_p2p_device_open(e, session, group);
	}
	if (err || !e) {
		free(e);
		return fb_error(err, "engine %s cannot be opened", ops->name);
	}
	*engine = &e->engine;
	return FB_OK;
}

static int open_copy(struct fb_p2p_engine **engine, const struct fb_session *session,
		     const struct fb_group *group)
{
	return open_absent(engine, session, group, &fb_p2p_copy);
}

static int open_cuda(struct fb_p2p_engine **engine, const struct fb_session *session,
		     const struct fb_group *group)
{
	return open_absent(engine, session, group, &fb_p2p_cuda);
}

static void close_absent(struct fb_p2p_engine *engine)
{
	fb_p2p_device_close((struct fb_p2p_device *)engine);
	free(engine);
}

static bool can_absent(const struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	(void)job;
	return fb_p2p_device_can((const struct fb_p2p_device *)engine, c, reason);
}

static const char *const copy_protocols[] = {"direct", NULL};
static const char *const protocols[] = {"direct", "ll", NULL};

const struct fb_p2p_engine_ops fb_p2p_copy = {
	.name = "copy", .summary = "the GPUs' copy engines (not in this build)", .own = true,
	.device = true, .gpu_memory = FB_P2P_MAPPED_MEMORY, .protocols = copy_protocols,
	.one_sided = true, .rounds = 20, .open = open_copy, .close = close_absent,
	.can = can_absent,
};

const struct fb_p2p_engine_ops fb_p2p_cuda = {
	.name = "cuda", .summary = "kernels between GPUs (not in this build)", .own = true,
	.device = true, .gpu_memory = FB_P2P_MAPPED_MEMORY, .protocols = protocols,
	.one_sided = true, .rounds = 500, .open = open_cuda, .close = close_absent,
	.can = can_absent,
};

#endif

const struct fb_p2p_engine_ops *const fb_p2p_engines[] = {
	&fb_p2p_host,
	&fb_p2p_mpi,
	&fb_p2p_rdma,
	&fb_p2p_ucx,
	&fb_p2p_copy,
	&fb_p2p_cuda,
	&fb_p2p_nccl,
	NULL,
};
