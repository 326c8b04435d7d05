/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine cuda: kernels that store into, or load from, another GPU's memory. It has kernels of its
 * own beside engine mover-cuda (p2p/engine/over.c), which launches a kernel for each message of a
 * ping-pong. Half a round trip of 8 bytes by ll takes 0.65 us here on two H100
 * (results/reference/h100x2); a launch alone takes 1.5 us (h100x1: all_reduce of one rank, in a
 * graph).
 *
 * A call of one_way and its like is a launch that moves a window of messages; with `send` the
 * receiver's kernel waits for it. A call of ping_pong is a launch on either side in which a
 * message goes back and forth many times, so that no launch is in the time. What the kernels do
 * is in move.h, and what they are given is made in build.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"
#include "p2p/engine/cuda/build.h"
#include "p2p/engine/cuda/cuda_events.h"
#include "p2p/engine/cuda/cuda_near.h"
#include "p2p/engine/cuda/kernels.h"
#include "p2p/engine/device.h"

struct cuda_p2p {
	struct fb_p2p_device base;
	struct fb_segment links;
	uint32_t *near; /* [nranks], see cuda_near.h; NULL: links are not in GPU memory */
	int sms;        /* least of all ranks */
};

struct cuda_p2p_request {
	struct fb_p2p_timed_request timed;
	struct fb_p2p_window window;
	struct fb_p2p_ping_pong ping_pong;
	const void *kernel;
	void *launch; /* one of the two above; NULL: this rank launches nothing */
	struct fb_p2p_shape shape;
	uint64_t calls;
};

static struct cuda_p2p *engine_of(const struct cuda_p2p_request *r)
{
	return (struct cuda_p2p *)r->timed.base.engine;
}

static int cuda_open(struct fb_p2p_engine *engine)
{
	struct cuda_p2p *e = (struct cuda_p2p *)engine;
	int err = fb_p2p_device_open(&e->base);

	if (err)
		return err;
	e->sms = e->base.gpu.sms;
	MPI_Allreduce(MPI_IN_PLACE, &e->sms, 1, MPI_INT, MPI_MIN, e->base.world->comm);
	return FB_OK;
}

static void cuda_close(struct fb_p2p_engine *engine)
{
	struct cuda_p2p *e = (struct cuda_p2p *)engine;

	fb_segment_close(&e->links);
	free(e->near);
	fb_p2p_device_close(&e->base);
}

static bool cuda_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		     const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	bool ll = job->pattern == FB_PING_PONG && !strcmp(c->protocol, "ll");

	if (!fb_p2p_device_can((const struct fb_p2p_device *)engine, c, reason))
		return false;
	if (job->nflows > FB_P2P_MOST_FLOWS)
		snprintf(reason, FB_REASON_CHARS, "more than %d flows", FB_P2P_MOST_FLOWS);
	else if (ll && job->bytes > FB_P2P_LL_BYTES)
		snprintf(reason, FB_REASON_CHARS, "protocol ll takes messages up to %d bytes",
			 FB_P2P_LL_BYTES);
	else
		return true;
	return false;
}

/* Collective, at the first request: memory in which ranks count for each other. */
static int open_links(struct cuda_p2p *e)
{
	const struct fb_gpu *gpu = &e->base.gpu;
	enum fb_gpu_memory memory = gpu->all_reach ? fb_gpu_shared_memory(gpu) : FB_GPU_PINNED;
	int err;

	if (e->links.ops)
		return FB_OK;
	err = fb_gpu_segment_open(&e->links, gpu, memory, FB_P2P_LINKS_BYTES);
	if (err || memory == FB_GPU_PINNED)
		return err;
	e->near = calloc((size_t)e->base.world->nranks, sizeof(*e->near));
	err = fb_group_agree(e->base.world, e->near ? FB_OK : FB_ENOMEM);
	return err ? err : fb_p2p_find_near(&e->links, e->base.world, e->near);
}

/* What this rank launches. */
static void build(struct cuda_p2p_request *r, const struct fb_case *c)
{
	const struct fb_job *job = r->timed.base.job;
	const struct fb_p2p_view view = {
		.job = job, .links = &engine_of(r)->links, .rank = engine_of(r)->base.world->rank,
		.ll = job->pattern == FB_PING_PONG && !strcmp(c->protocol, "ll"),
		.near = engine_of(r)->near,
	};
	const struct fb_p2p_limits limits = {
		.channels = engine_of(r)->base.settings->channels,
		.threads = engine_of(r)->base.settings->threads, .sms = engine_of(r)->sms,
	};
	bool acts = false;

	for (int f = 0; f < job->nflows; f++)
		acts |= fb_p2p_device_acts(&r->timed.base, &job->flows[f]);
	fb_p2p_choose_shape(&view, &limits, &r->shape);
	if (!acts)
		return;
	if (job->pattern != FB_PING_PONG) {
		fb_p2p_build_window(&view, &r->shape, &r->window);
		r->kernel = fb_p2p_kernel(FB_P2P_WINDOW);
		r->launch = &r->window;
		return;
	}
	fb_p2p_build_ping_pong(&view, &r->ping_pong);
	r->kernel = fb_p2p_kernel(view.ll ? FB_P2P_LL : FB_P2P_DIRECT);
	r->launch = &r->ping_pong;
}

static int enqueue(void *request, void *stream)
{
	struct cuda_p2p_request *r = request;
	void *args[] = {r->launch};
	const cudaLaunchConfig_t config = {
		.gridDim = {r->shape.blocks, 1, 1}, .blockDim = {r->shape.threads, 1, 1},
		.stream = stream};
	int err = fb_p2p_events_begin(&r->timed.events, stream);

	if (!err)
		err = FB_CUDA(cudaLaunchKernelExC(&config, r->kernel, args));
	return err ? err : fb_p2p_events_end(&r->timed.events, stream);
}

/*
 * Counters begin at 0. Kernels are loaded here, because CUDA would otherwise load them at their
 * first launch. That could be within a capture, or it could wait for a running kernel that itself
 * waits for this rank.
 */
static int set_up(struct fb_p2p_device_request *base, const struct fb_case *c)
{
	struct cuda_p2p_request *r = (struct cuda_p2p_request *)base;
	struct cuda_p2p *e = engine_of(r);
	struct cudaFuncAttributes attributes;
	int err = open_links(e);

	if (err)
		return err;
	err = e->links.ops->set(fb_segment_part(&e->links, e->base.world->rank), 0,
				FB_P2P_LINKS_BYTES);
	build(r, c);
	if (!err && r->launch)
		err = FB_CUDA(cudaFuncGetAttributes(&attributes, r->kernel));
	return fb_p2p_timed_prepare(&r->timed, c, enqueue, err);
}

static int cuda_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
			const struct fb_job *job, struct fb_p2p_request **request)
{
	return fb_p2p_device_make(engine, c, job, sizeof(struct cuda_p2p_request), set_up, request);
}

static int cuda_run(struct fb_p2p_request *request, int calls)
{
	struct cuda_p2p_request *r = (struct cuda_p2p_request *)request;

	r->calls += (uint64_t)calls;
	return fb_p2p_timed_run(request, calls);
}

static void cuda_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	const struct cuda_p2p_request *r = (const struct cuda_p2p_request *)request;

	fb_p2p_device_path(&r->timed.base, "kernels", traits);
	traits->channels = (int)r->shape.movers;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Half of a round trip, of all rounds but the first, median over the last calls. */
static double device_us(const struct cuda_p2p_request *r)
{
	uint64_t n = r->calls < FB_P2P_TIMES ? r->calls : FB_P2P_TIMES, ns[FB_P2P_TIMES];
	const struct fb_segment *links = &engine_of(r)->links;
	uint64_t median;
	int rounds = r->timed.base.job->rounds;

	if (r->timed.base.job->pattern != FB_PING_PONG || !r->launch || rounds < 2 || !n ||
	    links->ops->get(
		    ns, fb_segment_part(links, engine_of(r)->base.world->rank) + FB_P2P_LINKS_TIMES,
		    sizeof(ns)))
		return (double)NAN;
	qsort(ns, n, sizeof(ns[0]), by_value);
	median = ns[n / 2];
	return (double)median * 1e-3 / (2.0 * (rounds - 1));
}

static void cuda_columns(struct fb_p2p_request *request, double value[FB_P2P_GPU_COLUMNS])
{
	const struct cuda_p2p_request *r = (const struct cuda_p2p_request *)request;

	fb_p2p_timed_columns(request, value);
	value[FB_P2P_DEVICE_US] = device_us(r);
	value[FB_P2P_THREADS] = r->shape.threads;
}

static const char *const protocols[] = {"direct", "ll", NULL};

const struct fb_p2p_engine_ops fb_p2p_cuda = {
	.name = "cuda",
	.own = true,
	.device = true,
	.gpu_memory = FB_P2P_MAPPED_MEMORY,
	.protocols = protocols,
	.one_sided = true,
	.rounds = 500,
	.bytes = sizeof(struct cuda_p2p),
	.open = cuda_open,
	.close = cuda_close,
	.can = cuda_can,
	.prepare = cuda_prepare,
	.ready = fb_p2p_device_ready,
	.run = cuda_run,
	.describe = cuda_describe,
	.columns = cuda_columns,
	.release = fb_p2p_timed_release,
};
