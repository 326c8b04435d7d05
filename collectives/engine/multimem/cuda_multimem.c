/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine multimem: collectives by the NVLink switches' multicast, with kernels of the project's
 * own. Instruction ld_reduce loads the sum of all ranks' elements, which the switch makes, and st
 * stores to all ranks, to which the switch copies. Not run on hardware.
 *
 *	all_reduce one_shot   each rank loads the sums of the whole block into its own output
 *	all_reduce two_shot   each rank loads the sums of its part and stores them to all
 *	reduce_scatter        each rank loads the sums of its block
 *	all_gather, broadcast each rank, or the root, stores its block to all
 *
 * Buffers are in memory `vmm` or `fabric`, which is bound to a multicast object while requests use
 * it. Without --multicast allow there is no object, and rows are skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/multimem/launch.h"
#include "collectives/engine/on_stream.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_multicast.h"
#include "common/cuda/gpu_segment.h"

enum { USUAL_BLOCKS = 32, PACK = 16, LEAST_MAJOR = 9 };

const void *fb_multimem_kernel(enum fb_multimem_kind kind);

/* A segment's multicast object, which all requests on it and on copies of it share. */
struct object {
	struct object *next;
	const char *base; /* of the segment, and its number */
	unsigned number;
	int users;
	struct fb_gpu_multicast *multicast;
};

struct multimem_engine {
	struct fb_engine engine;
	struct fb_gpu gpu; /* if has_gpu */
	bool has_gpu;
	char why[FB_REASON_CHARS]; /* it cannot work at all; or "" */
	struct object *objects;
};

struct multimem_request {
	struct fb_on_stream on;
	const struct fb_operation *op;
	struct object *object;
	struct fb_segment flags; /* if .ops */
	struct fb_multimem_launch launch;
	const void *kernel;
	unsigned blocks, threads;
};

static struct multimem_engine *engine_of(const struct multimem_request *r)
{
	return (struct multimem_engine *)r->on.request.engine;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Collective: what all ranks' GPUs have at least. */
static void compare(struct multimem_engine *e)
{
	struct cudaFuncAttributes attributes = {.ptxVersion = 0};
	int least[2] = {e->gpu.major, 0};

	if (cudaFuncGetAttributes(&attributes, fb_multimem_kernel(FB_MULTIMEM_MOVE)) !=
	    cudaSuccess)
		(void)cudaGetLastError();
	least[1] = attributes.ptxVersion / 10;
	MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, e->engine.group->comm);
	if (least[0] < LEAST_MAJOR)
		snprintf(e->why, sizeof(e->why), "multimem needs GPUs of compute capability 9.0");
	else if (least[1] < LEAST_MAJOR)
		snprintf(e->why, sizeof(e->why), "multimem needs a build with CUDA_ARCHS=90");
}

static int multimem_open(struct fb_engine *engine)
{
	struct multimem_engine *e = (struct multimem_engine *)engine;
	int err = fb_gpu_view_open(&e->gpu, engine->session, engine->group, e->why);

	e->has_gpu = !err;
	if (!err)
		err = fb_gpu_multicast_can(&e->gpu, e->why);
	if (!err)
		compare(e);
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

static void multimem_close(struct fb_engine *engine)
{
	struct multimem_engine *e = (struct multimem_engine *)engine;

	if (e->has_gpu)
		fb_gpu_view_close(&e->gpu);
}

/* --- what it can ------------------------------------------------------------------------------ */

/* False: ld_reduce has no such kind. */
static bool find_kind(const struct fb_operation *op, enum fb_multimem_kind *kind)
{
	static const struct {
		enum fb_datatype type;
		enum fb_redop op;
		enum fb_multimem_kind kind;
	} kinds[] = {
		{FB_F32, FB_SUM, FB_MULTIMEM_F32_SUM},	 {FB_F16, FB_SUM, FB_MULTIMEM_F16_SUM},
		{FB_F16, FB_MIN, FB_MULTIMEM_F16_MIN},	 {FB_F16, FB_MAX, FB_MULTIMEM_F16_MAX},
		{FB_BF16, FB_SUM, FB_MULTIMEM_BF16_SUM}, {FB_BF16, FB_MIN, FB_MULTIMEM_BF16_MIN},
		{FB_BF16, FB_MAX, FB_MULTIMEM_BF16_MAX},
	};

	*kind = FB_MULTIMEM_MOVE;
	if (!fb_collective_info(op->collective)->reduces)
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].type != op->datatype || kinds[i].op != op->redop)
			continue;
		*kind = kinds[i].kind;
		return true;
	}
	return false;
}

static bool is_one_shot(const struct fb_case *c, const struct fb_operation *op)
{
	return op->collective == FB_ALL_REDUCE && !strcmp(c->algorithm, "one_shot");
}

/* What no machine could change. */
static bool exists(const struct fb_case *c, const struct fb_operation *op,
		   char reason[FB_REASON_CHARS])
{
	enum fb_multimem_kind kind;

	if (op->collective != FB_ALL_REDUCE && op->collective != FB_REDUCE_SCATTER &&
	    op->collective != FB_ALL_GATHER && op->collective != FB_BROADCAST)
		snprintf(reason, FB_REASON_CHARS, "engine multimem has no %s",
			 fb_collective_info(op->collective)->name);
	else if (!find_kind(op, &kind))
		snprintf(reason, FB_REASON_CHARS, "multimem has no %s of %s",
			 fb_redop_name(op->redop), fb_datatype_name(op->datatype));
	else if (is_one_shot(c, op) && op->in_place)
		snprintf(reason, FB_REASON_CHARS, "one_shot in place would overwrite what other "
			 "ranks still load");
	else
		return true;
	return false;
}

static bool multimem_can(const struct fb_engine *engine, const struct fb_case *c,
			 const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct multimem_engine *e = (const struct multimem_engine *)engine;
	const struct fb_group *w = engine->group;
	bool fabric = !strcmp(c->memory, "fabric");

	if (!exists(c, op, reason))
		return false;
	if (*e->why)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (w->nranks < 2 || w->nranks > FB_MULTIMEM_MOST_RANKS)
		snprintf(reason, FB_REASON_CHARS, "multimem needs 2 to %d ranks",
			 FB_MULTIMEM_MOST_RANKS);
	else if (e->gpu.shared)
		snprintf(reason, FB_REASON_CHARS, "multimem needs a GPU for each rank");
	else if (!e->gpu.all_reach)
		snprintf(reason, FB_REASON_CHARS, "not every GPU reaches every other");
	else if (!fabric && !fb_group_one_host(w))
		snprintf(reason, FB_REASON_CHARS, "between hosts multimem needs --memory fabric");
	else if (!fabric && strcmp(c->memory, "vmm"))
		snprintf(reason, FB_REASON_CHARS, "multimem works in memory vmm or fabric");
	else if (engine->session->settings->channels > FB_MULTIMEM_MOST_BLOCKS)
		snprintf(reason, FB_REASON_CHARS, "multimem has at most %d channels",
			 FB_MULTIMEM_MOST_BLOCKS);
	else if (engine->session->settings->threads > FB_MULTIMEM_THREADS)
		snprintf(reason, FB_REASON_CHARS, "multimem has at most %d threads",
			 FB_MULTIMEM_THREADS);
	else
		return true;
	return false;
}

/* --- a request -------------------------------------------------------------------------------- */

/* Collective. */
static int take_object(struct multimem_request *r, const struct fb_case *c)
{
	struct multimem_engine *e = engine_of(r);
	const struct fb_segment *s = r->op->segment;
	struct object *o = e->objects;
	int err;

	while (o && (o->number != s->number || o->base != s->base))
		o = o->next;
	if (!o) {
		o = calloc(1, sizeof(*o));
		err = fb_group_agree(e->engine.group, o ? FB_OK : FB_ENOMEM);
		if (!err && o)
			err = fb_gpu_multicast_open(&o->multicast, &e->gpu, s,
						    strcmp(c->memory, "fabric") ? FB_GPU_VMM
										: FB_GPU_FABRIC);
		if (err || !o) {
			free(o);
			return err;
		}
		o->base = s->base;
		o->number = s->number;
		o->next = e->objects;
		e->objects = o;
	}
	o->users++;
	r->object = o;
	return FB_OK;
}

static void drop_object(struct multimem_request *r)
{
	struct object **at = &engine_of(r)->objects, *o = r->object;

	if (!o || --o->users)
		return;
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	fb_gpu_multicast_close(o->multicast);
	free(o);
}

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

/* Which bytes this rank loads and stores, and where they are. */
static void place(struct multimem_request *r, bool one_shot)
{
	const struct fb_operation *op = r->op;
	struct fb_multimem_launch *l = &r->launch;
	const struct fb_group *w = engine_of(r)->engine.group;
	uint64_t block = op->count * fb_datatype_size(op->datatype), n = (uint64_t)w->nranks;
	uint64_t part = (block + n * PACK - 1) / (n * PACK) * PACK, own = (uint64_t)w->rank;
	uint64_t in = 0, out = 0, own_part;
	bool reduces = fb_collective_info(op->collective)->reduces;
	bool all_out = !one_shot && op->collective != FB_REDUCE_SCATTER;

	l->bytes = block;
	if (op->collective == FB_ALL_REDUCE && !one_shot) {
		in = out = own * part < block ? own * part : block;
		l->bytes = block - in < part ? block - in : part;
	} else if (op->collective == FB_REDUCE_SCATTER) {
		in = own * block;
	} else if (op->collective == FB_ALL_GATHER) {
		out = own * block;
	} else if (op->collective == FB_BROADCAST && w->rank != op->root) {
		l->bytes = 0;
	}
	if (!l->bytes)
		return;
	for (int p = 0; p < w->nranks; p++) {
		if (reduces || p == w->rank)
			l->in[p] = address(fb_operation_in(op, p)) + in;
		if (all_out || p == w->rank)
			l->out[p] = address(fb_operation_out(op, p)) + out;
	}
	own_part = address(fb_segment_part(op->segment, w->rank));
	if (reduces)
		l->all_in = fb_gpu_multicast_address(r->object->multicast) + l->in[own] - own_part;
	if (all_out)
		l->all_out = fb_gpu_multicast_address(r->object->multicast) + l->out[own] -
			     own_part;
}

/*
 * The same on all ranks, as each block waits for the block of that number of the others. And the
 * GPUs hold all blocks that may be under way at once, or some would wait for others for good.
 */
static int shape(struct multimem_request *r, bool one_shot)
{
	const struct multimem_engine *e = engine_of(r);
	const struct fb_settings *settings = e->engine.session->settings;
	uint64_t bytes = r->op->count * fb_datatype_size(r->op->datatype);
	int each = 0, most;

	if (r->op->collective == FB_ALL_REDUCE && !one_shot)
		bytes /= (uint64_t)e->engine.group->nranks;
	r->threads = settings->threads ? (unsigned)settings->threads : FB_MULTIMEM_THREADS;
	(void)FB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, r->kernel,
								    (int)r->threads, 0));
	most = e->gpu.sms * each / (r->op->together > 1 ? r->op->together : 1);
	MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MIN, e->engine.group->comm);
	if (most < 1 || settings->channels > (uint64_t)most) {
		if (!e->engine.group->rank)
			fb_error_print("multimem: the GPU holds only %d blocks at once", most);
		return FB_EUNSUPPORTED;
	}
	most = most < USUAL_BLOCKS ? most : USUAL_BLOCKS;
	bytes = bytes / PACK / r->threads + 1;
	bytes = bytes < (uint64_t)most ? bytes : (uint64_t)most;
	r->blocks = (unsigned)(settings->channels ? settings->channels : bytes);
	return FB_OK;
}

static int enqueue(void *request, void *stream)
{
	struct multimem_request *r = request;
	void *args[] = {&r->launch};

	return FB_CUDA(cudaLaunchKernel(r->kernel, (dim3){r->blocks, 1, 1},
					(dim3){r->threads, 1, 1}, args, 0, stream));
}

static void multimem_release(struct fb_request *request)
{
	struct multimem_request *r = (struct multimem_request *)request;

	fb_gpu_stream_close(r->on.stream);
	/* Nobody's kernels use this rank's memory any more. */
	MPI_Barrier(request->engine->group->comm);
	fb_segment_close(&r->flags);
	drop_object(r);
}

static int multimem_prepare(struct fb_request *request, const struct fb_case *c,
			    const struct fb_operation *op)
{
	struct multimem_engine *e = (struct multimem_engine *)request->engine;
	struct multimem_request *r = (struct multimem_request *)request;
	const struct fb_group *w = e->engine.group;
	struct cudaFuncAttributes attributes;
	enum fb_multimem_kind kind;
	int err;

	r->op = op;
	(void)find_kind(op, &kind);
	r->kernel = fb_multimem_kernel(kind);
	err = take_object(r, c);
	if (!err)
		err = fb_gpu_segment_open(&r->flags, &e->gpu, fb_gpu_shared_memory(&e->gpu),
					  sizeof(struct fb_multimem_flags));
	if (err)
		return err;
	r->launch.rank = (uint32_t)w->rank;
	r->launch.ranks = (uint32_t)w->nranks;
	for (int p = 0; p < w->nranks; p++)
		r->launch.flags[p] = address(fb_segment_part(&r->flags, p));
	place(r, is_one_shot(c, op));
	err = shape(r, is_one_shot(c, op));
	/* Loaded now: while a capture is under way it cannot be. */
	if (!err)
		err = FB_CUDA(cudaFuncGetAttributes(&attributes, r->kernel));
	if (!err)
		err = fb_gpu_stream_open(&r->on.stream, &e->gpu, !strcmp(c->launch, "graph"),
					 enqueue, r, e->engine.session);
	return fb_group_agree(w, err);
}

static int multimem_enqueue(struct fb_request *request, void *stream)
{
	return enqueue(request, stream);
}

static void multimem_describe(struct fb_request *request, struct fb_traits *traits)
{
	const struct multimem_request *r = (const struct multimem_request *)request;
	bool reduces = fb_collective_info(r->op->collective)->reduces;
	bool stores = r->launch.all_out || !reduces;

	traits->channels = (int)r->blocks;
	traits->extra[FB_THREADS] = r->threads;
	snprintf(traits->path, sizeof(traits->path), "multicast: %s%s%s",
		 reduces ? "ld_reduce" : "", reduces && stores ? " and " : "",
		 stores ? "st" : "");
	fb_on_stream_describe(&r->on, &engine_of(r)->gpu, traits);
}

const struct fb_engine_ops fb_engine_multimem = {
	.name = "multimem",
	.device = true,
	.bytes = sizeof(struct multimem_engine),
	.request_bytes = sizeof(struct multimem_request),
	.open = multimem_open,
	.close = multimem_close,
	.can = multimem_can,
	.prepare = multimem_prepare,
	.ready = fb_on_stream_ready,
	.run = fb_on_stream_run,
	.start = fb_on_stream_start,
	.test = fb_on_stream_test,
	.wait = fb_on_stream_wait,
	.enqueue = multimem_enqueue,
	.describe = multimem_describe,
	.release = multimem_release,
};
