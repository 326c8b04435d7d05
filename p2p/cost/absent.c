/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU memory of a build without CUDA: nobody gets to it, since there is no GPU. */
#include "common/base/error.h"
#include "p2p/cost/cost.h"

int fb_cost_cuda_open(struct fb_cost_context *context)
{
	(void)context;
	return fb_error(FB_EUNSUPPORTED, "GPU memory: built without CUDA");
}

void fb_cost_cuda_close(struct fb_cost_context *context)
{
	(void)context;
}

int fb_cost_cuda_get(struct fb_cost_context *context, size_t bytes)
{
	(void)context;
	(void)bytes;
	return FB_EUNSUPPORTED;
}

int fb_cost_cuda_drop(struct fb_cost_context *context)
{
	(void)context;
	return FB_EUNSUPPORTED;
}

int fb_cost_cuda_share(struct fb_cost_context *context)
{
	(void)context;
	return FB_EUNSUPPORTED;
}
