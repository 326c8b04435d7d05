/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step's two streams; see step.h.
 *
 * Backward is on the caller's stream, the one that is timed or captured; the all_reduces follow
 * each other on a stream of their own, as a framework's communicator has it. An event for each
 * bucket says that its gradients are there, one at the end that all are reduced. So the step
 * forks from the caller's stream and joins it again, which is also how a graph captures it.
 */
#include <math.h>
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "overlap/gpu/step.h"

/* A schedule of a step, which fb_gpu_stream calls back. */
struct lane {
	struct fb_gpu_step *step;
	enum fb_schedule schedule;
	struct fb_gpu_stream *stream; /* NULL: not needed yet */
};

struct fb_gpu_step {
	struct fb_gpu_step_config config;
	cudaStream_t communication;
	cudaEvent_t *full; /* [gradients->nbuckets] */
	cudaEvent_t reduced;
	struct lane lanes[FB_SCHEDULES];
};

/* Copies a tensor's gradient into its bucket. */
static int pack(const struct fb_gpu_step *s, const struct fb_tensor *tensor, cudaStream_t stream)
{
	size_t size = s->config.element_bytes, at = (size_t)tensor->first * size;

	return FB_CUDA(cudaMemcpyAsync((char *)s->config.out + at, (const char *)s->config.in + at,
				       (size_t)tensor->count * size, cudaMemcpyDeviceToDevice,
				       stream));
}

static int compute(const struct fb_gpu_step *s, const struct fb_tensor *tensor,
		   cudaStream_t stream)
{
	uint64_t hidden = s->config.hidden, rows = (tensor->count + hidden - 1) / hidden;
	int err = fb_gpu_compute_enqueue(s->config.compute, rows, stream);

	return err ? err : pack(s, tensor, stream);
}

/* The bucket's all_reduce, behind what `stream` holds now. */
static int communicate(const struct fb_gpu_step *s, size_t bucket, cudaStream_t stream)
{
	int err = FB_CUDA(cudaEventRecord(s->full[bucket], stream));

	if (!err)
		err = FB_CUDA(cudaStreamWaitEvent(s->communication, s->full[bucket], 0));
	return err ? err : s->config.communicate(s->config.arg, bucket, s->communication);
}

/* fb_gpu_enqueue_fn: a whole step. */
static int enqueue(void *arg, void *stream)
{
	const struct lane *lane = arg;
	const struct fb_gpu_step *s = lane->step;
	const struct fb_gradients *g = s->config.gradients;
	size_t tensors = fb_schedule_computes(lane->schedule) ? g->ntensors : 0;
	size_t buckets = fb_schedule_communicates(lane->schedule) ? g->nbuckets : 0, next = 0;
	int err = FB_OK;

	for (size_t t = 0; t < tensors && !err; t++) {
		err = compute(s, &g->tensors[t], stream);
		for (; !err && lane->schedule == FB_OVERLAP && next < buckets &&
		       g->buckets[next].last <= t; next++)
			err = communicate(s, next, stream);
	}
	for (; next < buckets && !err; next++)
		err = communicate(s, next, stream);
	if (err || !buckets)
		return err;
	err = FB_CUDA(cudaEventRecord(s->reduced, s->communication));
	return err ? err : FB_CUDA(cudaStreamWaitEvent(stream, s->reduced, 0));
}

static int open_events(struct fb_gpu_step *s)
{
	size_t n = s->config.gradients->nbuckets;
	int err = FB_CUDA(cudaEventCreateWithFlags(&s->reduced, cudaEventDisableTiming));

	s->full = calloc(n + 1, sizeof(cudaEvent_t));
	if (!s->full)
		return fb_error(FB_ENOMEM, "out of memory for events");
	for (size_t i = 0; i < n && !err; i++)
		err = FB_CUDA(cudaEventCreateWithFlags(&s->full[i], cudaEventDisableTiming));
	return err;
}

int fb_gpu_step_open(struct fb_gpu_step **step, const struct fb_gpu_step_config *config)
{
	struct fb_gpu_step *s = calloc(1, sizeof(*s));
	int low = 0, high = 0, err;

	if (!s)
		return fb_error(FB_ENOMEM, "out of memory");
	s->config = *config;
	for (int i = 0; i < FB_SCHEDULES; i++)
		s->lanes[i] = (struct lane){.step = s, .schedule = (enum fb_schedule)i};
	err = FB_CUDA(cudaSetDevice(config->gpu->device));
	if (!err)
		err = FB_CUDA(cudaDeviceGetStreamPriorityRange(&low, &high));
	if (!err)
		err = FB_CUDA(cudaStreamCreateWithPriority(&s->communication,
							   cudaStreamNonBlocking,
							   config->high ? high : low));
	if (!err)
		err = open_events(s);
	if (err) {
		fb_gpu_step_close(s);
		return err;
	}
	*step = s;
	return FB_OK;
}

void fb_gpu_step_close(struct fb_gpu_step *s)
{
	if (!s)
		return;
	for (int i = 0; i < FB_SCHEDULES; i++)
		fb_gpu_stream_close(s->lanes[i].stream);
	for (size_t i = 0; s->full && i < s->config.gradients->nbuckets; i++)
		if (s->full[i])
			(void)cudaEventDestroy(s->full[i]);
	free(s->full);
	if (s->reduced)
		(void)cudaEventDestroy(s->reduced);
	if (s->communication)
		(void)cudaStreamDestroy(s->communication);
	(void)cudaGetLastError();
	free(s);
}

int fb_gpu_step_ready(struct fb_gpu_step *s, enum fb_schedule schedule, int calls)
{
	struct lane *lane = &s->lanes[schedule];
	int err = FB_OK;

	if (!lane->stream)
		err = fb_gpu_stream_open(&lane->stream, s->config.gpu, s->config.graph, enqueue,
					 lane, s->config.session);
	return err ? err : fb_gpu_stream_ready(lane->stream, calls);
}

int fb_gpu_step_run(struct fb_gpu_step *s, enum fb_schedule schedule, int calls)
{
	return fb_gpu_stream_run(s->lanes[schedule].stream, calls);
}

int fb_gpu_step_pack(struct fb_gpu_step *s)
{
	const struct fb_gradients *g = s->config.gradients;
	int err = FB_OK;

	for (size_t t = 0; t < g->ntensors && !err; t++)
		err = pack(s, &g->tensors[t], s->communication);
	return err ? err : FB_CUDA(cudaStreamSynchronize(s->communication));
}

double fb_gpu_step_event_us(const struct fb_gpu_step *s, enum fb_schedule schedule)
{
	const struct fb_gpu_stream *stream = s->lanes[schedule].stream;

	return stream ? fb_gpu_stream_event_us(stream) : (double)NAN;
}
