/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step on streams; see overlap/step/run.h. Tasks are enqueued in the step's own order, each on
 * its lane's stream, with an event behind it where a task of another lane waits for it. The step
 * forks from one stream and joins it again, which is also how a graph captures it.
 */
#include <math.h>
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_stream.h"
#include "overlap/gpu/passes.h"
#include "overlap/step/run.h"

enum { MOST_MODES = 8, BEGIN = 0, END = 1 };

/* Some parts of a step, which fb_gpu_stream calls back. */
struct mode {
	struct fb_gpu_run *run;
	unsigned parts;
	bool traced;
	struct fb_gpu_stream *stream; /* NULL: not needed yet */
};

struct fb_gpu_run {
	struct fb_step_config config;
	cudaStream_t *streams;    /* [nlanes]; lane 0 may have none of its own */
	cudaEvent_t *joins;       /* [nlanes] */
	cudaEvent_t *done;        /* [ntasks]; NULL: nobody on another lane waits */
	cudaEvent_t fork;
	cudaEvent_t *times;       /* [ntasks * 2]: before and behind each task; NULL: not traced */
	cudaEvent_t *bases;       /* [nlanes]: what times of a lane count from */
	struct mode modes[MOST_MODES];
};

/* Makes the device of a lane current: what is made or launched for it belongs there. */
static int use_device(const struct fb_gpu_run *g, int lane)
{
	int place = g->config.dag->lanes[lane].place;

	return g->config.devices ? FB_CUDA(cudaSetDevice(g->config.devices[place])) : FB_OK;
}

/* Waits that a careless step has; never while a graph is captured. */
static int act(const struct fb_gpu_run *g, const struct fb_task *t, cudaStream_t stream)
{
	unsigned char value;
	int err = FB_OK;

	switch (t->action) {
	case FB_HOST_WAIT_LANE:
		return FB_CUDA(cudaStreamSynchronize(stream));
	case FB_HOST_WAIT_DEVICE:
		return FB_CUDA(cudaDeviceSynchronize());
	case FB_HOST_READ_BACK:
		err = FB_CUDA(cudaMemcpyAsync(&value, g->config.memory, sizeof(value),
					      cudaMemcpyDeviceToHost, stream));
		return err ? err : FB_CUDA(cudaStreamSynchronize(stream));
	case FB_HOST_LEGACY: /* in the gap in front of all buffers, whose bytes are alike */
		return FB_CUDA(cudaMemcpyAsync(g->config.memory + 1, g->config.memory, 1,
					       cudaMemcpyDeviceToDevice, NULL));
	default:
		return fb_step_act(&g->config, t);
	}
}

struct sum {
	void *to;
	const void *from;
	uint64_t count;
};

static int add(const struct fb_gpu_run *g, int lane, const struct sum *s, cudaStream_t stream)
{
	int err = use_device(g, lane);

	if (!err)
		err = FB_CUDA((cudaError_t)fb_pass_add(s->to, s->from, s->count,
						       g->config.datatype, stream));
	return err ? err : use_device(g, 0);
}

/* Copies, or adds by a kernel. Between GPUs too: every address is known to the process. */
static int copy(const struct fb_gpu_run *g, const struct fb_task *t, cudaStream_t stream)
{
	const struct fb_dag *d = g->config.dag;
	int err = FB_OK;

	for (int a = t->accesses; a != FB_NONE && !err; a = d->accesses[a].next) {
		const struct fb_access *from = &d->accesses[a], *to = &d->accesses[from->next];
		uint64_t count = from->span.count;
		char *source, *target;

		if (from->use != FB_ACCESS_FROM)
			continue;
		source = fb_step_address(&g->config, &from->span);
		target = fb_step_address(&g->config, &to->span);
		if (to->use == FB_ACCESS_ADD)
			err = add(g, t->lane, &(struct sum){target, source, count}, stream);
		else
			err = FB_CUDA(cudaMemcpyAsync(target, source, (size_t)count *
						      g->config.element_bytes,
						      cudaMemcpyDeviceToDevice, stream));
	}
	return err;
}

static int run_task(const struct fb_gpu_run *g, int task, unsigned parts, cudaStream_t stream)
{
	const struct fb_task *t = &g->config.dag->tasks[task];
	const struct fb_step_hooks *hooks = g->config.hooks;
	bool computes = t->kind == FB_TASK_COMPUTE && t->work.kind != FB_WORK_NONE &&
			parts & FB_PART_COMPUTE;
	int err = computes || fb_step_communicates(g->config.dag, task, parts)
		  ? hooks->enqueue(hooks->arg, task, stream) : FB_OK;

	if (!err && parts & FB_PART_COPY)
		err = copy(g, t, stream);
	if (!err && t->kind == FB_TASK_HOST && parts & FB_PART_HOST)
		err = act(g, t, stream);
	return err;
}

/* A task with what it waits for and what waits for it. */
static int enqueue_task(const struct mode *m, int task, cudaStream_t first)
{
	const struct fb_gpu_run *g = m->run;
	const struct fb_dag *d = g->config.dag;
	int lane = d->tasks[task].lane, err = FB_OK;
	cudaStream_t stream = g->streams[lane] ? g->streams[lane] : first;

	for (int e = d->tasks[task].deps; e != FB_NONE && !err; e = d->edges[e].next)
		if (d->tasks[d->edges[e].before].lane != lane)
			err = FB_CUDA(cudaStreamWaitEvent(stream, g->done[d->edges[e].before], 0));
	if (!err && m->traced)
		err = FB_CUDA(cudaEventRecord(g->times[2 * task + BEGIN], stream));
	if (!err)
		err = run_task(g, task, m->parts, stream);
	if (!err && m->traced)
		err = FB_CUDA(cudaEventRecord(g->times[2 * task + END], stream));
	if (!err && g->done[task])
		err = FB_CUDA(cudaEventRecord(g->done[task], stream));
	return err;
}

/* fb_gpu_enqueue_fn: a whole step. */
static int enqueue(void *arg, void *stream)
{
	const struct mode *m = arg;
	const struct fb_gpu_run *g = m->run;
	const struct fb_dag *d = g->config.dag;
	int err = FB_CUDA(cudaEventRecord(g->fork, stream));

	for (int lane = 0; lane < d->nlanes && !err; lane++) {
		cudaStream_t own = g->streams[lane] ? g->streams[lane] : stream;

		if (own != stream)
			err = FB_CUDA(cudaStreamWaitEvent(own, g->fork, 0));
		if (!err && m->traced)
			err = FB_CUDA(cudaEventRecord(g->bases[lane], own));
	}
	for (int task = 0; task < d->ntasks && !err; task++)
		err = enqueue_task(m, task, stream);
	for (int lane = 0; lane < d->nlanes && !err; lane++) {
		if (g->streams[lane])
			err = FB_CUDA(cudaEventRecord(g->joins[lane], g->streams[lane]));
		if (!err && g->streams[lane])
			err = FB_CUDA(cudaStreamWaitEvent(stream, g->joins[lane], 0));
	}
	return err;
}

static int open_lanes(struct fb_gpu_run *g)
{
	const struct fb_dag *d = g->config.dag;
	int low = 0, high = 0, err = FB_CUDA(cudaDeviceGetStreamPriorityRange(&low, &high));

	for (int lane = 0; lane < d->nlanes && !err; lane++) {
		int priority = d->lanes[lane].communicates && g->config.high ? high : low;

		err = use_device(g, lane);
		if (!err)
			err = g->config.hooks->open_stream(g->config.hooks->arg, lane, priority,
							   &g->streams[lane]);
		if (!err && lane && !g->streams[lane])
			err = FB_CUDA(cudaStreamCreateWithPriority(
				&g->streams[lane], g->config.blocking_streams
				? cudaStreamDefault : cudaStreamNonBlocking, priority));
		if (!err)
			err = FB_CUDA(cudaEventCreateWithFlags(&g->joins[lane],
							       cudaEventDisableTiming));
	}
	return err;
}

/* An event for each task that another lane waits for. */
static int open_events(struct fb_gpu_run *g)
{
	const struct fb_dag *d = g->config.dag;
	int err = use_device(g, 0);

	if (!err)
		err = FB_CUDA(cudaEventCreateWithFlags(&g->fork, cudaEventDisableTiming));
	for (int task = 0; task < d->ntasks; task++)
		for (int e = d->tasks[task].deps; e != FB_NONE && !err; e = d->edges[e].next) {
			int before = d->edges[e].before;

			if (d->tasks[before].lane == d->tasks[task].lane || g->done[before])
				continue;
			err = use_device(g, d->tasks[before].lane);
			if (!err)
				err = FB_CUDA(cudaEventCreateWithFlags(&g->done[before],
								       cudaEventDisableTiming));
		}
	return err;
}

int fb_gpu_run_open(struct fb_gpu_run **run, const struct fb_step_config *config)
{
	struct fb_gpu_run *g = calloc(1, sizeof(*g));
	size_t tasks = (size_t)config->dag->ntasks + 1, lanes = (size_t)config->dag->nlanes + 1;
	int err = FB_OK;

	if (!g)
		return fb_error(FB_ENOMEM, "out of memory for a step");
	g->config = *config;
	g->streams = calloc(lanes, sizeof(cudaStream_t));
	g->joins = calloc(lanes, sizeof(cudaEvent_t));
	g->done = calloc(tasks, sizeof(cudaEvent_t));
	if (!g->streams || !g->joins || !g->done)
		err = fb_error(FB_ENOMEM, "out of memory for a step");
	if (!err)
		err = FB_CUDA(cudaSetDevice(config->gpu->device));
	if (!err)
		err = open_lanes(g);
	if (!err)
		err = open_events(g);
	if (!err)
		err = FB_CUDA(cudaSetDevice(config->gpu->device));
	if (err) {
		fb_gpu_run_close(g);
		return err;
	}
	*run = g;
	return FB_OK;
}

static void close_events(cudaEvent_t *events, int n)
{
	for (int i = 0; events && i < n; i++)
		if (events[i])
			(void)cudaEventDestroy(events[i]);
	free(events);
}

void fb_gpu_run_close(struct fb_gpu_run *g)
{
	if (!g)
		return;
	for (int i = 0; i < MOST_MODES; i++)
		fb_gpu_stream_close(g->modes[i].stream);
	for (int lane = 0; g->streams && lane < g->config.dag->nlanes; lane++)
		if (g->streams[lane])
			(void)cudaStreamDestroy(g->streams[lane]);
	free(g->streams);
	close_events(g->joins, g->config.dag->nlanes);
	close_events(g->done, g->config.dag->ntasks);
	close_events(g->times, 2 * g->config.dag->ntasks);
	close_events(g->bases, g->config.dag->nlanes);
	if (g->fork)
		(void)cudaEventDestroy(g->fork);
	(void)cudaGetLastError();
	free(g);
}

/* The mode for some parts; NULL where the caller has too many. */
static struct mode *mode_of(struct fb_gpu_run *g, unsigned parts, bool traced)
{
	for (int i = 0; i < MOST_MODES; i++) {
		struct mode *m = &g->modes[i];

		if (!m->run)
			*m = (struct mode){.run = g, .parts = parts, .traced = traced};
		if (m->parts == parts && m->traced == traced)
			return m;
	}
	return NULL;
}

static int open_mode(struct fb_gpu_run *g, struct mode *m)
{
	int err;

	if (!m)
		return fb_error(FB_EINPUT, "a step has no more than %d modes", MOST_MODES);
	if (m->stream)
		return FB_OK;
	err = fb_gpu_stream_open(&m->stream, g->config.gpu, g->config.graph && !m->traced,
				 enqueue, m, g->config.session);
	if (!err && g->config.recaptures && !m->traced && m->parts == FB_PART_ALL)
		fb_gpu_stream_recapture(m->stream);
	return err;
}

int fb_gpu_run_ready(struct fb_gpu_run *g, unsigned parts, int calls)
{
	struct mode *m = mode_of(g, parts, false);
	int err = open_mode(g, m);

	return err ? err : fb_gpu_stream_ready(m->stream, calls);
}

int fb_gpu_run_steps(struct fb_gpu_run *g, unsigned parts, int calls)
{
	struct mode *m = mode_of(g, parts, false);
	int err = open_mode(g, m);

	return err ? err : fb_gpu_stream_run(m->stream, calls);
}

/* The runtime compares no events of two devices: what is recorded on a lane belongs to its own. */
static int open_times(struct fb_gpu_run *g)
{
	const struct fb_dag *d = g->config.dag;
	int err = FB_OK;

	if (g->times)
		return FB_OK;
	g->times = calloc(2 * (size_t)d->ntasks + 1, sizeof(cudaEvent_t));
	g->bases = calloc((size_t)d->nlanes + 1, sizeof(cudaEvent_t));
	if (!g->times || !g->bases)
		return fb_error(FB_ENOMEM, "out of memory for a trace");
	for (int lane = 0; lane < d->nlanes && !err; lane++) {
		err = use_device(g, lane);
		if (!err)
			err = FB_CUDA(cudaEventCreate(&g->bases[lane]));
	}
	for (int i = 0; i < 2 * d->ntasks && !err; i++) {
		err = use_device(g, d->tasks[i / 2].lane);
		if (!err)
			err = FB_CUDA(cudaEventCreate(&g->times[i]));
	}
	return err ? err : use_device(g, 0);
}

/* Seconds from the step's begin, which a lane's base event follows by some microseconds. */
static int since_base(const struct fb_gpu_run *g, int event, double *seconds)
{
	float ms = 0;
	int lane = g->config.dag->tasks[event / 2].lane;
	int err = FB_CUDA(cudaEventElapsedTime(&ms, g->bases[lane], g->times[event]));

	*seconds = (double)ms * 1e-3;
	return err;
}

int fb_gpu_run_traced(struct fb_gpu_run *g, unsigned parts, struct fb_task_time *times,
		      double *error_s)
{
	struct mode *m = mode_of(g, parts, true);
	double before, behind, base;
	int err = open_mode(g, m);

	if (!err)
		err = open_times(g);
	before = fb_clock_now(g->config.clock);
	if (!err)
		err = fb_gpu_stream_start(m->stream);
	behind = fb_clock_now(g->config.clock);
	if (!err)
		err = fb_gpu_stream_wait(m->stream);
	/* A base event is first on its stream, so it is over soon after it is enqueued. */
	base = (before + behind) / 2;
	*error_s = (behind - before) / 2;
	for (int task = 0; task < g->config.dag->ntasks && !err; task++) {
		err = since_base(g, 2 * task + BEGIN, &times[task].begin);
		if (!err)
			err = since_base(g, 2 * task + END, &times[task].end);
		times[task].begin += base;
		times[task].end += base;
	}
	return err;
}

void fb_gpu_run_graph_us(struct fb_gpu_run *g, unsigned parts, double *capture_us,
			 double *instantiate_us)
{
	const struct mode *m = mode_of(g, parts, false);

	*capture_us = *instantiate_us = (double)NAN;
	if (m && m->stream)
		fb_gpu_stream_graph_us(m->stream, capture_us, instantiate_us);
}

double fb_gpu_run_event_us(struct fb_gpu_run *g, unsigned parts)
{
	const struct mode *m = mode_of(g, parts, false);

	return m && m->stream ? fb_gpu_stream_event_us(m->stream) : (double)NAN;
}
