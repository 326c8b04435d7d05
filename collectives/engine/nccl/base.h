/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by engines nccl and nccl-process: both open this rank's GPU and NCCL. */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_BASE_H
#define FB_COLLECTIVES_ENGINE_NCCL_BASE_H

#include "collectives/engine/engine.h"
#include "common/cuda/gpu.h"
#include "common/library/nccl/comm.h"

/* An engine's structure begins with it. */
struct fb_nccl_base {
	struct fb_engine engine;
	struct fb_gpu gpu;          /* if has_gpu */
	bool has_gpu;
	struct fb_nccl nccl;        /* if has_nccl */
	bool has_nccl;
	int least_major;            /* compute capability of all ranks' GPUs */
	char why[FB_REASON_CHARS];  /* what is missing */
	struct fb_nccl_setup setup; /* as far as NCCL's log has it */
};

/*
 * Collective, within fb_engine_ops.open. A GPU or NCCL that is not there is no error. 0, or an
 * error (printed), the same on all ranks.
 */
int fb_nccl_base_open(struct fb_nccl_base *base);
void fb_nccl_base_close(struct fb_nccl_base *base);

/* ncclMemAlloc; FB_ENOMEM (printed): CUDA has not that much, so that less may be asked for. */
int fb_nccl_base_allocate(const struct fb_nccl *nccl, void **memory, size_t bytes);

/* fb_engine_ops.segment: ncclMemAlloc's memory, which all kinds of registration take. */
int fb_nccl_base_segment(struct fb_engine *engine, struct fb_segment *segment, size_t part_bytes);

/* The time in us; 0 if nobody measures. */
double fb_nccl_now_us(const struct fb_nccl_base *base);

#endif
