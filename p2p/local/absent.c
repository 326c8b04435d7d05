/* SPDX-License-Identifier: BSD-3-Clause */
/* What takes the place of copies between a processor and its GPU in a build without CUDA. */
#include "common/base/error.h"
#include "p2p/local/local.h"

int fb_local_memory_get(enum fb_local_memory kind, size_t bytes, void **memory)
{
	(void)kind;
	(void)bytes;
	(void)memory;
	return fb_error(FB_EUNSUPPORTED, "memory for a GPU: built without CUDA");
}

void fb_local_memory_put(enum fb_local_memory kind, void *memory, size_t bytes)
{
	(void)kind;
	(void)memory;
	(void)bytes;
}

int fb_local_open(struct fb_local_request **request, const struct fb_gpu *gpu,
		  const struct fb_local_job *job, const struct fb_case *c,
		  const struct fb_session *session)
{
	(void)request;
	(void)gpu;
	(void)job;
	(void)c;
	(void)session;
	return fb_error(FB_EUNSUPPORTED, "copies to a GPU: built without CUDA");
}

/* Nobody gets a request, so nobody gets to the rest. */

void fb_local_close(struct fb_local_request *request)
{
	(void)request;
}

int fb_local_ready(struct fb_local_request *request, int calls)
{
	(void)request;
	(void)calls;
	return FB_EUNSUPPORTED;
}

int fb_local_run(struct fb_local_request *request, int calls)
{
	(void)request;
	(void)calls;
	return FB_EUNSUPPORTED;
}

int fb_local_channels(const struct fb_local_request *request)
{
	(void)request;
	return 0;
}

void fb_local_columns(struct fb_local_request *request, double value[FB_P2P_GPU_COLUMNS])
{
	(void)request;
	(void)value;
}
