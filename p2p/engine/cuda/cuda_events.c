/* SPDX-License-Identifier: BSD-3-Clause */
/* Times by events around single calls; see cuda_events.h. */
#include "p2p/engine/cuda/cuda_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_error.h"

/* An event takes about a microsecond, which is 1% of what this much takes on NVLink. */
static const uint64_t least_bytes = 32 << 20;

int fb_p2p_events_open(struct fb_p2p_events *events, const struct fb_case *c, int messages,
		       uint64_t bytes)
{
	int err;

	events->messages = messages;
	/* A graph would have one pair of events for all of its calls. */
	events->wanted = !strcmp(c->launch, "stream") && bytes * (uint64_t)messages >= least_bytes;
	if (!events->wanted)
		return FB_OK;
	err = FB_CUDA(cudaEventCreate(&events->begin));
	return err ? err : FB_CUDA(cudaEventCreate(&events->end));
}

void fb_p2p_events_close(struct fb_p2p_events *events)
{
	if (events->begin)
		(void)cudaEventDestroy(events->begin);
	if (events->end)
		(void)cudaEventDestroy(events->end);
}

void fb_p2p_events_arm(struct fb_p2p_events *events, int calls)
{
	events->armed = events->wanted && calls == 1;
}

int fb_p2p_events_begin(struct fb_p2p_events *events, cudaStream_t stream)
{
	return events->armed ? FB_CUDA(cudaEventRecord(events->begin, stream)) : FB_OK;
}

int fb_p2p_events_end(struct fb_p2p_events *events, cudaStream_t stream)
{
	if (!events->armed)
		return FB_OK;
	events->recorded = true;
	return FB_CUDA(cudaEventRecord(events->end, stream));
}

int fb_p2p_events_take(struct fb_p2p_events *events)
{
	float ms = 0;
	int err;

	events->armed = false;
	if (!events->recorded)
		return FB_OK;
	events->recorded = false;
	err = FB_CUDA(cudaEventElapsedTime(&ms, events->begin, events->end));
	if (!err)
		events->us[events->samples++ % FB_P2P_EVENT_SAMPLES] =
			ms * 1000 / (float)events->messages;
	return err;
}

static int by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double fb_p2p_events_us(const struct fb_p2p_events *events)
{
	size_t n = events->samples < FB_P2P_EVENT_SAMPLES ? events->samples
							  : FB_P2P_EVENT_SAMPLES;
	float sorted[FB_P2P_EVENT_SAMPLES];

	if (n == 0)
		return (double)NAN;
	memcpy(sorted, events->us, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), by_value);
	return (double)sorted[n / 2];
}

int fb_p2p_timed_prepare(struct fb_p2p_timed_request *r, const struct fb_case *c,
			 fb_gpu_enqueue_fn enqueue, int err)
{
	if (!err)
		err = fb_p2p_events_open(&r->events, c, fb_p2p_device_messages(&r->base),
					 r->base.job->bytes);
	err = fb_group_agree(r->base.engine->world, err);
	if (!err)
		err = fb_p2p_device_prepare(&r->base, c, enqueue);
	return err ? err : fb_p2p_device_capture(&r->base);
}

int fb_p2p_timed_run(struct fb_p2p_request *request, int calls)
{
	struct fb_p2p_timed_request *r = (struct fb_p2p_timed_request *)request;
	int err;

	fb_p2p_events_arm(&r->events, calls);
	err = fb_p2p_device_run(request, calls);
	return err ? err : fb_p2p_events_take(&r->events);
}

void fb_p2p_timed_columns(struct fb_p2p_request *request, double value[FB_P2P_GPU_COLUMNS])
{
	const struct fb_p2p_timed_request *r = (const struct fb_p2p_timed_request *)request;

	fb_p2p_device_columns(request, value);
	if (isnan(value[FB_P2P_EVENT_US]))
		value[FB_P2P_EVENT_US] = fb_p2p_events_us(&r->events);
}

void fb_p2p_timed_release(struct fb_p2p_request *request)
{
	struct fb_p2p_timed_request *r = (struct fb_p2p_timed_request *)request;

	fb_p2p_device_end(&r->base);
	fb_p2p_events_close(&r->events);
	free(r);
}
