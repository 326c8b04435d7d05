/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing and unpacking by the processor, for movers in host memory. */
#ifndef FB_KVTRANSFER_STAGE_H
#define FB_KVTRANSFER_STAGE_H

#include <string.h>

#include "kvtransfer/job.h"

/* Gathers all regions of a pair in a step: from this rank's pages to its packed bytes. */
static inline void fb_kv_gather(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
				uint32_t step)
{
	uint32_t n = job->step_regions, span = fb_kv_span(&job->plan);

	for (uint32_t region = step * n; region < (step + 1) * n; region += span) {
		const char *pages = fb_kv_region_of(job, job->rank, FB_KV_PREFILL, region);
		char *out = fb_kv_out(job, pair, region);

		for (uint32_t r = 0; r < pair->runs; r++)
			memcpy(out + pair->run[r].at, pages + pair->run[r].src,
			       pair->run[r].bytes);
	}
}

/* Scatters them: from packed bytes to pages. */
static inline void fb_kv_scatter(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
				 uint32_t step)
{
	uint32_t n = job->step_regions, span = fb_kv_span(&job->plan);

	for (uint32_t region = step * n; region < (step + 1) * n; region += span) {
		char *pages = fb_kv_region_of(job, job->rank, FB_KV_DECODE, region);
		const char *in = fb_kv_in(job, pair, region);

		for (uint32_t r = 0; r < pair->runs; r++)
			memcpy(pages + pair->run[r].dst, in + pair->run[r].at,
			       pair->run[r].bytes);
	}
}

/* Bytes of a pair's message in a step. */
static inline uint64_t fb_kv_message(const struct fb_kv_job *job, const struct fb_kv_pair *pair)
{
	return pair->region_bytes * job->step_regions;
}

/* Copies what stays on the same rank if no mover does: a step's packed bytes, or all runs. */
static inline void fb_kv_keep(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
			      uint32_t step, bool staged)
{
	uint32_t span = fb_kv_span(&job->plan);

	if (staged) {
		memcpy(fb_kv_in(job, pair, step * job->step_regions),
		       fb_kv_out(job, pair, step * job->step_regions), fb_kv_message(job, pair));
		return;
	}
	for (uint32_t region = 0; region < fb_kv_regions(&job->plan.shape); region += span) {
		const char *from = fb_kv_region_of(job, job->rank, FB_KV_PREFILL, region);
		char *to = fb_kv_region_of(job, job->rank, FB_KV_DECODE, region);

		for (uint32_t r = 0; r < pair->runs; r++)
			memcpy(to + pair->run[r].dst, from + pair->run[r].src, pair->run[r].bytes);
	}
}

#endif
