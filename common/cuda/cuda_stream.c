/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams and graphs; see gpu_stream.h.
 *
 * A graph holds as many calls as a batch has, up to MOST_IN_GRAPH; longer batches replay it and
 * run the rest one by one. Capturing takes a few microseconds per call, so a batch of a size that
 * occurs once (warm-up) replays the existing graph instead.
 *
 * With --blocking-kernel the calls of a batch are enqueued by fb_gpu_stream_ready(), behind a
 * kernel that fb_gpu_stream_run() ends: the harness's barrier lies between them. A queue takes
 * some 1000 commands before a launch blocks, so no more than HELD_COMMANDS are held, and the rest
 * of a longer batch is enqueued while the first part runs.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/spin.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_hold.h"
#include "common/cuda/gpu_stream.h"
#include "common/measure/clock.h"

enum {
	MOST_IN_GRAPH = 1024,
	FIRST_GRAPH = 16,     /* calls of a graph before a size has come twice in a row */
	EVENT_CALLS = 8,      /* shorter batches are not timed by events */
	EVENT_SAMPLES = 4096, /* the median is of so many last batches */
	HELD_COMMANDS = 512,
};

struct fb_gpu_stream {
	const struct fb_session *session;
	fb_gpu_enqueue_fn enqueue;
	void *arg;
	int (*poll)(void *arg); /* or NULL */
	void *poll_arg;
	bool closely;	/* polls at each query of the stream */
	bool graph, oversubscribed;
	bool ran;	 /* a first call has run, so that all kernels are loaded */
	bool ended;	 /* the batch's end event is enqueued behind the held calls */
	int held;	 /* calls enqueued behind the blocking kernel */
	int commands;	 /* the most of a call that is no graph */
	struct fb_gpu_hold hold;
	cudaStream_t stream;
	cudaEvent_t begin, end;
	cudaGraph_t captured; /* not instantiated yet */
	cudaGraphExec_t exec;
	int exec_calls, last_calls;
	bool recaptures, capturing;
	double begin_s;			 /* of the last capture */
	double capture_s, instantiate_s; /* of all graphs so far */
	int graphs;
	float *event_us; /* [EVENT_SAMPLES] */
	size_t samples;
};

int fb_gpu_enter(int device)
{
	return FB_CUDA(cudaSetDevice(device));
}

int fb_gpu_stream_open(struct fb_gpu_stream **stream, const struct fb_gpu *gpu, bool graph,
		       fb_gpu_enqueue_fn enqueue, void *arg, const struct fb_session *session)
{
	struct fb_gpu_stream *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return FB_ENOMEM;
	*s = (struct fb_gpu_stream){.session = session, .enqueue = enqueue, .arg = arg,
				    .graph = graph, .commands = HELD_COMMANDS,
				    .oversubscribed = gpu->group->oversubscribed};
	s->event_us = calloc(EVENT_SAMPLES, sizeof(*s->event_us));
	err = s->event_us ? FB_CUDA(cudaSetDevice(gpu->device)) : FB_ENOMEM;
	if (!err)
		err = FB_CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
	if (!err)
		err = FB_CUDA(cudaEventCreate(&s->begin));
	if (!err)
		err = FB_CUDA(cudaEventCreate(&s->end));
	if (!err && session && session->settings->blocking_kernel)
		err = fb_gpu_hold_open(&s->hold);
	if (err) {
		fb_gpu_stream_close(s);
		return err;
	}
	*stream = s;
	return FB_OK;
}

void fb_gpu_stream_watch(struct fb_gpu_stream *stream, int (*poll)(void *arg), void *arg)
{
	stream->poll = poll;
	stream->poll_arg = arg;
}

void fb_gpu_stream_watch_closely(struct fb_gpu_stream *stream)
{
	stream->closely = stream->poll != NULL;
}

void fb_gpu_stream_commands(struct fb_gpu_stream *stream, int commands)
{
	stream->commands = commands;
}

void fb_gpu_stream_close(struct fb_gpu_stream *s)
{
	if (!s)
		return;
	fb_gpu_hold_end(&s->hold);
	if (s->stream)
		(void)cudaStreamSynchronize(s->stream);
	if (s->exec)
		(void)cudaGraphExecDestroy(s->exec);
	if (s->begin)
		(void)cudaEventDestroy(s->begin);
	if (s->end)
		(void)cudaEventDestroy(s->end);
	if (s->stream)
		(void)cudaStreamDestroy(s->stream);
	fb_gpu_hold_close(&s->hold);
	(void)cudaGetLastError();
	free(s->event_us);
	free(s);
}

static int enqueue(struct fb_gpu_stream *s, int calls)
{
	int err = FB_OK;

	for (int i = 0; i < calls && !err; i++)
		err = s->enqueue(s->arg, s->stream);
	return err;
}

static int begin_capture(struct fb_gpu_stream *s)
{
	int err;

	s->begin_s = fb_monotonic_s();
	err = FB_CUDA(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
	s->capturing = !err;
	return err;
}

int fb_gpu_stream_capture_end(struct fb_gpu_stream *s)
{
	int err = FB_CUDA(cudaStreamEndCapture(s->stream, &s->captured));

	s->capturing = false;
	s->capture_s += fb_monotonic_s() - s->begin_s;
	return err;
}

int fb_gpu_stream_instantiate(struct fb_gpu_stream *s, int captured, int err)
{
	int other = s->exec ? FB_CUDA(cudaGraphExecDestroy(s->exec)) : FB_OK;
	double begin = fb_monotonic_s();

	s->exec = NULL;
	err = err ? err : other;
	if (!err)
		err = FB_CUDA(cudaGraphInstantiate(&s->exec, s->captured, 0));
	if (s->captured)
		(void)cudaGraphDestroy(s->captured);
	s->captured = NULL;
	if (!err)
		err = FB_CUDA(cudaGraphUpload(s->exec, s->stream));
	if (!err)
		err = FB_CUDA(cudaStreamSynchronize(s->stream));
	s->exec_calls = err ? 0 : captured;
	s->instantiate_s += fb_monotonic_s() - begin;
	s->graphs++;
	return err;
}

static int capture(struct fb_gpu_stream *s, int calls)
{
	int err = begin_capture(s), end;

	if (err)
		return err;
	err = enqueue(s, calls);
	end = fb_gpu_stream_capture_end(s);
	return fb_gpu_stream_instantiate(s, calls, err ? err : end);
}

/* How many calls a new graph should have; 0: no new graph. */
static int wanted_calls(struct fb_gpu_stream *s, int calls)
{
	int wanted = calls < MOST_IN_GRAPH ? calls : MOST_IN_GRAPH;
	bool again = calls == s->last_calls;

	s->last_calls = calls;
	if (!s->graph || s->recaptures || wanted == s->exec_calls)
		return 0;
	/* Few calls get a graph at once, so a verified single call runs as timed ones do. */
	if (again || calls <= FIRST_GRAPH)
		return wanted;
	return s->exec_calls ? 0 : FIRST_GRAPH;
}

int fb_gpu_stream_capture_begin(struct fb_gpu_stream *s, int calls, int *captured)
{
	*captured = wanted_calls(s, calls);
	return *captured ? begin_capture(s) : FB_OK;
}

int fb_gpu_stream_replay(struct fb_gpu_stream *s, int calls, int *replayed)
{
	*replayed = s->exec && calls >= s->exec_calls ? s->exec_calls : 0;
	return *replayed ? FB_CUDA(cudaGraphLaunch(s->exec, s->stream)) : FB_OK;
}

static int launch(struct fb_gpu_stream *s, int calls)
{
	int replayed, err;

	/* While capturing, an existing graph cannot be launched. */
	if (s->capturing)
		return enqueue(s, calls);
	do {
		err = fb_gpu_stream_replay(s, calls, &replayed);
		calls -= replayed;
	} while (!err && replayed);
	return err ? err : enqueue(s, calls);
}

/*
 * How many of the calls can be held. The launch of a graph is a command, too, so that 1000 calls
 * need 1000 commands if the graph has one call. At least one call is held.
 */
static int held_calls(const struct fb_gpu_stream *s, int calls)
{
	int each = s->exec ? s->exec_calls : calls + 1;
	int graphs = calls / each < HELD_COMMANDS ? calls / each : HELD_COMMANDS;
	int single = (HELD_COMMANDS - graphs) / s->commands, left = calls - graphs * each;

	if (single == 0 && graphs == 0)
		single = 1;
	return graphs * each + (single < left ? single : left);
}

/*
 * Enqueues the calls, or as many as can be held, behind a blocking kernel. Not before a first run,
 * because loading a kernel at its first use waits until the GPU is idle.
 */
static int enqueue_held(struct fb_gpu_stream *s, int calls)
{
	int err;

	if (!s->hold.gate || !s->ran || s->held)
		return FB_OK;
	s->held = held_calls(s, calls);
	s->ended = s->held == calls && calls >= EVENT_CALLS;
	err = fb_gpu_hold_begin(&s->hold, s->stream);
	if (!err && calls >= EVENT_CALLS)
		err = FB_CUDA(cudaEventRecord(s->begin, s->stream));
	if (!err)
		err = launch(s, s->held);
	if (!err && s->ended)
		err = FB_CUDA(cudaEventRecord(s->end, s->stream));
	return err;
}

int fb_gpu_stream_ready(struct fb_gpu_stream *s, int calls)
{
	int wanted = wanted_calls(s, calls), err = wanted ? capture(s, wanted) : FB_OK;

	return err ? err : enqueue_held(s, calls);
}

int fb_gpu_stream_test(struct fb_gpu_stream *s, bool *done)
{
	cudaError_t code = cudaStreamQuery(s->stream);

	*done = code == cudaSuccess;
	if (code != cudaSuccess && code != cudaErrorNotReady)
		return FB_CUDA(code);
	return FB_OK;
}

int fb_gpu_stream_wait(struct fb_gpu_stream *s)
{
	struct fb_spin spin = {.yields = s->oversubscribed};
	bool done = false;
	int err = s->closely ? s->poll(s->poll_arg) : FB_OK;

	if (!err)
		err = fb_gpu_stream_test(s, &done);
	while (!err && !done) {
		bool again = fb_spin_again(&spin);

		if (again && s->session)
			err = fb_alive(s->session, "waiting for the GPU");
		if (!err && s->poll && (again || s->closely))
			err = s->poll(s->poll_arg);
		if (!err)
			err = fb_gpu_stream_test(s, &done);
	}
	return err;
}

int fb_gpu_stream_start(struct fb_gpu_stream *s)
{
	return launch(s, 1);
}

int fb_gpu_stream_run(struct fb_gpu_stream *s, int calls)
{
	bool timed = calls >= EVENT_CALLS;
	float ms = 0;
	int err = FB_OK;

	if (s->recaptures)
		err = capture(s, calls);
	if (err)
		return err;
	if (s->held)
		fb_gpu_hold_end(&s->hold);
	else if (timed)
		err = FB_CUDA(cudaEventRecord(s->begin, s->stream));
	if (!err)
		err = launch(s, calls - s->held);
	if (!err && timed && !(s->held && s->ended))
		err = FB_CUDA(cudaEventRecord(s->end, s->stream));
	s->held = 0;
	s->ran = true;
	if (!err)
		err = fb_gpu_stream_wait(s);
	if (!err)
		err = fb_gpu_hold_check(&s->hold);
	if (!err && timed)
		err = FB_CUDA(cudaEventElapsedTime(&ms, s->begin, s->end));
	if (!err && timed)
		s->event_us[s->samples++ % EVENT_SAMPLES] = ms * 1000 / (float)calls;
	return err;
}

void fb_gpu_stream_recapture(struct fb_gpu_stream *s)
{
	s->recaptures = true;
}

void fb_gpu_stream_graph_us(const struct fb_gpu_stream *s, double *capture_us,
			    double *instantiate_us)
{
	*capture_us = s->graphs ? s->capture_s / s->graphs * 1e6 : (double)NAN;
	*instantiate_us = s->graphs ? s->instantiate_s / s->graphs * 1e6 : (double)NAN;
}

static int by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double fb_gpu_stream_event_us(const struct fb_gpu_stream *s)
{
	size_t n = s->samples < EVENT_SAMPLES ? s->samples : EVENT_SAMPLES;

	if (n == 0)
		return (double)NAN;
	qsort(s->event_us, n, sizeof(*s->event_us), by_value);
	return (double)s->event_us[n / 2];
}
