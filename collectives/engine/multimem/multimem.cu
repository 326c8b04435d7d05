/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of engine multimem: what they do is in multimem.h. Not run on hardware. */
#include "common/cuda/device.h"
/* Above it. */
#include "collectives/engine/multimem/device_multimem.h"
/* Needs both. */
#include "collectives/engine/multimem/multimem.h"

#define KERNEL(name, kind)                                                              \
	__global__ void __launch_bounds__(FB_MULTIMEM_THREADS, 1)                       \
		fb_multimem_##name(const __grid_constant__ struct fb_multimem_launch l) \
	{                                                                               \
		fb_multimem_run(&l, kind);                                              \
	}

KERNEL(move, FB_MULTIMEM_MOVE)
KERNEL(f32_sum, FB_MULTIMEM_F32_SUM)
KERNEL(f16_sum, FB_MULTIMEM_F16_SUM)
KERNEL(f16_min, FB_MULTIMEM_F16_MIN)
KERNEL(f16_max, FB_MULTIMEM_F16_MAX)
KERNEL(bf16_sum, FB_MULTIMEM_BF16_SUM)
KERNEL(bf16_min, FB_MULTIMEM_BF16_MIN)
KERNEL(bf16_max, FB_MULTIMEM_BF16_MAX)

extern "C" const void *fb_multimem_kernel(enum fb_multimem_kind kind);
extern "C" const void *fb_multimem_kernel(enum fb_multimem_kind kind)
{
	static const void *const kernels[FB_MULTIMEM_KINDS] = {
		(const void *)fb_multimem_move,	    (const void *)fb_multimem_f32_sum,
		(const void *)fb_multimem_f16_sum,  (const void *)fb_multimem_f16_min,
		(const void *)fb_multimem_f16_max,  (const void *)fb_multimem_bf16_sum,
		(const void *)fb_multimem_bf16_min, (const void *)fb_multimem_bf16_max,
	};

	return kernels[kind];
}
