/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between a processor and its GPU on streams; see local.h. No mover carries them out,
 * because movers are between ranks, and here one rank copies within its own memory.
 *
 * Two copies at the same time are on two streams, the second forked off the first and joined
 * again, or in one launch of the kernel. Copies of pageable memory hold the processor up, so two
 * of these are not at the same time.
 *
 * Messages between the processor and a running kernel are those of protocol ll between GPUs
 * (p2p/engine/cuda/move.h): lines of data and flags in pinned memory, where the processor stores
 * 8 bytes at once. So no fence is needed on either side. Lines in the GPU's own memory, written
 * by the processor through a mapping as GDRCopy's (gdr.h), would be faster; that is not done yet.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/spin.h"
#include "common/cuda/cuda_error.h"
#include "p2p/engine/cuda/cuda_events.h"
#include "p2p/engine/cuda/kernels.h"
#include "p2p/local/local.h"

enum {
	BLOCKS = 32, THREADS = 512, BLOCK_BYTES = 32 << 10,
	WARP_BYTES = 512, TEAM_BYTES = 64 << 10,
	LINES_BYTES = 2 * FB_LOCAL_LL_BYTES,
	/* What the counters of a request hold, in device memory. */
	EPOCHS = 0, TIMES = 4 << 10, COUNTERS_BYTES = 16 << 10,
};

_Static_assert((int)FB_LOCAL_LL_BYTES == (int)FB_P2P_LL_BYTES, "the kernel's limit");

struct fb_local_request {
	const struct fb_gpu *gpu;
	const struct fb_local_job *job;
	const struct fb_session *session;
	struct fb_gpu_stream *stream;
	struct fb_p2p_events events;
	cudaStream_t side;
	cudaEvent_t fork, join;
	struct fb_p2p_window window;
	struct fb_p2p_ping_pong ping_pong;
	unsigned blocks, threads; /* of the kernel */
	char *counters;           /* device memory */
	char *lines;              /* pinned: to the kernel, then from it */
	uint64_t calls;
};

/* --- enqueuing -------------------------------------------------------------------------------- */

static int move(const struct fb_local_request *r, int c, cudaStream_t stream)
{
	const struct fb_local_copy *copy = &r->job->copy[c];
	int err = FB_OK;

	for (int k = 0; k < r->job->window && !err; k++) {
		size_t at = (size_t)(k % r->job->regions) * r->job->stride;

		err = FB_CUDA(cudaMemcpyAsync(copy->to + at, copy->from + at, r->job->bytes,
					      cudaMemcpyDefault, stream));
	}
	return err;
}

static int after(cudaEvent_t event, cudaStream_t first, cudaStream_t then)
{
	int err = FB_CUDA(cudaEventRecord(event, first));

	return err ? err : FB_CUDA(cudaStreamWaitEvent(then, event, 0));
}

static int copies(const struct fb_local_request *r, cudaStream_t stream)
{
	int err;

	if (r->job->ncopies == 1)
		return move(r, 0, stream);
	err = after(r->fork, stream, r->side);
	if (!err)
		err = move(r, 1, r->side);
	if (!err)
		err = move(r, 0, stream);
	return err ? err : after(r->join, r->side, stream);
}

static int kernel(struct fb_local_request *r, cudaStream_t stream)
{
	bool ping_pong = r->job->rounds > 0;
	void *args[] = {ping_pong ? (void *)&r->ping_pong : (void *)&r->window};
	const cudaLaunchConfig_t config = {
		.gridDim = {r->blocks, 1, 1}, .blockDim = {r->threads, 1, 1}, .stream = stream};

	return FB_CUDA(cudaLaunchKernelExC(&config, fb_p2p_kernel(ping_pong ? FB_P2P_LL
									    : FB_P2P_WINDOW),
					   args));
}

static int enqueue(void *request, void *stream)
{
	struct fb_local_request *r = request;
	int err = fb_p2p_events_begin(&r->events, stream);

	if (!err)
		err = r->job->kernel ? kernel(r, stream) : copies(r, stream);
	return err ? err : fb_p2p_events_end(&r->events, stream);
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t number(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static void set_window(struct fb_local_request *r, const struct fb_settings *s)
{
	const struct fb_local_job *job = r->job;
	uint64_t blocks = (job->bytes * (uint64_t)job->window + BLOCK_BYTES - 1) / BLOCK_BYTES;
	bool within = !job->copy[0].from_host && !job->copy[0].to_host;
	/* The device's own memory takes all of its multiprocessors. */
	uint64_t most = within ? (uint64_t)r->gpu->sms : BLOCKS;

	blocks = blocks > most ? most : blocks;
	blocks = s->channels ? s->channels : blocks;
	r->blocks = blocks > (uint64_t)r->gpu->sms ? (unsigned)r->gpu->sms : (unsigned)blocks;
	r->threads = s->threads ? (unsigned)s->threads : THREADS;
	r->window = (struct fb_p2p_window){
		.nout = (uint32_t)job->ncopies, .bytes = job->bytes, .stride = job->stride,
		.epochs = number(r->counters) + EPOCHS, .window = (uint32_t)job->window,
		.regions = (uint32_t)job->regions,
		.team = job->bytes <= WARP_BYTES   ? FB_P2P_WARP
			: job->bytes <= TEAM_BYTES ? FB_P2P_BLOCK
						   : FB_P2P_GRID,
	};
	for (int c = 0; c < job->ncopies; c++)
		r->window.out[c] = (struct fb_p2p_way){.from = number(job->copy[c].from),
						       .to = number(job->copy[c].to)};
}

static void set_ping_pong(struct fb_local_request *r, const struct fb_settings *s)
{
	const struct fb_local_job *job = r->job;
	uint64_t threads = ((job->bytes + 7) / 8 + 31) / 32 * 32;

	r->blocks = 1;
	r->threads = (unsigned)(threads > THREADS ? THREADS : threads);
	if (s->threads)
		r->threads = (unsigned)s->threads;
	r->ping_pong = (struct fb_p2p_ping_pong){
		.from = number(job->copy[1].from), .landed = number(job->copy[0].to),
		.out = number(r->lines + LINES_BYTES), .in = number(r->lines),
		.bytes = job->bytes, .epochs = number(r->counters) + EPOCHS,
		.times = number(r->counters) + TIMES, .rounds = (uint32_t)job->rounds,
	};
}

static int open_side(struct fb_local_request *r)
{
	int err = FB_CUDA(cudaStreamCreateWithFlags(&r->side, cudaStreamNonBlocking));

	if (!err)
		err = FB_CUDA(cudaEventCreateWithFlags(&r->fork, cudaEventDisableTiming));
	return err ? err : FB_CUDA(cudaEventCreateWithFlags(&r->join, cudaEventDisableTiming));
}

/* What kernels need; they are loaded now, not inside of a capture. */
static int open_kernel(struct fb_local_request *r, const struct fb_settings *s)
{
	struct cudaFuncAttributes attributes;
	int err = FB_CUDA(cudaMalloc((void **)&r->counters, COUNTERS_BYTES));

	if (!err)
		err = FB_CUDA(cudaMemset(r->counters, 0, COUNTERS_BYTES));
	if (!err)
		err = FB_CUDA(cudaHostAlloc((void **)&r->lines, 2 * (size_t)LINES_BYTES,
					    cudaHostAllocMapped));
	if (err)
		return err;
	memset(r->lines, 0, 2 * (size_t)LINES_BYTES);
	if (r->job->rounds)
		set_ping_pong(r, s);
	else
		set_window(r, s);
	for (int which = FB_P2P_WINDOW; which <= FB_P2P_LL && !err; which++)
		err = FB_CUDA(cudaFuncGetAttributes(&attributes,
						    fb_p2p_kernel((enum fb_p2p_kernel)which)));
	return err ? err : FB_CUDA(cudaDeviceSynchronize());
}

int fb_local_open(struct fb_local_request **request, const struct fb_gpu *gpu,
		  const struct fb_local_job *job, const struct fb_case *c,
		  const struct fb_session *session)
{
	struct fb_local_request *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return fb_error(FB_ENOMEM, "out of memory for copies");
	r->gpu = gpu;
	r->job = job;
	r->session = session;
	r->blocks = 1;
	err = FB_CUDA(cudaSetDevice(gpu->device));
	if (!err && job->kernel)
		err = open_kernel(r, session->settings);
	else if (!err && job->ncopies == 2)
		err = open_side(r);
	if (!err)
		err = fb_p2p_events_open(&r->events, c, job->window, job->rounds ? 0 : job->bytes);
	if (!err)
		err = fb_gpu_stream_open(&r->stream, gpu, !strcmp(c->launch, "graph"), enqueue, r,
					 session);
	if (err) {
		fb_local_close(r);
		return err;
	}
	*request = r;
	return FB_OK;
}

void fb_local_close(struct fb_local_request *r)
{
	if (!r)
		return;
	fb_gpu_stream_close(r->stream);
	fb_p2p_events_close(&r->events);
	if (r->side)
		(void)cudaStreamDestroy(r->side);
	if (r->fork)
		(void)cudaEventDestroy(r->fork);
	if (r->join)
		(void)cudaEventDestroy(r->join);
	(void)cudaFree(r->counters);
	(void)cudaFreeHost(r->lines);
	(void)cudaGetLastError();
	free(r);
}

int fb_local_ready(struct fb_local_request *r, int calls)
{
	return fb_gpu_stream_ready(r->stream, calls);
}

/* --- the processor's end of ping_pong -------------------------------------------------------- */

static void send_lines(const struct fb_local_request *r, uint32_t flag)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)r->lines;
	const struct fb_local_job *job = r->job;

	for (uint64_t at = 0; at < job->bytes; at += 8, word += 2) {
		uint64_t value = 0, left = job->bytes - at;

		memcpy(&value, job->copy[0].from + at, left < 8 ? left : 8);
		/* Each word has its flag, so their order does not matter. */
		atomic_store_explicit(&word[0], (value & 0xffffffffu) | (uint64_t)flag << 32,
				      memory_order_relaxed);
		atomic_store_explicit(&word[1], value >> 32 | (uint64_t)flag << 32,
				      memory_order_relaxed);
	}
}

/* A word once it has the flag; the kernel may have died, so the wait is bounded. */
static int await_word(const struct fb_local_request *r, const _Atomic uint64_t *word,
		      uint32_t flag, uint64_t *value)
{
	struct fb_spin spin = {.yields = r->gpu->group->oversubscribed};
	uint64_t seen;
	int err = FB_OK;

	while ((seen = atomic_load_explicit(word, memory_order_relaxed)) >> 32 != flag && !err)
		if (fb_spin_again(&spin))
			err = fb_alive(r->session, "waiting for the kernel's answer");
	*value = seen & 0xffffffffu;
	return err;
}

static int receive_lines(const struct fb_local_request *r, uint32_t flag)
{
	const _Atomic uint64_t *word = (const _Atomic uint64_t *)(void *)(r->lines + LINES_BYTES);
	const struct fb_local_job *job = r->job;
	int err = FB_OK;

	for (uint64_t at = 0; at < job->bytes && !err; at += 8, word += 2) {
		uint64_t low = 0, high = 0, left = job->bytes - at;

		err = await_word(r, &word[0], flag, &low);
		if (!err)
			err = await_word(r, &word[1], flag, &high);
		low |= high << 32;
		if (!err)
			memcpy(job->copy[1].to + at, &low, left < 8 ? left : 8);
	}
	return err;
}

static int run_ping_pong(struct fb_local_request *r)
{
	uint64_t before = r->calls++ * (uint64_t)r->job->rounds;
	int err = fb_gpu_stream_start(r->stream);

	for (int round = 1; round <= r->job->rounds && !err; round++) {
		uint32_t flag = (uint32_t)(before + (uint64_t)round);

		send_lines(r, flag);
		err = receive_lines(r, flag);
	}
	return err ? err : fb_gpu_stream_wait(r->stream);
}

int fb_local_run(struct fb_local_request *r, int calls)
{
	int err = FB_OK;

	if (!r->job->rounds) {
		fb_p2p_events_arm(&r->events, calls);
		err = fb_gpu_stream_run(r->stream, calls);
		return err ? err : fb_p2p_events_take(&r->events);
	}
	for (int call = 0; call < calls && !err; call++)
		err = run_ping_pong(r);
	return err;
}

int fb_local_channels(const struct fb_local_request *request)
{
	return (int)request->blocks;
}

static double device_us(const struct fb_local_request *r)
{
	uint64_t ns = 0, last = (r->calls + FB_P2P_TIMES - 1) % FB_P2P_TIMES;
	int rounds = r->job->rounds;

	if (rounds < 2 || !r->calls ||
	    FB_CUDA(cudaMemcpy(&ns, r->counters + TIMES + 8 * last, sizeof(ns),
			       cudaMemcpyDeviceToHost)))
		return (double)NAN;
	return (double)ns * 1e-3 / (2.0 * (rounds - 1));
}

void fb_local_columns(struct fb_local_request *r, double value[FB_P2P_GPU_COLUMNS])
{
	double batch_us = fb_gpu_stream_event_us(r->stream) / r->job->window;
	struct fb_gpu_clocks clocks;

	value[FB_P2P_EVENT_US] = isnan(batch_us) ? fb_p2p_events_us(&r->events) : batch_us;
	value[FB_P2P_DEVICE_US] = device_us(r);
	if (r->job->kernel)
		value[FB_P2P_THREADS] = r->threads;
	if (!fb_gpu_clocks(r->gpu, &clocks))
		return;
	value[FB_P2P_SM_MHZ] = clocks.sm_MHz;
	value[FB_P2P_MEMORY_MHZ] = clocks.memory_MHz;
	value[FB_P2P_THROTTLE] = (double)clocks.throttle;
}
