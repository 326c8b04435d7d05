/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the kernels of a call work, by the GPU's timer (NCCL's profiler, 2.26). */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_GPU_TIME_H
#define FB_COLLECTIVES_ENGINE_NCCL_GPU_TIME_H

#include "common/cuda/gpu_stream.h"
#include "common/system/group.h"

/*
 * Collective: the median in us of calls outside of timing, of the rank where it is longest; NAN if
 * NCCL does not report it. The same error on all ranks, or 0.
 */
int fb_nccl_gpu_time(const struct fb_group *group, struct fb_gpu_stream *stream, double *us);

#endif
