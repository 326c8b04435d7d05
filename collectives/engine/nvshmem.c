/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NVSHMEM engine: the library's collectives on streams, of all ranks of the job
 * (NVSHMEM_TEAM_WORLD), in its symmetric memory. Each is the function of the element's type, which
 * this file asks the library for by its name; what a version lacks is a skipped row. It needs no
 * header of CUDA's or NVSHMEM's and is the same in all builds.
 *
 * In place only a reduction to all ranks is allowed: the manual wants the buffers of the others
 * apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/on_stream.h"
#include "common/base/error.h"
#include "common/cuda/symmetric.h"
#include "common/library/library.h"

enum { FUNCTION_CHARS = 64 };

typedef int collective_fn(int team, void *to, const void *from, size_t count, void *stream);
typedef int broadcast_fn(int team, void *to, const void *from, size_t count, int root,
			 void *stream);

/* Only one of them is set; neither for a barrier. */
struct function {
	collective_fn *collective;
	broadcast_fn *broadcast;
};

struct nvshmem_engine {
	struct fb_engine engine;
	struct fb_gpu gpu; /* if has_gpu */
	bool has_gpu;
	struct fb_nvshmem *nvshmem; /* the session's; NULL: `why` */
	char why[FB_REASON_CHARS];
};

struct nvshmem_request {
	struct fb_on_stream on;
	const struct fb_operation *op;
	struct function function;
};

static struct nvshmem_engine *engine_of(const struct nvshmem_request *r)
{
	return (struct nvshmem_engine *)r->on.request.engine;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int nvshmem_open(struct fb_engine *engine)
{
	struct nvshmem_engine *e = (struct nvshmem_engine *)engine;
	int err = fb_gpu_view_open(&e->gpu, engine->session, engine->group, e->why);

	e->has_gpu = !err;
	if (e->has_gpu)
		err = fb_nvshmem_find(&e->nvshmem, engine->session, engine->group, e->gpu.shared,
				      e->why);
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

static void nvshmem_close(struct fb_engine *engine)
{
	struct nvshmem_engine *e = (struct nvshmem_engine *)engine;

	if (e->has_gpu)
		fb_gpu_view_close(&e->gpu);
}

static int nvshmem_segment(struct fb_engine *engine, struct fb_segment *segment, size_t part_bytes)
{
	const struct nvshmem_engine *e = (const struct nvshmem_engine *)engine;

	return fb_symmetric_open(segment, e->nvshmem, engine->group, part_bytes);
}

/* --- which function --------------------------------------------------------------------------- */

/* The words of the names; NULL: NVSHMEM has none. */
static const char *const types[FB_DATATYPES] = {
	[FB_I8] = "int8", [FB_U8] = "uint8", [FB_I32] = "int32", [FB_U32] = "uint32",
	[FB_I64] = "int64", [FB_U64] = "uint64", [FB_F16] = "half", [FB_BF16] = "bfloat16",
	[FB_F32] = "float", [FB_F64] = "double",
};

static const char *const operations[FB_REDOPS] = {
	[FB_SUM] = "sum_", [FB_PROD] = "prod_", [FB_MIN] = "min_", [FB_MAX] = "max_",
};

static const char *const collectives[FB_COLLECTIVES] = {
	[FB_ALL_REDUCE] = "reduce", [FB_REDUCE_SCATTER] = "reducescatter",
	[FB_ALL_GATHER] = "fcollect", [FB_BROADCAST] = "broadcast", [FB_ALL_TO_ALL] = "alltoall",
	[FB_BARRIER] = "barrier_all",
};

/* "nvshmemx_float_sum_reduce_on_stream" */
static void name_of(const struct fb_operation *op, char name[FUNCTION_CHARS])
{
	bool reduces = fb_collective_info(op->collective)->reduces;

	if (op->collective == FB_BARRIER)
		snprintf(name, FUNCTION_CHARS, "nvshmemx_barrier_all_on_stream");
	else
		snprintf(name, FUNCTION_CHARS, "nvshmemx_%s_%s%s_on_stream", types[op->datatype],
			 reduces ? operations[op->redop] : "", collectives[op->collective]);
}

/* False: this version has none of that name. */
static bool find(const struct fb_nvshmem *nvshmem, const struct fb_operation *op,
		 struct function *function)
{
	char name[FUNCTION_CHARS];
	const struct fb_library_symbol symbol = {
		.name = name, .offset = op->collective == FB_BROADCAST
					? offsetof(struct function, broadcast)
					: offsetof(struct function, collective)};

	*function = (struct function){NULL, NULL};
	if (op->collective == FB_BARRIER)
		return true;
	name_of(op, name);
	return !fb_library_functions(nvshmem->handle, &symbol, 1, function);
}

static bool nvshmem_can(const struct fb_engine *engine, const struct fb_case *c,
			const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct nvshmem_engine *e = (const struct nvshmem_engine *)engine;
	const struct fb_collective_info *info = fb_collective_info(op->collective);
	bool barrier = op->collective == FB_BARRIER;
	struct function ignored;
	char name[FUNCTION_CHARS], version[FB_NVSHMEM_VERSION_CHARS];

	/* Reasons that hold on every machine come first. */
	if (!collectives[op->collective])
		snprintf(reason, FB_REASON_CHARS, "NVSHMEM has no %s on a stream", info->name);
	else if (!barrier && !types[op->datatype])
		snprintf(reason, FB_REASON_CHARS, "NVSHMEM has no type %s",
			 fb_datatype_name(op->datatype));
	else if (!barrier && info->reduces && !operations[op->redop])
		snprintf(reason, FB_REASON_CHARS, "NVSHMEM has no %s", fb_redop_name(op->redop));
	else if (op->in_place && op->collective != FB_ALL_REDUCE)
		snprintf(reason, FB_REASON_CHARS, "NVSHMEM has no %s in place", info->name);
	else if (!barrier && strcmp(c->memory, engine->ops->memory))
		snprintf(reason, FB_REASON_CHARS, "NVSHMEM's collectives work in memory symmetric");
	else if (!e->nvshmem)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (!find(e->nvshmem, op, &ignored)) {
		name_of(op, name);
		snprintf(reason, FB_REASON_CHARS, "NVSHMEM %s has no %s",
			 fb_nvshmem_version(e->nvshmem, version), name);
	} else {
		return true;
	}
	return false;
}

/* --- running ---------------------------------------------------------------------------------- */

static int enqueue(void *request, void *stream)
{
	const struct nvshmem_request *r = request;
	const struct fb_operation *op = r->op;
	int rank = r->on.request.engine->group->rank, code;
	char name[FUNCTION_CHARS];

	if (r->function.collective)
		code = r->function.collective(FB_NVSHMEM_WORLD, fb_operation_out(op, rank),
					      fb_operation_in(op, rank), op->count, stream);
	else if (r->function.broadcast)
		code = r->function.broadcast(FB_NVSHMEM_WORLD, fb_operation_out(op, rank),
					     fb_operation_in(op, rank), op->count, op->root,
					     stream);
	else
		code = 0;
	if (!r->function.collective && !r->function.broadcast)
		engine_of(r)->nvshmem->barrier_all_on_stream(stream);
	name_of(op, name);
	return code ? fb_error(FB_ESYS, "%s returned %d", name, code) : FB_OK;
}

static void nvshmem_release(struct fb_request *request)
{
	fb_gpu_stream_close(((struct nvshmem_request *)request)->on.stream);
}

static int nvshmem_prepare(struct fb_request *request, const struct fb_case *c,
			   const struct fb_operation *op)
{
	struct nvshmem_engine *e = (struct nvshmem_engine *)request->engine;
	struct nvshmem_request *r = (struct nvshmem_request *)request;
	int err;

	r->op = op;
	(void)find(e->nvshmem, op, &r->function);
	err = fb_gpu_stream_open(&r->on.stream, &e->gpu, !strcmp(c->launch, "graph"), enqueue, r,
				 e->engine.session);
	err = fb_group_agree(e->engine.group, err);
	/* One call outside of timing, which loads kernels. */
	if (!err)
		err = fb_gpu_stream_start(r->on.stream);
	return err ? err : fb_gpu_stream_wait(r->on.stream);
}

static int nvshmem_enqueue(struct fb_request *request, void *stream)
{
	return enqueue(request, stream);
}

static void nvshmem_describe(struct fb_request *request, struct fb_traits *traits)
{
	const struct nvshmem_request *r = (const struct nvshmem_request *)request;
	const struct nvshmem_engine *e = engine_of(r);
	char version[FB_NVSHMEM_VERSION_CHARS], name[FUNCTION_CHARS];

	name_of(r->op, name);
	snprintf(traits->path, sizeof(traits->path), "NVSHMEM %s %s",
		 fb_nvshmem_version(e->nvshmem, version), name);
	fb_on_stream_describe(&r->on, &e->gpu, traits);
}

const struct fb_engine_ops fb_engine_nvshmem = {
	.name = "nvshmem",
	.device = true,
	.memory = "symmetric",
	.bytes = sizeof(struct nvshmem_engine),
	.request_bytes = sizeof(struct nvshmem_request),
	.open = nvshmem_open,
	.close = nvshmem_close,
	.can = nvshmem_can,
	.segment = nvshmem_segment,
	.prepare = nvshmem_prepare,
	.ready = fb_on_stream_ready,
	.run = fb_on_stream_run,
	.start = fb_on_stream_start,
	.test = fb_on_stream_test,
	.wait = fb_on_stream_wait,
	.enqueue = nvshmem_enqueue,
	.describe = nvshmem_describe,
	.release = nvshmem_release,
};
