/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running calls on a GPU: on a stream one by one, or captured once in a graph and replayed.
 *
 * An engine gives a function that enqueues one call of its operation; this module enqueues as many
 * calls as the harness asks for, waits for them as the harness waits (bounded by the watchdog), and
 * measures batches by CUDA events, which exclude the host's time for launching and waiting. Graphs
 * are captured by fb_gpu_stream_ready(), which is not timed.
 */
#ifndef FB_COMMON_CUDA_GPU_STREAM_H
#define FB_COMMON_CUDA_GPU_STREAM_H

#include "common/cuda/gpu.h"

/* Enqueues one call on a cudaStream_t, which may be capturing. 0 or an error (printed). */
typedef int (*fb_gpu_enqueue_fn)(void *arg, void *stream);

struct fb_gpu_stream; /* opaque */

/* Local: makes that device the current one of this thread. 0 or FB_ESYS (printed). */
int fb_gpu_enter(int device);

/*
 * Local. `graph`: calls are replayed from a graph. Long waits tell the watchdog of `session` (NULL
 * in tests) that this rank is alive. 0, FB_ENOMEM or FB_ESYS (printed). The device of `gpu` becomes
 * the current one of this thread.
 */
int fb_gpu_stream_open(struct fb_gpu_stream **stream, const struct fb_gpu *gpu, bool graph,
		       fb_gpu_enqueue_fn enqueue, void *arg, const struct fb_session *session);

/*
 * While they wait, fb_gpu_stream_wait and _run also call `poll` now and then, so that a failure
 * that a library knows of ends the wait with poll's error (printed by it).
 */
void fb_gpu_stream_watch(struct fb_gpu_stream *stream, int (*poll)(void *arg), void *arg);

/* From now on `poll` is called at each query of the stream, at least once in a wait. */
void fb_gpu_stream_watch_closely(struct fb_gpu_stream *stream);

/*
 * With --blocking-kernel: sets how many commands a call has at most, which limits how many calls
 * can be held. If this is not called, only one call that is no graph is held.
 */
void fb_gpu_stream_commands(struct fb_gpu_stream *stream, int commands);

/* Waits for enqueued work first. NULL is fine. */
void fb_gpu_stream_close(struct fb_gpu_stream *stream);

/*
 * Local, not timed: captures the graph for batches of `calls`, if there is none yet. With
 * --blocking-kernel it also enqueues the calls: fb_gpu_stream_run() of as many has to follow.
 */
int fb_gpu_stream_ready(struct fb_gpu_stream *stream, int calls);

/*
 * The same where calls on several GPUs' streams belong together, so that all of these have to
 * capture at once: begin on each, then the caller enqueues *captured calls on all of them by
 * fb_gpu_stream_start(), then end on each, then instantiate on each, with what went wrong so far.
 * No graph may be instantiated before all captures have ended: to instantiate and upload a graph
 * invalidates the captures of the same thread that are still open. *captured 0: no graph is to be
 * made, and there is nothing to end. Streams with the same history capture as much.
 */
int fb_gpu_stream_capture_begin(struct fb_gpu_stream *stream, int calls, int *captured);
int fb_gpu_stream_capture_end(struct fb_gpu_stream *stream);
int fb_gpu_stream_instantiate(struct fb_gpu_stream *stream, int captured, int err);
/* Launches the graph once if it has no more than `calls` calls; *replayed: how many it has, or 0 */
int fb_gpu_stream_replay(struct fb_gpu_stream *stream, int calls, int *replayed);

/* Runs `calls` calls back to back; they are complete on return. */
int fb_gpu_stream_run(struct fb_gpu_stream *stream, int calls);

/* A single call: start enqueues it and returns; test asks whether it is done; wait waits. */
int fb_gpu_stream_start(struct fb_gpu_stream *stream);
int fb_gpu_stream_test(struct fb_gpu_stream *stream, bool *done);
int fb_gpu_stream_wait(struct fb_gpu_stream *stream);

/* Each batch captures its graph again, which is timed, as in programs whose shapes change. */
void fb_gpu_stream_recapture(struct fb_gpu_stream *stream);
/* Means of capturing and of instantiating so far, in us; NAN: there was no graph. */
void fb_gpu_stream_graph_us(const struct fb_gpu_stream *stream, double *capture_us,
			    double *instantiate_us);

/*
 * Median over batches of the time per call between events, in us; NAN if all batches were short
 * (events cost about as much as a short call).
 */
double fb_gpu_stream_event_us(const struct fb_gpu_stream *stream);

#endif
