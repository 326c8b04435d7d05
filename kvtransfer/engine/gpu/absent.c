/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines between GPUs of a build without CUDA: they are there, and say so in every row. */
#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/engine/engine.h"
#include "kvtransfer/pages.h"

static int absent_open(struct fb_kv_engine **engine, const struct fb_kv_engine_ops *ops,
		     const struct fb_kv_context *context)
{
	struct fb_kv_engine *e = calloc(1, sizeof(*e));
	int err = fb_group_agree(context->world, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for an engine");
	}
	e->ops = ops;
	e->context = context;
	*engine = e;
	return FB_OK;
}

static void absent_close(struct fb_kv_engine *engine)
{
	free(engine);
}

static const char *absent_missing(const struct fb_kv_engine *engine)
{
	return engine->context->no_gpu;
}

#define ABSENT(name_, modes_)                                                                      \
	{                                                                                          \
		.name = (name_), .summary = "between GPUs (not in this build)",                    \
		.transport = "p2p", .device = true, .modes = (modes_), .open = absent_open,        \
		.close = absent_close, .missing = absent_missing                                   \
	}

enum { STAGED = 1u << FB_KV_PACK | 1u << FB_KV_LAYERWISE };

const struct fb_kv_engine_ops fb_kv_copy =
	ABSENT("copy", 1u << FB_KV_DIRECT | 1u << FB_KV_BATCH | 1u << FB_KV_STRIDED | STAGED);
const struct fb_kv_engine_ops fb_kv_cuda = ABSENT("cuda", 1u << FB_KV_DIRECT | STAGED);
const struct fb_kv_engine_ops fb_kv_nccl = ABSENT("nccl", STAGED);

static int no_fill(const struct fb_kv_job *job, enum fb_kv_side side, bool empty)
{
	(void)job;
	(void)side;
	(void)empty;
	return FB_EUNSUPPORTED;
}

static int no_check(const struct fb_kv_job *job, enum fb_kv_side side, struct fb_mismatch *bad)
{
	(void)job;
	(void)side;
	(void)bad;
	return FB_EUNSUPPORTED;
}

const struct fb_kv_pages_ops fb_kv_pages_gpu = {.fill = no_fill, .check = no_check};
