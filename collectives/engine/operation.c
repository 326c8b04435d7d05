/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding, opening and using engines, and where an operation's buffers lie. The rule for operating
 * in place is the one that plans are built and proved with (fb_plan_canonical), taken with one unit
 * per block.
 */
#include "collectives/buffers.h"
#include "collectives/engine/engine.h"
#include "common/base/error.h"
#include "common/plan/plan.h"

#include <stdlib.h>
#include <string.h>

const struct fb_engine_ops *fb_engine_find(const char *name)
{
	size_t i = 0;

	while (fb_engines[i] && strcmp(fb_engines[i]->name, name))
		i++;
	return fb_engines[i];
}

int fb_engine_open(struct fb_engine **engine, const struct fb_engine_ops *ops,
		   const struct fb_session *session, const struct fb_group *group)
{
	struct fb_engine *e = calloc(1, ops->bytes);
	int err = fb_group_agree(group, e ? FB_OK : FB_ENOMEM);

	*engine = NULL;
	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine %s", ops->name);
	}
	*e = (struct fb_engine){ops, session, group};
	err = ops->open ? ops->open(e) : FB_OK;
	if (err)
		fb_engine_close(e);
	else
		*engine = e;
	return err;
}

void fb_engine_close(struct fb_engine *engine)
{
	if (engine->ops->close)
		engine->ops->close(engine);
	free(engine);
}

int fb_engine_prepare(struct fb_engine *engine, const struct fb_case *c,
		      const struct fb_operation *op, struct fb_request **request)
{
	struct fb_request *r = calloc(1, engine->ops->request_bytes);
	int err = fb_group_agree(engine->group, r ? FB_OK : FB_ENOMEM);

	*request = NULL;
	if (err || !r) {
		free(r);
		return fb_error(err, "out of memory for a request of engine %s", engine->ops->name);
	}
	r->engine = engine;
	err = engine->ops->prepare(r, c, op);
	if (err)
		fb_request_release(r);
	else
		*request = r;
	return err;
}

void fb_request_release(struct fb_request *request)
{
	request->engine->ops->release(request);
	free(request);
}

static void *buffer_of(const struct fb_operation *op, int rank, uint8_t buffer)
{
	const struct fb_shape shape = {
		.collective = op->collective, .root = op->root, .in_place = op->in_place};
	char *part = fb_segment_part(op->segment, rank);
	uint32_t block = 0;
	size_t offset;

	if (!part)
		return NULL;
	fb_plan_canonical(&shape, rank, 1, &buffer, &block);
	offset = buffer == FB_IN ? op->in_offset : op->out_offset;
	return part + offset +
	       (size_t)fb_buffers_first(op, buffer == FB_OUT, rank, (int)block) *
		       fb_datatype_size(op->datatype);
}

void *fb_operation_in(const struct fb_operation *op, int rank)
{
	return buffer_of(op, rank, FB_IN);
}

void *fb_operation_out(const struct fb_operation *op, int rank)
{
	return buffer_of(op, rank, FB_OUT);
}

int fb_engine_ranks(const struct fb_engine *engine)
{
	return engine->group->nranks * (engine->ops->members ? engine->ops->members(engine) : 1);
}

int fb_engine_each_rank(const struct fb_engine *engine, int (*work)(void *arg, int rank), void *arg)
{
	const struct fb_engine_ops *ops = engine->ops;
	int members = ops->members ? ops->members(engine) : 1, err = FB_OK, left;

	if (!ops->members)
		return work(arg, engine->group->rank);
	for (int m = 0; m < members && !err; m++) {
		err = ops->enter(engine, m);
		if (!err)
			err = work(arg, engine->group->rank * members + m);
	}
	left = ops->enter(engine, -1);
	return err ? err : left;
}
