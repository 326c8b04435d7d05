/* SPDX-License-Identifier: BSD-3-Clause */
/* Computing and steps on a GPU in a build without CUDA, in which no engine gets so far. */
#include <math.h>
#include <stdio.h>

#include "common/base/error.h"
#include "overlap/gpu/compute.h"
#include "overlap/step/run.h"

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

int fb_gpu_compute_room(struct fb_gpu_compute *compute, const struct fb_work *work)
{
	(void)compute;
	(void)work;
	return FB_EUNSUPPORTED;
}

int fb_gpu_compute_enqueue(struct fb_gpu_compute *compute, const struct fb_work *work,
			   void *stream)
{
	(void)compute;
	(void)work;
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

int fb_gpu_run_open(struct fb_gpu_run **run, const struct fb_step_config *config)
{
	(void)run;
	(void)config;
	return fb_error(FB_EUNSUPPORTED, "steps on a GPU: built without CUDA");
}

void fb_gpu_run_close(struct fb_gpu_run *run)
{
	(void)run;
}

int fb_gpu_run_ready(struct fb_gpu_run *run, unsigned parts, int calls)
{
	(void)run;
	(void)parts;
	(void)calls;
	return FB_EUNSUPPORTED;
}

int fb_gpu_run_steps(struct fb_gpu_run *run, unsigned parts, int calls)
{
	(void)run;
	(void)parts;
	(void)calls;
	return FB_EUNSUPPORTED;
}

int fb_gpu_run_traced(struct fb_gpu_run *run, unsigned parts, struct fb_task_time *times,
		      double *error_s)
{
	(void)run;
	(void)parts;
	(void)times;
	(void)error_s;
	return FB_EUNSUPPORTED;
}

double fb_gpu_run_event_us(const struct fb_gpu_run *run, unsigned parts)
{
	(void)run;
	(void)parts;
	return (double)NAN;
}
