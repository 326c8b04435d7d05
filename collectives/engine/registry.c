/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of engines: a new one is a file in this folder and a line here. */
#include "collectives/engine/engine.h"

#ifndef FB_HAVE_CUDA

#include <stdio.h>
#include <string.h>

#include "collectives/engine/copy/plan.h"
#include "common/cuda/gpu.h"

/*
 * Engines of a build without CUDA, whose rows are skipped for that reason. What copy engines can do
 * on no machine is the better reason.
 */
static bool can_absent(const struct fb_engine *engine, const struct fb_case *c,
		       const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	if (engine->ops != &fb_engine_copy ||
	    fb_copy_can(op, !strcmp(c->algorithm, "pull"), reason, FB_REASON_CHARS))
		snprintf(reason, FB_REASON_CHARS, FB_NO_CUDA);
	return false;
}

const struct fb_engine_ops fb_engine_cuda = {
	.name = "cuda",
	.planned = true,
	.device = true,
	.bytes = sizeof(struct fb_engine),
	.can = can_absent,
};

const struct fb_engine_ops fb_engine_copy = {
	.name = "copy",
	.device = true,
	.bytes = sizeof(struct fb_engine),
	.can = can_absent,
};

const struct fb_engine_ops fb_engine_multimem = {
	.name = "multimem",
	.device = true,
	.bytes = sizeof(struct fb_engine),
	.can = can_absent,
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
	&fb_engine_multimem,
	&fb_engine_auto,
	NULL,
};
