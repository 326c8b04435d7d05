/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on a stream of their request's; see on_stream.h. */
#include "collectives/engine/on_stream.h"

static struct fb_gpu_stream *stream_of(struct fb_request *request)
{
	return ((struct fb_on_stream *)request)->stream;
}

int fb_on_stream_ready(struct fb_request *request, int calls)
{
	return fb_gpu_stream_ready(stream_of(request), calls);
}

int fb_on_stream_run(struct fb_request *request, int calls)
{
	return fb_gpu_stream_run(stream_of(request), calls);
}

int fb_on_stream_start(struct fb_request *request)
{
	return fb_gpu_stream_start(stream_of(request));
}

int fb_on_stream_test(struct fb_request *request, bool *done)
{
	return fb_gpu_stream_test(stream_of(request), done);
}

int fb_on_stream_wait(struct fb_request *request)
{
	return fb_gpu_stream_wait(stream_of(request));
}

void fb_on_stream_describe(const struct fb_on_stream *on, const struct fb_gpu *gpu,
			   struct fb_traits *traits)
{
	struct fb_gpu_clocks clocks;

	traits->extra[FB_EVENT_US] = fb_gpu_stream_event_us(on->stream);
	if (!fb_gpu_clocks(gpu, &clocks))
		return;
	traits->extra[FB_SM_MHZ] = clocks.sm_MHz;
	traits->extra[FB_MEMORY_MHZ] = clocks.memory_MHz;
	traits->extra[FB_THROTTLE] = (double)clocks.throttle;
}
