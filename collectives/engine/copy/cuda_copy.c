/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine copy: collectives carried out by a GPU's copy engines and not by its multiprocessors,
 * which stay free for computing but for the sums of reductions. What is enqueued and why it is
 * right is in plan.h and sums.h; how, in cuda_enqueue.c.
 */
#include "collectives/engine/copy/chain.h"
#include "collectives/engine/copy/cuda_copy.h"
#include "collectives/engine/copy/sums.h"
#include "collectives/engine/cuda/cuda_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"

enum {
	FLAGS_BYTES = 1 << 20, /* of a rank: for 480 ranks */
	FLAG_BYTES = 128,
	RELAY_BYTES = 1 << 20, /* below, pieces are too short for the copy engines */
	PIECE_BYTES = 4 << 20,
	ROUND_BYTES = 8 << 20, /* below, more time goes into flags than several copies cost */
	TAIL_BYTES = 6 << 20,  /* its copy hides the exchange of flags for the next turn */
	CHAIN_BYTES = 128 << 20, /* below, filling the row takes too long */
	LEAST_PIECE = 4 << 20, /* of chains: its copy hides the flags of the next */
	PIECE_COST = 1 << 20,
	BATCH_BYTES = 4 << 20, /* from here on, a stream for each peer is faster */
	LEAST_SUM = 1 << 20,
	MOST_SUM = 512 << 20,  /* half of it for two ranks, which have no rounds to pay for */
	LAST_PART = 16,        /* of a share, where pieces get shorter */
};

static int copy_open(struct fb_engine *engine)
{
	struct copy_engine *e = (struct copy_engine *)engine;
	int err;

	e->group = engine->group;
	e->settings = engine->session->settings;
	err = fb_gpu_view_open(&e->gpu, engine->session, e->group, e->why);
	e->has_gpu = !err;
	if (!err && cudaDriverGetVersion(&e->driver_version) != cudaSuccess)
		e->driver_version = 0;
	if (!err) {
		err = fb_group_agree(e->group, fb_cuda_driver_find(&e->driver));
		if (err)
			snprintf(e->why, sizeof(e->why), "the driver has no stream memory "
				 "operations");
	}
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

static void copy_close(struct fb_engine *engine)
{
	struct copy_engine *e = (struct copy_engine *)engine;

	fb_segment_close(&e->flags);
	if (e->has_gpu)
		fb_gpu_view_close(&e->gpu);
}

static bool copy_can(const struct fb_engine *engine, const struct fb_case *c,
		     const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct copy_engine *e = (const struct copy_engine *)engine;

	if (!fb_copy_can(op, !strcmp(c->algorithm, "pull"), reason, FB_REASON_CHARS))
		return false;
	if (*e->why)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (!e->gpu.all_reach)
		snprintf(reason, FB_REASON_CHARS, "not every GPU reaches every other");
	else if (!strcmp(c->memory, "pinned") && !fb_group_one_host(e->group))
		snprintf(reason, FB_REASON_CHARS, "memory pinned does not reach other hosts");
	else if (fb_copy_is_sum(op) && e->group->nranks > FB_GPU_MOST_SUMMANDS)
		snprintf(reason, FB_REASON_CHARS, "sums are possible over at most %d ranks",
			 FB_GPU_MOST_SUMMANDS);
	else if ((size_t)fb_copy_flags(e->group->nranks) * FLAG_BYTES > FLAGS_BYTES)
		snprintf(reason, FB_REASON_CHARS, "%d ranks are more than there are flags for",
			 e->group->nranks);
	else
		return true;
	return false;
}

/* Collective, at the first request. The flags begin as 0, and every call leaves them 0. */
static int open_flags(struct copy_engine *e)
{
	if (e->flags.ops)
		return FB_OK;
	return fb_gpu_segment_open(&e->flags, &e->gpu, fb_gpu_shared_memory(&e->gpu), FLAGS_BYTES);
}

/* Collective: what sums need beside the buffers. */
static int open_sums(struct copy_request *r, const struct fb_copy_tuning *tuning)
{
	const struct copy_engine *e = r->engine;
	int n = e->group->nranks, err;
	uint64_t bytes = fb_copy_scratch_bytes(r->op, tuning, n);
	struct cudaFuncAttributes attributes;

	if (!fb_copy_is_sum(r->op))
		return FB_OK;
	r->scratch_of = calloc((size_t)n, sizeof(*r->scratch_of));
	err = fb_group_agree(e->group, r->scratch_of ? FB_OK : FB_ENOMEM);
	if (!err && bytes)
		err = fb_gpu_segment_open(&r->scratch, &e->gpu, fb_gpu_shared_memory(&e->gpu),
					  bytes);
	for (int i = 0; !err && bytes && i < n; i++)
		r->scratch_of[i] = fb_segment_part(&r->scratch, i);
	/* Loads the kernel now, because that is impossible during a capture. */
	r->sum = fb_gpu_kernel(r->op, FB_GPU_KERNEL_SUM, true);
	return err ? err : fb_group_agree(e->group,
					  FB_CUDA(cudaFuncGetAttributes(&attributes, r->sum)));
}

/*
 * Two pieces of a share hide each other's flags and sums, and a piece costs some 10 us. In
 * reduce_scatter no copies of results follow that could hide the last sum. So that sum should be
 * short: there are eight pieces or, in rounds, pieces that get shorter.
 */
static void tune_sums(const struct copy_request *r, struct fb_copy_tuning *w)
{
	uint64_t bytes = r->op->count * fb_datatype_size(r->op->datatype);
	uint64_t n = (uint64_t)r->engine->group->nranks, piece = bytes / n / 2, most;

	if (r->engine->settings->slot_bytes) {
		w->sum_bytes = r->engine->settings->slot_bytes;
		return;
	}
	if (r->op->collective == FB_REDUCE_SCATTER) {
		bool rounds = n > 2 && bytes - bytes / 4 >= w->round_bytes;

		piece = rounds ? bytes : bytes / 8;
		w->last_bytes = rounds ? bytes / LAST_PART : 0;
	}
	most = n > 2 ? MOST_SUM : MOST_SUM / 2;
	w->sum_bytes = piece < LEAST_SUM ? LEAST_SUM : piece > most ? most : piece;
}

/*
 * Balances two costs: a chain of n ranks takes n - 2 pieces longer than a copy of all bytes, and
 * each piece costs as much as the copy of PIECE_COST bytes. Both are equal if
 * piece^2 = bytes * PIECE_COST / (n - 2).
 */
static void tune_chain(const struct copy_request *r, struct fb_copy_tuning *w)
{
	uint64_t bytes = r->op->count * fb_datatype_size(r->op->datatype), piece = LEAST_PIECE;
	uint64_t n = (uint64_t)r->engine->group->nranks;

	w->chain_bytes = r->engine->settings->copy_streams ? UINT64_MAX : CHAIN_BYTES;
	if (!fb_copy_is_chained(r->op, w, (int)n))
		return;
	while (4 * piece * piece * (n - 2) <= bytes * PIECE_COST)
		piece *= 2;
	w->piece_bytes = r->engine->settings->slot_bytes ? r->engine->settings->slot_bytes : piece;
}

/*
 * Small blocks go as one batch on one stream, which costs least to enqueue. But a batch cannot be
 * captured, begins only when all peers are ready, and makes its copies one after the other, that of
 * the own block too. So graphs and larger blocks have a stream for each peer. From round_bytes on
 * copies take turns again (plan.h).
 */
static struct fb_copy_tuning tuning_of(struct copy_request *r, const struct fb_case *c)
{
	int n = r->engine->group->nranks, streams = (int)r->engine->settings->copy_streams;
	bool graph = !strcmp(c->launch, "graph");
	uint64_t block = r->op->count * fb_datatype_size(r->op->datatype);
	uint64_t tail = block / 4 < TAIL_BYTES ? block / 4 : TAIL_BYTES;
	struct fb_copy_tuning w;

	r->batch = !streams && !graph && block < BATCH_BYTES && fb_copy_has_batch(r->engine);
	if (!streams && !r->batch)
		streams = n - 1 < 8 ? n - 1 : 8;
	w = (struct fb_copy_tuning){
		.pull = !strcmp(c->algorithm, "pull"), .streams = streams,
		.relay_bytes = RELAY_BYTES, .piece_bytes = PIECE_BYTES,
		.round_bytes = r->engine->settings->copy_streams ? UINT64_MAX : ROUND_BYTES,
		.tail_bytes = tail,
	};
	tune_sums(r, &w);
	tune_chain(r, &w);
	return w;
}

static void copy_release(struct fb_request *request)
{
	struct copy_request *r = (struct copy_request *)request;

	fb_gpu_stream_close(r->on.stream);
	/* After it no peer's copies use this rank's memory. */
	MPI_Barrier(r->engine->group->comm);
	fb_copy_streams_close(r);
	fb_copy_list_free(&r->list);
	fb_segment_close(&r->scratch);
	free(r->scratch_of);
}

/* Collective; the same value on all ranks. */
static int set_up(struct copy_request *r, const struct fb_case *c)
{
	struct copy_engine *e = r->engine;
	struct fb_copy_tuning tuning = tuning_of(r, c);
	int err = open_flags(e);

	if (err)
		return err;
	err = open_sums(r, &tuning);
	if (err)
		return err;
	err = fb_copy_plan(r->op, &tuning, e->group->rank, e->group->nranks, &r->list);
	if (!err)
		err = fb_copy_streams_open(r);
	if (!err)
		err = fb_gpu_stream_open(&r->on.stream, &e->gpu, !strcmp(c->launch, "graph"),
					 fb_copy_enqueue, r, e->engine.session);
	/* An edge between streams is two commands. */
	if (!err)
		fb_gpu_stream_commands(r->on.stream, 2 * (int)r->list.count + 1);
	/* A driver that cannot capture the flags says so here, and the row is skipped. */
	if (!err && !strcmp(c->launch, "graph") && fb_gpu_stream_ready(r->on.stream, 1))
		err = FB_EUNSUPPORTED;
	return fb_group_agree(e->group, err);
}

static int copy_prepare(struct fb_request *request, const struct fb_case *c,
			const struct fb_operation *op)
{
	struct copy_request *r = (struct copy_request *)request;

	r->engine = (struct copy_engine *)request->engine;
	r->op = op;
	return set_up(r, c);
}

static int copy_enqueue(struct fb_request *request, void *stream)
{
	return fb_copy_enqueue(request, stream);
}

static void copy_describe(struct fb_request *request, struct fb_traits *traits)
{
	const struct copy_request *r = (const struct copy_request *)request;
	const struct fb_gpu *gpu = &r->engine->gpu;

	traits->channels = r->list.streams ? r->list.streams : 1;
	snprintf(traits->path, sizeof(traits->path), "copy engines, %s%s%s%s",
		 r->batch ? "batched" : "a copy per command", r->list.way ? ", " : "",
		 r->list.way ? r->list.way : "", r->sum ? ", sums by a kernel" : "");
	snprintf(traits->flags, sizeof(traits->flags), "%s", gpu->shared ? "gpu-shared" : "");
	fb_on_stream_describe(&r->on, gpu, traits);
}

const struct fb_engine_ops fb_engine_copy = {
	.name = "copy",
	.device = true,
	.bytes = sizeof(struct copy_engine),
	.request_bytes = sizeof(struct copy_request),
	.open = copy_open,
	.close = copy_close,
	.can = copy_can,
	.prepare = copy_prepare,
	.ready = fb_on_stream_ready,
	.run = fb_on_stream_run,
	.start = fb_on_stream_start,
	.test = fb_on_stream_test,
	.wait = fb_on_stream_wait,
	.enqueue = copy_enqueue,
	.describe = copy_describe,
	.release = copy_release,
};
