/* SPDX-License-Identifier: BSD-3-Clause */
/* What takes the place of the GPU modules in a build without CUDA. */
#include <stdio.h>

#include "common/cuda/gpu.h"
#include "common/cuda/gpu_segment.h"
#include "common/error.h"

int fb_gpu_open(struct fb_gpu *gpu, const struct fb_world *world,
		char reason[FB_GPU_REASON_CHARS])
{
	(void)gpu;
	(void)world;
	snprintf(reason, FB_GPU_REASON_CHARS, "built without CUDA");
	return FB_EUNSUPPORTED;
}

void fb_gpu_close(struct fb_gpu *gpu)
{
	*gpu = (struct fb_gpu){.device = 0};
}

bool fb_gpu_clocks(const struct fb_gpu *gpu, struct fb_gpu_clocks *clocks)
{
	(void)gpu;
	(void)clocks;
	return false;
}

bool fb_gpu_segment_can(const struct fb_gpu *gpu, enum fb_gpu_memory memory, char *reason,
			size_t n)
{
	(void)gpu;
	(void)memory;
	snprintf(reason, n, "built without CUDA");
	return false;
}

int fb_gpu_segment_open(struct fb_segment *segment, const struct fb_gpu *gpu,
			enum fb_gpu_memory memory, size_t part_bytes)
{
	(void)segment;
	(void)gpu;
	(void)memory;
	(void)part_bytes;
	return fb_error(FB_EUNSUPPORTED, "GPU memory: built without CUDA");
}
