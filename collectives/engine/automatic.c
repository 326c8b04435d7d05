/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine auto, between GPUs: the project's kernels or the copy engines, whichever the tuning table
 * says for a case. Algorithms "copy/push" and "copy/pull" are those of the copy engines; all other
 * names are algorithms of engine cuda. Both engines are opened, so that the selection costs nothing
 * when a case is prepared. Each request belongs to the engine that was selected.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/engine.h"
#include "common/base/error.h"

enum part { CUDA, COPY, PARTS };

static const struct fb_engine_ops *const part_ops[PARTS] = {&fb_engine_cuda, &fb_engine_copy};

static const char copy_prefix[] = "copy/";

struct auto_engine {
	struct fb_engine engine;
	struct fb_engine *part[PARTS];
};

struct auto_request {
	struct fb_request request;
	struct fb_case c; /* as the selected engine gets it */
	struct fb_request *selected;
};

/* Which engine a case is for; *own is the case with that engine's names. */
static enum part part_of(const struct fb_case *c, struct fb_case *own)
{
	size_t prefix = strlen(copy_prefix);

	*own = *c;
	if (strncmp(c->algorithm, copy_prefix, prefix)) {
		own->engine = fb_engine_cuda.name;
		return CUDA;
	}
	own->engine = fb_engine_copy.name;
	own->algorithm = c->algorithm + prefix;
	return COPY;
}

static const struct fb_engine_ops *ops_of(const struct fb_request *request)
{
	return ((const struct auto_request *)request)->selected->engine->ops;
}

static struct fb_request *selected_of(struct fb_request *request)
{
	return ((struct auto_request *)request)->selected;
}

static void auto_close(struct fb_engine *engine)
{
	struct auto_engine *e = (struct auto_engine *)engine;

	for (int i = 0; i < PARTS; i++)
		if (e->part[i])
			fb_engine_close(e->part[i]);
}

static int auto_open(struct fb_engine *engine)
{
	struct auto_engine *e = (struct auto_engine *)engine;
	int err = FB_OK;

	for (int i = 0; i < PARTS && !err; i++)
		err = fb_engine_open(&e->part[i], part_ops[i], engine->session, engine->group);
	return err;
}

static bool auto_can(const struct fb_engine *engine, const struct fb_case *c,
		     const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct auto_engine *e = (const struct auto_engine *)engine;
	struct fb_case own;
	enum part part = part_of(c, &own);

	return part_ops[part]->can(e->part[part], &own, op, reason);
}

static int auto_prepare(struct fb_request *request, const struct fb_case *c,
			const struct fb_operation *op)
{
	const struct auto_engine *e = (const struct auto_engine *)request->engine;
	struct auto_request *r = (struct auto_request *)request;
	enum part part = part_of(c, &r->c);

	return fb_engine_prepare(e->part[part], &r->c, op, &r->selected);
}

static void auto_release(struct fb_request *request)
{
	if (selected_of(request))
		fb_request_release(selected_of(request));
}

static int auto_ready(struct fb_request *request, int calls)
{
	return ops_of(request)->ready(selected_of(request), calls);
}

static int auto_run(struct fb_request *request, int calls)
{
	return ops_of(request)->run(selected_of(request), calls);
}

static int auto_start(struct fb_request *request)
{
	return ops_of(request)->start(selected_of(request));
}

static int auto_test(struct fb_request *request, bool *done)
{
	return ops_of(request)->test(selected_of(request), done);
}

static int auto_wait(struct fb_request *request)
{
	return ops_of(request)->wait(selected_of(request));
}

static int auto_enqueue(struct fb_request *request, void *stream)
{
	return ops_of(request)->enqueue(selected_of(request), stream);
}

static void auto_describe(struct fb_request *request, struct fb_traits *traits)
{
	ops_of(request)->describe(selected_of(request), traits);
}

const struct fb_engine_ops fb_engine_auto = {
	.name = "auto",
	.device = true,
	.usual = "cuda",
	.bytes = sizeof(struct auto_engine),
	.request_bytes = sizeof(struct auto_request),
	.open = auto_open,
	.close = auto_close,
	.can = auto_can,
	.prepare = auto_prepare,
	.ready = auto_ready,
	.run = auto_run,
	.start = auto_start,
	.test = auto_test,
	.wait = auto_wait,
	.enqueue = auto_enqueue,
	.describe = auto_describe,
	.release = auto_release,
};
