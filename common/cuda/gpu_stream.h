/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running calls on a GPU: on a stream one by one, or captured once in a graph and replayed.
 *
 * An engine says how to enqueue one call of its operation; this module enqueues as many as the
 * harness asks for, waits for them as the harness waits (bounded by the watchdog), and takes
 * times by CUDA events around batches, which the host's clock cannot see the inside of. Graphs
 * are captured by fb_gpu_stream_ready(), outside of what is timed.
 */
#ifndef FB_COMMON_CUDA_GPU_STREAM_H
#define FB_COMMON_CUDA_GPU_STREAM_H

#include "common/cuda/gpu.h"

/* One call; `stream` is a cudaStream_t, perhaps being captured. 0 or an error (printed). */
typedef int (*fb_gpu_enqueue_fn)(void *arg, void *stream);

struct fb_gpu_stream; /* opaque */

/* Local: makes that device the current one of this thread. 0 or FB_ESYS (printed). */
int fb_gpu_enter(int device);

/*
 * Local. `graph`: calls are replayed from a graph. Long waits report to the watchdog `session` that
 * this rank lives; NULL in tests. 0, FB_ENOMEM or FB_ESYS (printed). The device of `gpu` stays
 * current in this thread.
 */
int fb_gpu_stream_open(struct fb_gpu_stream **stream, const struct fb_gpu *gpu, bool graph,
		       fb_gpu_enqueue_fn enqueue, void *arg, const struct fb_session *session);

/*
 * While it waits, fb_gpu_stream_wait and _run also ask `poll` now and then: what a library knows
 * to have failed ends the wait with poll's error (printed by it).
 */
void fb_gpu_stream_watch(struct fb_gpu_stream *stream, int (*poll)(void *arg), void *arg);

/* From now on at each look at the stream, once in a wait at least. */
void fb_gpu_stream_watch_closely(struct fb_gpu_stream *stream);

/*
 * With --blocking-kernel: a call is at most so many commands for the GPU, which says how many calls
 * can be held. Not called: one call, apart from graphs.
 */
void fb_gpu_stream_commands(struct fb_gpu_stream *stream, int commands);

/* Waits for what is under way. NULL is fine. */
void fb_gpu_stream_close(struct fb_gpu_stream *stream);

/*
 * Local, outside of timing: captures the graph for batches of `calls`, if it is not there. With
 * --blocking-kernel it also enqueues them: fb_gpu_stream_run() has to follow, of as many.
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

/* `calls` calls back to back, complete on return. */
int fb_gpu_stream_run(struct fb_gpu_stream *stream, int calls);

/* One call, apart: start enqueues and returns; test asks; wait completes. */
int fb_gpu_stream_start(struct fb_gpu_stream *stream);
int fb_gpu_stream_test(struct fb_gpu_stream *stream, bool *done);
int fb_gpu_stream_wait(struct fb_gpu_stream *stream);

/* Each batch captures its graph again, within its time, as where shapes change. */
void fb_gpu_stream_recapture(struct fb_gpu_stream *stream);
/* Means of capturing and of instantiating so far, in us; NAN: there was no graph. */
void fb_gpu_stream_graph_us(const struct fb_gpu_stream *stream, double *capture_us,
			    double *instantiate_us);

/*
 * Median over batches of the time per call between events in us; NAN where there were no batches
 * of some length (events cost about as much as a short call).
 */
double fb_gpu_stream_event_us(const struct fb_gpu_stream *stream);

#endif
