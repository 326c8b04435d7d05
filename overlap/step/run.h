/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running a step that has been checked, on processors (host_run.c) or on a GPU (cuda_run.c). Both
 * take the same graph and the same hooks, so that a schedule is written once.
 *
 * Processors: a lane that computes has a thread. The caller's thread runs all collectives, because
 * only that thread may call MPI, and it progresses all that are under way in turn. With `polls` the
 * caller's thread computes too, like a program whose communication library has no thread of its
 * own and progresses only when it is called.
 *
 * GPU: a lane is a stream. Lane 0 is the stream that is timed or captured. The streams of other
 * lanes are forked from it when the step begins, and joined to it when the step ends. The host only
 * enqueues, except in host tasks.
 */
#ifndef FB_OVERLAP_STEP_RUN_H
#define FB_OVERLAP_STEP_RUN_H

#include "common/base/datatype.h"
#include "common/cuda/gpu.h"
#include "common/measure/clock.h"
#include "common/session.h"
#include "overlap/step/dag.h"

/* Which parts of a step run, as bits. Tasks of other parts count as done at once. */
enum fb_step_part {
	FB_PART_COMPUTE = 1,
	FB_PART_COPY = 2,
	FB_PART_COMMUNICATE = 4,
	FB_PART_HOST = 8,
	FB_PART_BACKGROUND = 16, /* collectives of background lanes, and no others */
	FB_PART_ALL = 31,
};

/* The functions that carry out tasks. All return 0 or an error (printed). */
struct fb_step_hooks {
	/* Processors: part `part` of `parts` of what a task computes. */
	int (*compute)(void *arg, int task, unsigned part, unsigned parts);
	/* Processors: `start` begins a collective; `test` progresses it, *done: it is complete. */
	int (*start)(void *arg, int task);
	int (*test)(void *arg, int task, bool *done);
	/* GPU: puts what a task computes, or its collective, on a stream. */
	int (*enqueue)(void *arg, int task, void *stream);
	/* GPU: makes a lane's cudaStream_t; the run destroys it. *stream untouched: any will do. */
	int (*open_stream)(void *arg, int lane, int priority, void *stream);
	void *arg;
};

/* When a task ran, in seconds of the host's clock; NAN: it did not. */
struct fb_task_time {
	double begin, end;
};

/* All that members point to must live as long as the run. */
struct fb_step_config {
	const struct fb_dag *dag;
	const struct fb_step_hooks *hooks;
	char *memory;         /* this rank's buffers: element 0 */
	char *const *places;  /* [nranks]: the same of each rank, where rank 0 runs all; or NULL */
	const int *devices;   /* [nranks]: GPU: their devices in this process; or NULL */
	size_t element_bytes;
	enum fb_datatype datatype;
	const struct fb_clock *clock;
	const struct fb_session *session; /* for the watchdog; NULL in tests */
	const char *storage_folder; /* where files are made; NULL: the system's temporary one */
	bool yields;          /* processors: there are more threads than processors */
	unsigned polls;       /* processors: 0: a thread for each computing lane */
	const struct fb_gpu *gpu; /* GPU: all below */
	bool graph, high;     /* high: priority of lanes that communicate */
	bool recaptures;      /* a graph is captured for every step */
	bool blocking_streams; /* lanes other than 0 wait for the legacy stream */
};

/* Whether a collective is among the parts that run, and this rank takes part. */
static inline bool fb_step_communicates(const struct fb_dag *dag, int task, unsigned parts)
{
	const struct fb_task *t = &dag->tasks[task];
	unsigned part = dag->lanes[t->lane].background ? FB_PART_BACKGROUND : FB_PART_COMMUNICATE;

	return t->kind == FB_TASK_COLLECTIVE && parts & part && fb_dag_takes_part(dag, task);
}

/* The address at which a span begins. */
static inline char *fb_step_address(const struct fb_step_config *c, const struct fb_span *span)
{
	const struct fb_dag_buffer *b = &c->dag->buffers[span->buffer];

	return (c->places ? c->places[b->place] : c->memory) +
	       (size_t)(b->offset + span->first) * c->element_bytes;
}

/* Carries out a host task, except for actions that need a GPU (act.c). 0 or an error (printed). */
int fb_step_act(const struct fb_step_config *config, const struct fb_task *task);

struct fb_host_run; /* opaque */

/* Local: makes the threads. 0, FB_ENOMEM or FB_ESYS (printed). */
int fb_host_run_open(struct fb_host_run **run, const struct fb_step_config *config);
/* Ends the threads. NULL is fine. */
void fb_host_run_close(struct fb_host_run *run);
/* Wakes the threads, which then wait for the next step without sleeping. */
void fb_host_run_ready(struct fb_host_run *run);
/* A step, complete on return. `times`: [ntasks], or NULL. 0 or the first task's error. */
int fb_host_run_step(struct fb_host_run *run, unsigned parts, struct fb_task_time *times);

struct fb_gpu_run; /* opaque */

/* Local. 0, FB_ENOMEM, FB_ESYS or, in a build without CUDA, FB_EUNSUPPORTED (printed). */
int fb_gpu_run_open(struct fb_gpu_run **run, const struct fb_step_config *config);
/* Waits for what is under way. NULL is fine. */
void fb_gpu_run_close(struct fb_gpu_run *run);
/* Local, not timed: captures graphs. */
int fb_gpu_run_ready(struct fb_gpu_run *run, unsigned parts, int calls);
/* Local, timed: runs `calls` steps back to back, complete on return. */
int fb_gpu_run_steps(struct fb_gpu_run *run, unsigned parts, int calls);
/*
 * A step with an event around each task, never from a graph. *error_s: how far all times together
 * may be shifted against the host's clock.
 */
int fb_gpu_run_traced(struct fb_gpu_run *run, unsigned parts, struct fb_task_time *times,
		      double *error_s);
/* Means of capturing and of instantiating the graph of these parts; NAN: there was none. */
void fb_gpu_run_graph_us(struct fb_gpu_run *run, unsigned parts, double *capture_us,
			 double *instantiate_us);
/* As fb_gpu_stream_event_us. */
double fb_gpu_run_event_us(struct fb_gpu_run *run, unsigned parts);

#endif
