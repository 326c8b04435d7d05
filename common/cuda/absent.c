/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What takes the place of the GPU modules in a build without CUDA: there is no GPU (fb_gpu_open),
 * so nobody gets to anything else, and what stands here is for the linker.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/cuda/gpu.h"
#include "common/cuda/gpu_cache.h"
#include "common/cuda/gpu_direct.h"
#include "common/cuda/gpu_links.h"
#include "common/cuda/gpu_segment.h"
#include "common/cuda/gpu_stream.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int fb_gpu_open(struct fb_gpu *gpu, const struct fb_group *world, char reason[FB_REASON_CHARS])
{
	snprintf(reason, FB_REASON_CHARS, FB_NO_CUDA);
	return FB_EUNSUPPORTED;
}

void fb_gpu_close(struct fb_gpu *gpu)
{
	*gpu = (struct fb_gpu){.device = 0};
}

struct fb_gpu_kept *fb_gpu_kept_open(void)
{
	return NULL;
}

void fb_gpu_kept_close(struct fb_gpu_kept *kept)
{
}

size_t fb_gpu_free_bytes(void)
{
	return 0;
}

bool fb_gpu_clocks(const struct fb_gpu *gpu, struct fb_gpu_clocks *clocks)
{
	return false;
}

void fb_gpu_links_read(const struct fb_gpu *gpu, struct fb_gpu_links *links)
{
	memset(links, 0, sizeof(*links));
}

const char *fb_gpu_link_to(const struct fb_gpu *gpu, int rank)
{
	return "peer";
}

bool fb_gpu_segment_can(const struct fb_gpu *gpu, enum fb_gpu_memory memory, char *reason, size_t n)
{
	snprintf(reason, n, FB_NO_CUDA);
	return false;
}

int fb_gpu_segment_open(struct fb_segment *segment, const struct fb_gpu *gpu,
			enum fb_gpu_memory memory, size_t part_bytes)
{
	return fb_error(FB_EUNSUPPORTED, "GPU memory: " FB_NO_CUDA);
}

int fb_gpu_segment_adopt(struct fb_segment *segment, const struct fb_group *world, void *memory,
			 size_t part_bytes, int (*release)(void *memory))
{
	return fb_error(FB_EUNSUPPORTED, "GPU memory: " FB_NO_CUDA);
}

unsigned fb_gpu_direct_ways(const struct fb_gpu *gpu, int asked,
			    const struct fb_gpu_direct_taker *taker, bool *flush, char *why,
			    size_t n)
{
	*flush = false;
	snprintf(why, n, FB_NO_CUDA);
	return 0;
}

int fb_gpu_direct_export(const struct fb_gpu *gpu, void *base, size_t bytes, int *fd,
			 uint64_t *offset, char *why, size_t n)
{
	snprintf(why, n, FB_NO_CUDA);
	return FB_EUNSUPPORTED;
}

int fb_gpu_cache_open(struct fb_gpu_cache *cache, const struct fb_gpu *gpu)
{
	return fb_error(FB_EUNSUPPORTED, "GPU caches: " FB_NO_CUDA);
}

void fb_gpu_cache_close(struct fb_gpu_cache *cache)
{
}

int fb_gpu_cache_clear(struct fb_gpu_cache *cache)
{
	return FB_EUNSUPPORTED;
}

int fb_gpu_direct_flush(const struct fb_gpu *gpu)
{
	return fb_error(FB_EUNSUPPORTED, "GPU memory: " FB_NO_CUDA);
}

int fb_gpu_stream_open(struct fb_gpu_stream **stream, const struct fb_gpu *gpu, bool graph,
		       fb_gpu_enqueue_fn enqueue, void *arg, const struct fb_session *session)
{
	return fb_error(FB_EUNSUPPORTED, "streams: " FB_NO_CUDA);
}

void fb_gpu_stream_watch(struct fb_gpu_stream *stream, int (*poll)(void *arg), void *arg)
{
}

void fb_gpu_stream_commands(struct fb_gpu_stream *stream, int commands)
{
}

void fb_gpu_stream_close(struct fb_gpu_stream *stream)
{
}

int fb_gpu_stream_ready(struct fb_gpu_stream *stream, int calls)
{
	return FB_EUNSUPPORTED;
}

int fb_gpu_stream_run(struct fb_gpu_stream *stream, int calls)
{
	return FB_EUNSUPPORTED;
}

int fb_gpu_stream_start(struct fb_gpu_stream *stream)
{
	return FB_EUNSUPPORTED;
}

int fb_gpu_stream_test(struct fb_gpu_stream *stream, bool *done)
{
	return FB_EUNSUPPORTED;
}

int fb_gpu_stream_wait(struct fb_gpu_stream *stream)
{
	return FB_EUNSUPPORTED;
}

double fb_gpu_stream_event_us(const struct fb_gpu_stream *stream)
{
	return (double)NAN;
}
