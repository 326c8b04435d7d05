/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine cuda: kernels that store into, or load from, another GPU's memory.
 *
 * A call of one_way and its like is a launch that moves a window of messages; with `send` the
 * receiver's kernel waits for it. A call of ping_pong is a launch on either side in which a
 * message goes back and forth many times, so that no launch is in the time. What the kernels do
 * is in move.h, where counters and lines lie is below.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"
#include "p2p/engine/cuda/cuda_events.h"
#include "p2p/engine/cuda/kernels.h"
#include "p2p/engine/device.h"

enum {
	/* What a rank's part of the links holds, from where on. */
	EPOCHS = 0,
	TIMES = 4 << 10,
	COUNTERS = 16 << 10, /* 512 bytes a flow */
	LINES = 256 << 10,
	LINKS_BYTES = 512 << 10,

	COUNTERS_OF_FLOW = 8 * FB_P2P_MOST_BLOCKS,
	MOST_JOB_FLOWS = (LINES - COUNTERS) / COUNTERS_OF_FLOW,

	BLOCKS = 32, THREADS = 512, /* enough to fill 18 NVLinks, either way */
	BLOCK_BYTES = 32 << 10,     /* a block for each such piece, up to BLOCKS */
	WARP_BYTES = 512,           /* messages up to here are moved by warps, */
	TEAM_BYTES = 64 << 10,      /* and up to here by blocks */
};

struct cuda_p2p {
	struct fb_p2p_device base;
	struct fb_segment links;
	int sms; /* least of all ranks */
};

struct cuda_p2p_request {
	struct fb_p2p_device_request base;
	struct cuda_p2p *engine;
	struct fb_p2p_window window;
	struct fb_p2p_ping_pong ping_pong;
	struct fb_p2p_events events;
	const void *kernel;
	void *launch;             /* one of the two above */
	unsigned movers;          /* blocks that a message is moved by */
	unsigned blocks, threads; /* of this rank's launch */
	uint64_t calls;
	bool ll;
};

static int cuda_open(struct fb_p2p_engine **engine, struct fb_run *run)
{
	struct cuda_p2p *e = calloc(1, sizeof(*e));
	int err = fb_world_agree(fb_run_world(run), e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine cuda");
	}
	e->base.engine.ops = &fb_p2p_cuda;
	err = fb_p2p_device_open(&e->base, run);
	if (err) {
		free(e);
		return err;
	}
	e->sms = e->base.gpu.sms;
	MPI_Allreduce(MPI_IN_PLACE, &e->sms, 1, MPI_INT, MPI_MIN, e->base.world->comm);
	*engine = &e->base.engine;
	return FB_OK;
}

static void cuda_close(struct fb_p2p_engine *engine)
{
	struct cuda_p2p *e = (struct cuda_p2p *)engine;

	fb_segment_close(&e->links);
	fb_p2p_device_close(&e->base);
	free(e);
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
		snprintf(reason, FB_REASON_CHARS, "ll is for messages up to %d bytes",
			 FB_P2P_LL_BYTES);
	else
		return true;
	return false;
}

/* Collective, at the first request: memory in which ranks count for each other. */
static int open_links(struct cuda_p2p *e)
{
	const struct fb_gpu *gpu = &e->base.gpu;
	enum fb_gpu_memory memory = FB_GPU_DEVICE;
	char ignored[FB_REASON_CHARS];

	if (e->links.ops)
		return FB_OK;
	if (!gpu->all_reach)
		memory = FB_GPU_PINNED;
	else if (!fb_world_one_host(e->base.world))
		memory = FB_GPU_FABRIC;
	else if (fb_gpu_segment_can(gpu, FB_GPU_VMM, ignored, sizeof(ignored)))
		memory = FB_GPU_VMM;
	return fb_gpu_segment_open(&e->links, gpu, memory, LINKS_BYTES);
}

static uint64_t number(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static uint64_t links_of(const struct cuda_p2p_request *r, int rank)
{
	return number(fb_segment_part(&r->engine->links, rank));
}

static uint64_t counters_of(const struct cuda_p2p_request *r, int rank, int f)
{
	return links_of(r, rank) + COUNTERS + (uint64_t)f * COUNTERS_OF_FLOW;
}

/* As many blocks as pay, the same on all ranks. */
static unsigned choose_blocks(const struct cuda_p2p_request *r, uint64_t bytes)
{
	uint64_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
	uint64_t most = r->engine->base.settings->channels;

	blocks = blocks > BLOCKS ? BLOCKS : blocks;
	if (most)
		blocks = most;
	return (unsigned)(blocks > (uint64_t)r->engine->sms ? (uint64_t)r->engine->sms : blocks);
}

/* Whole warps for so many pieces of work, or what the user says. */
static unsigned choose_threads(const struct cuda_p2p_request *r, uint64_t pieces)
{
	uint64_t threads = (pieces + 31) / 32 * 32;

	if (r->engine->base.settings->threads)
		return (unsigned)r->engine->base.settings->threads;
	return threads > THREADS ? THREADS : (unsigned)threads;
}

/* The same on all ranks, as they count each other's blocks. */
static void choose_shape(struct cuda_p2p_request *r)
{
	const struct fb_job *job = r->base.job;

	if (job->pattern != FB_PING_PONG) {
		r->movers = choose_blocks(r, job->bytes * (uint64_t)job->window);
		r->threads = choose_threads(r, THREADS);
	} else if (r->ll) {
		r->movers = 1;
		r->threads = choose_threads(r, (job->bytes + 7) / 8);
	} else {
		r->movers = choose_blocks(r, job->bytes);
		r->threads = choose_threads(r, (job->bytes + 15) / 16);
	}
	r->blocks = r->movers;
}

static void set_window(struct cuda_p2p_request *r)
{
	const struct fb_job *job = r->base.job;
	struct fb_p2p_window *l = &r->window;
	int self = r->engine->base.world->rank;

	*l = (struct fb_p2p_window){
		.bytes = job->bytes, .stride = job->stride, .epochs = links_of(r, self) + EPOCHS,
		.window = (uint32_t)job->window, .regions = (uint32_t)job->regions,
		.in_blocks = r->movers,
		.team = job->bytes <= WARP_BYTES   ? FB_P2P_WARP
			: job->bytes <= TEAM_BYTES ? FB_P2P_BLOCK
						   : FB_P2P_GRID,
	};
	for (int f = 0; f < job->nflows; f++) {
		const struct fb_flow *flow = &job->flows[f];
		int origin = job->verb == FB_SEND ? flow->src : fb_job_origin(job, flow);

		if (origin == self)
			l->out[l->nout++] = (struct fb_p2p_way){
				.from = number(fb_job_source(job, flow, 0)),
				.to = number(fb_job_target(job, flow, 0)),
				.counters = job->verb == FB_SEND ? counters_of(r, flow->dst, f)
								 : 0,
			};
		else if (job->verb == FB_SEND && flow->dst == self)
			l->in[l->nin++] = counters_of(r, self, f);
	}
	/* Who only receives waits with one block. */
	if (!l->nout)
		r->blocks = 1;
	r->kernel = fb_p2p_kernel(FB_P2P_WINDOW);
	r->launch = l;
}

/* Flow 0 is the one there and flow 1 the one back, on both of the ranks. */
static void set_ping_pong(struct cuda_p2p_request *r)
{
	const struct fb_job *job = r->base.job;
	int self = r->engine->base.world->rank, mine = job->flows[0].src == self ? 0 : 1;
	const struct fb_flow *out = &job->flows[mine], *in = &job->flows[1 - mine];

	r->ping_pong = (struct fb_p2p_ping_pong){
		.from = number(fb_job_source(job, out, 0)),
		.to = number(fb_job_target(job, out, 0)),
		.landed = number(fb_job_target(job, in, 0)),
		.out = r->ll ? links_of(r, out->dst) + LINES : counters_of(r, out->dst, mine),
		.in = r->ll ? links_of(r, self) + LINES : counters_of(r, self, 1 - mine),
		.bytes = job->bytes, .epochs = links_of(r, self) + EPOCHS,
		.times = links_of(r, self) + TIMES, .rounds = (uint32_t)job->rounds,
		.first = mine == 0,
	};
	r->kernel = fb_p2p_kernel(r->ll ? FB_P2P_LL : FB_P2P_DIRECT);
	r->launch = &r->ping_pong;
}

static int enqueue(void *request, void *stream)
{
	struct cuda_p2p_request *r = request;
	void *args[] = {r->launch};
	const cudaLaunchConfig_t config = {
		.gridDim = {r->blocks, 1, 1}, .blockDim = {r->threads, 1, 1}, .stream = stream};
	int err = fb_p2p_events_begin(&r->events, stream);

	if (!err)
		err = FB_CUDA(cudaLaunchKernelExC(&config, r->kernel, args));
	return err ? err : fb_p2p_events_end(&r->events, stream);
}

static void cuda_release(struct fb_p2p_request *request)
{
	struct cuda_p2p_request *r = (struct cuda_p2p_request *)request;

	fb_p2p_device_end(&r->base);
	fb_p2p_events_close(&r->events);
	free(r);
}

/*
 * Behind the request's own memory. Counters begin at 0. Kernels are loaded now: at first use that
 * may be inside of a capture, or wait for a kernel that waits for this rank.
 */
static int set_up(struct cuda_p2p_request *r, const struct fb_case *c)
{
	const struct fb_world *w = r->engine->base.world;
	struct cudaFuncAttributes attributes;
	int err = open_links(r->engine);

	if (err)
		return err;
	err = r->engine->links.ops->set(fb_segment_part(&r->engine->links, w->rank), 0,
					LINKS_BYTES);
	choose_shape(r);
	for (int f = 0; f < r->base.job->nflows; f++)
		if (fb_p2p_device_acts(&r->base, &r->base.job->flows[f]))
			r->launch = &r->window;
	if (r->launch && r->base.job->pattern == FB_PING_PONG)
		set_ping_pong(r);
	else if (r->launch)
		set_window(r);
	if (!err && r->launch)
		err = FB_CUDA(cudaFuncGetAttributes(&attributes, r->kernel));
	if (!err)
		err = fb_p2p_events_open(&r->events, r->base.job, c);
	err = fb_world_agree(w, err);
	if (!err)
		err = fb_p2p_device_prepare(&r->base, c, enqueue);
	return err ? err : fb_p2p_device_capture(&r->base);
}

static int cuda_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
			const struct fb_job *job, struct fb_p2p_request **request)
{
	struct cuda_p2p *e = (struct cuda_p2p *)engine;
	struct cuda_p2p_request *r = calloc(1, sizeof(*r));
	int err = fb_world_agree(e->base.world, r ? FB_OK : FB_ENOMEM);

	if (err || !r) {
		free(r);
		return err;
	}
	r->base = (struct fb_p2p_device_request){{engine}, &e->base, job, NULL, 0};
	r->engine = e;
	r->ll = !strcmp(c->protocol, "ll");
	err = set_up(r, c);
	if (err) {
		cuda_release(&r->base.request);
		return err;
	}
	*request = &r->base.request;
	return FB_OK;
}

static int cuda_run(struct fb_p2p_request *request, int calls)
{
	struct cuda_p2p_request *r = (struct cuda_p2p_request *)request;
	int err;

	r->calls += (uint64_t)calls;
	fb_p2p_events_arm(&r->events, calls);
	err = fb_p2p_device_run(request, calls);
	return err ? err : fb_p2p_events_take(&r->events);
}

static void cuda_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	const struct cuda_p2p_request *r = (const struct cuda_p2p_request *)request;

	fb_p2p_device_path(&r->base, "kernels", traits);
	traits->channels = (int)r->movers;
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
	const struct fb_segment *links = &r->engine->links;
	int rounds = r->base.job->rounds;

	if (r->base.job->pattern != FB_PING_PONG || !r->launch || rounds < 2 || !n ||
	    links->ops->get(ns, fb_segment_part(links, r->engine->base.world->rank) + TIMES,
			    sizeof(ns)))
		return (double)NAN;
	qsort(ns, n, sizeof(ns[0]), by_value);
	return (double)ns[n / 2] * 1e-3 / (2.0 * (rounds - 1));
}

static void cuda_columns(struct fb_p2p_request *request, double value[FB_P2P_GPU_COLUMNS])
{
	const struct cuda_p2p_request *r = (const struct cuda_p2p_request *)request;

	fb_p2p_device_columns(request, value);
	if (isnan(value[FB_P2P_EVENT_US]))
		value[FB_P2P_EVENT_US] = fb_p2p_events_us(&r->events);
	value[FB_P2P_DEVICE_US] = device_us(r);
	value[FB_P2P_THREADS] = r->threads;
}

static const char *const protocols[] = {"direct", "ll", NULL};

const struct fb_p2p_engine_ops fb_p2p_cuda = {
	.name = "cuda",
	.summary = "kernels that store into, or load from, another GPU's memory",
	.own = true,
	.device = true,
	.protocols = protocols,
	.one_sided = true,
	.rounds = 500,
	.open = cuda_open,
	.close = cuda_close,
	.can = cuda_can,
	.prepare = cuda_prepare,
	.ready = fb_p2p_device_ready,
	.run = cuda_run,
	.describe = cuda_describe,
	.columns = cuda_columns,
	.release = cuda_release,
};
