/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has which part of a hand-over, and where; see job.h. */
#include "kvtransfer/job.h"

#include <stdlib.h>

#include "common/base/error.h"

enum { AREA_ALIGNMENT = 4096 };

const char *const fb_kv_modes[] = {
	[FB_KV_DIRECT] = "direct", [FB_KV_BATCH] = "batch", [FB_KV_STRIDED] = "strided",
	[FB_KV_DATATYPE] = "datatype", [FB_KV_PACK] = "pack", [FB_KV_LAYERWISE] = "layerwise",
	[FB_KV_MODES] = NULL,
};

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + AREA_ALIGNMENT - 1) / AREA_ALIGNMENT * AREA_ALIGNMENT;
}

int fb_kv_job_open(struct fb_kv_job *job, const struct fb_kv_shape *shape, enum fb_kv_mode mode,
		   int rank, int nranks, int shift)
{
	bool layers = mode == FB_KV_LAYERWISE;
	uint64_t at = 0;
	int err;

	*job = (struct fb_kv_job){
		.mode = mode, .rank = rank, .nranks = nranks, .index = {-1, -1},
		.steps = layers ? shape->layers : 1,
		.step_regions = fb_kv_regions(shape) / (layers ? shape->layers : 1),
	};
	err = fb_kv_plan_open(&job->plan, shape, 0);
	job->plan.by_layer = layers;
	for (int side = 0; side < FB_KV_SIDES && !err; side++) {
		uint32_t tp = shape->tp[side];

		job->rank_of[side] = calloc(tp, sizeof(*job->rank_of[side]));
		if (!job->rank_of[side])
			return FB_ENOMEM;
		for (uint32_t i = 0; i < tp; i++) {
			int r = side == FB_KV_DECODE ? ((int)i + shift) % nranks : (int)i;

			job->rank_of[side][i] = r;
			if (r == rank)
				job->index[side] = (int)i;
		}
		job->pages_at[side] = at;
		at += aligned(fb_kv_area_bytes(shape, (enum fb_kv_side)side));
	}
	job->out_at = at;
	job->in_at = at + aligned(job->plan.out_bytes);
	job->part_bytes = job->in_at + aligned(job->plan.in_bytes);
	return err;
}

void fb_kv_job_close(struct fb_kv_job *job)
{
	fb_kv_plan_close(&job->plan);
	for (int side = 0; side < FB_KV_SIDES; side++)
		free(job->rank_of[side]);
	*job = (struct fb_kv_job){.rank = 0};
}

int fb_kv_job_plan(struct fb_kv_job *job)
{
	int err = FB_OK;

	for (uint32_t p = 0; p < job->plan.pairs && !err; p++) {
		struct fb_kv_pair *pair = &job->plan.pair[p];

		if (fb_kv_sender(job, pair) == job->rank || fb_kv_receiver(job, pair) == job->rank)
			err = fb_kv_plan_runs(&job->plan, pair);
	}
	return err;
}

void fb_kv_sum(const struct fb_kv_job *job, struct fb_kv_sums *sums)
{
	*sums = (struct fb_kv_sums){.port_bytes = 0};
	for (int rank = 0; rank < job->nranks; rank++) {
		double out = 0, in = 0, most;

		for (uint32_t p = 0; p < job->plan.pairs; p++) {
			const struct fb_kv_pair *pair = &job->plan.pair[p];
			double bytes = (double)pair->region_bytes *
				       fb_kv_regions(&job->plan.shape);
			int from = fb_kv_sender(job, pair), to = fb_kv_receiver(job, pair);

			sums->delivered_bytes += to == rank ? bytes : 0;
			in += to == rank && from != rank ? bytes : 0;
			out += from == rank && to != rank ? bytes : 0;
		}
		sums->crossing_bytes += in;
		most = in > out ? in : out;
		sums->port_bytes = most > sums->port_bytes ? most : sums->port_bytes;
	}
}
