/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engines between GPUs share; see cuda_device.h. */
#include "kvtransfer/engine/gpu/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_links.h"
#include "kvtransfer/engine/gpu/kernels.h"

/* Blocks of launches that only touch own memory, for each multiprocessor. */
enum { LOCAL_BLOCKS = 2, ROW_BYTES = 16 };

static uint32_t at_most(uint64_t value, uint32_t most)
{
	return value < most ? (uint32_t)value : most;
}

int fb_kv_device_open(struct fb_kv_device *e, const struct fb_kv_context *context)
{
	const struct fb_settings *s = context->settings;
	int sms;

	e->engine.context = context;
	if (!context->gpu) {
		snprintf(e->why, sizeof(e->why), "%s", context->no_gpu);
		return FB_OK;
	}
	if (!context->gpu->all_reach)
		snprintf(e->why, sizeof(e->why), "not every GPU reaches every other");
	else if (!fb_group_one_host(context->world))
		snprintf(e->why, sizeof(e->why), "memory device does not reach other hosts");
	sms = context->gpu->sms;
	MPI_Allreduce(MPI_IN_PLACE, &sms, 1, MPI_INT, MPI_MIN, context->world->comm);
	e->push_blocks = at_most(s->channels ? s->channels : (uint64_t)sms, FB_KV_MOST_BLOCKS);
	e->local_blocks = at_most((uint64_t)sms * LOCAL_BLOCKS, FB_KV_MOST_BLOCKS);
	/* Teams are powers of two up to a warp; so must be what they are parts of. */
	e->threads = at_most(s->threads ? (s->threads + 31) / 32 * 32 : FB_KV_THREADS,
			     FB_KV_THREADS);
	return FB_OK;
}

void fb_kv_device_close(struct fb_kv_device *e)
{
	fb_segment_close(&e->flags);
}

const char *fb_kv_device_missing(const struct fb_kv_engine *engine)
{
	const struct fb_kv_device *e = (const struct fb_kv_device *)engine;

	return *e->why ? e->why : NULL;
}

/* More than what a launch deals out to its teams: pieces of all pairs and regions. */
static uint64_t most_pieces(const struct fb_kv_job *job)
{
	const struct fb_kv_shape *s = &job->plan.shape;
	uint64_t most = 0;

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];
		uint64_t runs = s->layout == FB_KV_HND ? (uint64_t)fb_kv_blocks(s) * pair->heads
						       : s->tokens;

		runs += pair->region_bytes / FB_KV_PIECE + 1;
		most = runs > most ? runs : most;
	}
	return most * job->plan.pairs * job->step_regions;
}

bool fb_kv_device_can(const struct fb_kv_engine *engine, const struct fb_kv_job *job,
		      char reason[FB_REASON_CHARS])
{
	const struct fb_kv_shape *s = &job->plan.shape;

	(void)engine;
	if (fb_kv_row(s) % ROW_BYTES)
		snprintf(reason, FB_REASON_CHARS, "a head's %llu bytes of a token are no multiple "
			 "of %d", (unsigned long long)fb_kv_row(s), ROW_BYTES);
	else if (job->plan.pairs > FB_KV_MOST_WAYS)
		snprintf(reason, FB_REASON_CHARS, "more than %d pairs of ranks", FB_KV_MOST_WAYS);
	else if (most_pieces(job) > UINT32_MAX)
		snprintf(reason, FB_REASON_CHARS, "more runs than a kernel counts");
	else
		return true;
	return false;
}

static int open_flags(struct fb_kv_device *e)
{
	const struct fb_gpu *gpu = e->engine.context->gpu;
	size_t bytes = (size_t)e->engine.context->world->nranks * 2 * FB_KV_FLAG_BYTES;
	char ignored[FB_REASON_CHARS];
	bool vmm;

	if (e->flags.ops)
		return FB_OK;
	vmm = fb_gpu_segment_can(gpu, FB_GPU_VMM, ignored, sizeof(ignored));
	return fb_gpu_segment_open(&e->flags, gpu, vmm ? FB_GPU_VMM : FB_GPU_DEVICE, bytes);
}

/* All own pairs' pieces, one list behind the other, on the GPU. */
static int upload(struct fb_kv_device_request *r)
{
	const struct fb_kv_plan *plan = &r->request.job->plan;
	struct fb_kv_piece *host;
	uint64_t n = 0, at = 0;
	int err;

	r->of_pair = calloc(plan->pairs, sizeof(*r->of_pair));
	if (!r->of_pair)
		return FB_ENOMEM;
	for (uint32_t p = 0; p < plan->pairs; p++)
		n += r->of_pair[p].count = fb_kv_cut(&plan->pair[p], NULL);
	if (!n)
		return FB_OK;
	host = malloc(n * sizeof(*host));
	if (!host)
		return FB_ENOMEM;
	err = FB_CUDA(cudaMalloc(&r->pieces, n * sizeof(*host)));
	for (uint32_t p = 0; p < plan->pairs; p++) {
		fb_kv_cut(&plan->pair[p], host + at);
		r->of_pair[p].address = (uint64_t)(uintptr_t)r->pieces + at * sizeof(*host);
		at += r->of_pair[p].count;
	}
	if (!err)
		err = FB_CUDA(cudaMemcpy(r->pieces, host, n * sizeof(*host),
					 cudaMemcpyHostToDevice));
	free(host);
	return err;
}

static int make_events(cudaEvent_t *event, uint32_t n)
{
	int err = FB_OK;

	for (uint32_t i = 0; i < n && !err; i++)
		err = FB_CUDA(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
	return err;
}

static void free_events(cudaEvent_t *event, uint32_t n)
{
	for (uint32_t i = 0; event && i < n; i++)
		if (event[i])
			(void)cudaEventDestroy(event[i]);
}

static int open_sides(struct fb_kv_device_request *r)
{
	uint32_t steps = r->request.job->steps;
	int err = FB_OK;

	if (r->request.job->mode != FB_KV_LAYERWISE)
		return FB_OK;
	r->packed = calloc(steps, sizeof(cudaEvent_t));
	r->moved = calloc(steps, sizeof(cudaEvent_t));
	if (!r->packed || !r->moved)
		return FB_ENOMEM;
	for (int i = 0; i < FB_KV_STREAMS && !err; i++)
		err = FB_CUDA(cudaStreamCreateWithFlags(&r->side[i], cudaStreamNonBlocking));
	if (!err)
		err = make_events(r->packed, steps);
	if (!err)
		err = make_events(r->moved, steps);
	if (!err)
		err = make_events(r->joined, FB_KV_STREAMS);
	return err ? err : make_events(&r->begin, 1);
}

/* Kernels are loaded now: at first use that may wait for one that waits for this rank. */
static int open_local(struct fb_kv_device_request *r, fb_gpu_enqueue_fn enqueue)
{
	const struct fb_kv_context *context = r->request.engine->context;
	struct fb_segment *flags = &r->engine->flags;
	struct cudaFuncAttributes attributes;
	int err = flags->ops->set(fb_segment_part(flags, context->world->rank), 0,
				  (size_t)context->world->nranks * 2 * FB_KV_FLAG_BYTES);

	if (!err)
		err = FB_CUDA(cudaFuncGetAttributes(&attributes, fb_kv_kernel()));
	if (!err)
		err = upload(r);
	if (!err)
		err = open_sides(r);
	return err ? err : fb_gpu_stream_open(&r->stream, context->gpu, false, enqueue, r,
					      context->session);
}

int fb_kv_device_prepare(struct fb_kv_device_request *r, struct fb_kv_device *e,
			 const struct fb_kv_job *job, fb_gpu_enqueue_fn enqueue)
{
	const struct fb_group *w = e->engine.context->world;
	int err;

	r->request = (struct fb_kv_request){&e->engine, job};
	r->engine = e;
	err = open_flags(e);
	if (err)
		return err;
	err = fb_group_agree(w, open_local(r, enqueue));
	r->view = (struct fb_kv_view){job, &e->flags, r->of_pair, e->push_blocks,
				      e->local_blocks};
	return err;
}

void fb_kv_device_end(struct fb_kv_device_request *r)
{
	uint32_t steps = r->request.job->steps;

	fb_gpu_stream_close(r->stream);
	MPI_Barrier(r->request.engine->context->world->comm);
	free_events(r->packed, steps);
	free_events(r->moved, steps);
	free_events(r->joined, FB_KV_STREAMS);
	free_events(&r->begin, 1);
	for (int i = 0; i < FB_KV_STREAMS; i++)
		if (r->side[i])
			(void)cudaStreamDestroy(r->side[i]);
	if (r->pieces)
		(void)cudaFree(r->pieces);
	free(r->packed);
	free(r->moved);
	free(r->of_pair);
}

int fb_kv_device_run(struct fb_kv_request *request, unsigned phases, int calls)
{
	struct fb_kv_device_request *r = (struct fb_kv_device_request *)request;

	r->phases = phases;
	return fb_gpu_stream_run(r->stream, calls);
}

int fb_kv_device_launch(const struct fb_kv_device_request *r, enum fb_kv_work work, uint32_t step,
			bool counts, bool last, cudaStream_t stream)
{
	struct fb_kv_view view = r->view;
	struct fb_kv_launch launch;
	void *args[] = {&launch};

	view.flags = counts ? view.flags : NULL;
	if (!fb_kv_build(&view, work, step, r->calls, last, &launch))
		return FB_OK;
	return FB_CUDA(cudaLaunchKernel(fb_kv_kernel(), (dim3){fb_kv_blocks_of(&view, work), 1, 1},
					(dim3){r->engine->threads, 1, 1}, args, 0, stream));
}

void fb_kv_device_path(const struct fb_kv_device_request *r, const char *by,
		       struct fb_traits *traits)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_gpu *gpu = r->request.engine->context->gpu;
	const char *link = "device memory";

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		int from = fb_kv_sender(job, &job->plan.pair[p]);
		int to = fb_kv_receiver(job, &job->plan.pair[p]);

		if (from != to && (from == job->rank || to == job->rank))
			link = fb_gpu_link_to(gpu, from == job->rank ? to : from);
	}
	snprintf(traits->path, sizeof(traits->path), "%s, push, %s", by, link);
	snprintf(traits->flags, sizeof(traits->flags), "%s", gpu->shared ? "gpu-shared" : "");
}
