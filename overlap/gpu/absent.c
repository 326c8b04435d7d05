/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPU's step in a build without CUDA, in which no engine gets so far. */
#include <math.h>
#include <stdio.h>

#include "common/base/error.h"
#include "overlap/gpu/step.h"

int fb_gpu_compute_open(struct fb_gpu_compute **compute, const struct fb_gpu *gpu,
			const char *library, int sms)
{
	(void)compute;
	(void)gpu;
	(void)library;
	(void)sms;
	return fb_error(FB_EUNSUPPORTED, "computing on a GPU: built without CUDA");
}

void fb_gpu_compute_close(struct fb_gpu_compute *compute)
{
	(void)compute;
}

int fb_gpu_compute_resize(struct fb_gpu_compute *compute, uint64_t tokens, uint64_t hidden,
			  uint64_t most_rows)
{
	(void)compute;
	(void)tokens;
	(void)hidden;
	(void)most_rows;
	return FB_EUNSUPPORTED;
}

int fb_gpu_compute_enqueue(struct fb_gpu_compute *compute, uint64_t rows, void *stream)
{
	(void)compute;
	(void)rows;
	(void)stream;
	return FB_EUNSUPPORTED;
}

int fb_gpu_compute_finish(struct fb_gpu_compute *compute)
{
	(void)compute;
	return FB_EUNSUPPORTED;
}

void fb_gpu_compute_describe(const struct fb_gpu_compute *compute, char *text, size_t n)
{
	(void)compute;
	snprintf(text, n, "%s", "");
}

int fb_gpu_step_open(struct fb_gpu_step **step, const struct fb_gpu_step_config *config)
{
	(void)step;
	(void)config;
	return fb_error(FB_EUNSUPPORTED, "steps on a GPU: built without CUDA");
}

void fb_gpu_step_close(struct fb_gpu_step *step)
{
	(void)step;
}

int fb_gpu_step_ready(struct fb_gpu_step *step, enum fb_schedule schedule, int calls)
{
	(void)step;
	(void)schedule;
	(void)calls;
	return FB_EUNSUPPORTED;
}

int fb_gpu_step_run(struct fb_gpu_step *step, enum fb_schedule schedule, int calls)
{
	(void)step;
	(void)schedule;
	(void)calls;
	return FB_EUNSUPPORTED;
}

int fb_gpu_step_pack(struct fb_gpu_step *step)
{
	(void)step;
	return FB_EUNSUPPORTED;
}

double fb_gpu_step_event_us(const struct fb_gpu_step *step, enum fb_schedule schedule)
{
	(void)step;
	(void)schedule;
	return (double)NAN;
}
