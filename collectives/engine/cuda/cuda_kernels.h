/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels that kernels.h makes for each datatype, by number. */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_CUDA_KERNELS_H
#define FB_COLLECTIVES_ENGINE_CUDA_CUDA_KERNELS_H

#include "collectives/engine/cuda/table.h"
#include "collectives/engine/engine.h"

/* Numbers below are those of enum fb_gpu_protocol: the interpreters. */
enum {
	/*
	 * Parameter: struct fb_gpu_exchange, with FB_GPU_SAME or, one further, without. Of ll; of
	 * ll128 with one peer, up to FB_GPU_FEW_PEERS, up to FB_GPU_MOST_PEERS.
	 */
	FB_GPU_KERNEL_EXCHANGE = FB_GPU_PROTOCOLS,
	FB_GPU_KERNEL_LINES_ONE = FB_GPU_KERNEL_EXCHANGE + 2,
	FB_GPU_KERNEL_LINES_FEW = FB_GPU_KERNEL_LINES_ONE + 2,
	FB_GPU_KERNEL_LINES_MOST = FB_GPU_KERNEL_LINES_FEW + 2,
	FB_GPU_KERNEL_SUM = FB_GPU_KERNEL_LINES_MOST + 2, /* struct fb_gpu_sum */
	/* As interpreters; not odd; a launch has FB_GPU_POOL bytes of dynamic shared memory. */
	FB_GPU_KERNEL_TMA,
	FB_GPU_KERNEL_STRIPED, /* not odd; every record is striped */
};

/*
 * For cudaLaunchKernel; of operations that reduce nothing, the one that moves bytes. `odd`: memory
 * or lengths are not all multiples of 8 bytes (protocols ll, ll128) or 16 bytes (simple, direct).
 */
const void *fb_gpu_kernel(const struct fb_operation *op, int which, bool odd);

#endif
