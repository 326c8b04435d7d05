/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels that kernels.h makes for each datatype, by number. */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_CUDA_KERNELS_H
#define FB_COLLECTIVES_ENGINE_CUDA_CUDA_KERNELS_H

#include "collectives/engine/cuda/table.h"
#include "collectives/engine/engine.h"

/* Numbers below are those of enum fb_gpu_protocol: the interpreters. */
enum {
	/* Parameter: struct fb_gpu_exchange, with FB_GPU_SAME or without; of ll, of ll128. */
	FB_GPU_KERNEL_EXCHANGE_SAME = FB_GPU_PROTOCOLS,
	FB_GPU_KERNEL_EXCHANGE_EACH,
	FB_GPU_KERNEL_LINES_SAME,
	FB_GPU_KERNEL_LINES_EACH,
	FB_GPU_KERNEL_SUM,                         /* struct fb_gpu_sum */
};

/* For cudaLaunchKernel; of operations that reduce nothing, the one that moves bytes. */
const void *fb_gpu_kernel(const struct fb_operation *op, int which);

#endif
