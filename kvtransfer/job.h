/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One hand-over as a rank sees it: the plan, which ranks have which part, and where pages and
 * staging memory lie.
 *
 * A rank's part of the segment holds, one behind the other: its pages as a prefill rank, its pages
 * as a decode rank, what it packs for others (out), and what others have packed for it (in).
 */
#ifndef FB_KVTRANSFER_JOB_H
#define FB_KVTRANSFER_JOB_H

#include "common/memory/segment.h"
#include "common/record/case.h"
#include "kvtransfer/plan.h"

/* The column `algorithm`. */
enum fb_kv_mode {
	FB_KV_DIRECT,    /* each run by itself, to its final place */
	FB_KV_BATCH,     /* the same, all runs in one call */
	FB_KV_STRIDED,   /* the same, by copies of two and three dimensions */
	FB_KV_DATATYPE,  /* the same, by derived datatypes of MPI's */
	FB_KV_PACK,      /* gathered, sent as one message for each pair, scattered */
	FB_KV_LAYERWISE, /* the same for each layer, one behind the other */
	FB_KV_MODES,
};

/* "direct", ..., NULL. */
extern const char *const fb_kv_modes[FB_KV_MODES + 1];

/* Which phases of a call run, as bits. MOVE alone moves what an earlier call has packed. */
enum fb_kv_phase {
	FB_KV_GATHER = 1,
	FB_KV_MOVE = 2,
	FB_KV_SCATTER = 4,
	FB_KV_ALL = 7,
};

struct fb_kv_job {
	struct fb_kv_plan plan; /* runs of those pairs that this rank has a part in */
	enum fb_kv_mode mode;
	enum fb_datatype type;
	uint64_t seed;
	int rank, nranks;
	int *rank_of[FB_KV_SIDES]; /* [tp]: which rank an index of a group is */
	int index[FB_KV_SIDES];    /* of this rank, -1: it is not in the group */
	uint32_t steps;            /* messages of a pair in a call: 1, or one for each layer */
	uint32_t step_regions;     /* regions in each */
	const struct fb_segment *segment;
	uint64_t pages_at[FB_KV_SIDES], out_at, in_at; /* in a part */
	uint64_t part_bytes;
	uint64_t stage_shift; /* staged: how much earlier out and in begin in host memory */
	/* The largest relative error of quantised pages (wire.h); NULL: pages are not quantised. */
	double *worst;
};

/*
 * Everything but segment, runs and data. `shift`: decode rank j is rank (j + shift) % nranks. 0 or
 * FB_ENOMEM (not printed); the caller closes the job either way.
 */
int fb_kv_job_open(struct fb_kv_job *job, const struct fb_kv_shape *shape, enum fb_kv_mode mode,
		   int rank, int nranks, int shift);
void fb_kv_job_close(struct fb_kv_job *job);

/* The runs of the pairs that this rank sends or receives. 0 or FB_ENOMEM. */
int fb_kv_job_plan(struct fb_kv_job *job);

static inline int fb_kv_sender(const struct fb_kv_job *job, const struct fb_kv_pair *pair)
{
	return job->rank_of[FB_KV_PREFILL][pair->prefill];
}

static inline int fb_kv_receiver(const struct fb_kv_job *job, const struct fb_kv_pair *pair)
{
	return job->rank_of[FB_KV_DECODE][pair->decode];
}

/* Addresses, in this process, of a rank's region and of a pair's packed bytes of a region. */
static inline char *fb_kv_region_of(const struct fb_kv_job *job, int rank, enum fb_kv_side side,
				    uint32_t region)
{
	return fb_segment_part(job->segment, rank) + job->pages_at[side] +
	       fb_kv_region_at(&job->plan.shape, side, region);
}

static inline char *fb_kv_out(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
			      uint32_t region)
{
	return fb_segment_part(job->segment, fb_kv_sender(job, pair)) + job->out_at +
	       pair->out_at + region * pair->region_bytes;
}

static inline char *fb_kv_in(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
			     uint32_t region)
{
	return fb_segment_part(job->segment, fb_kv_receiver(job, pair)) + job->in_at +
	       pair->in_at + region * pair->region_bytes;
}

/* The bytes that a job moves; equal on all ranks. */
struct fb_kv_sums {
	double delivered_bytes; /* to all decode ranks */
	double crossing_bytes;  /* those of them that move to another rank */
	double port_bytes;      /* bytes in or out, the larger, of the rank with most of them */
};

void fb_kv_sum(const struct fb_kv_job *job, struct fb_kv_sums *sums);

#endif
