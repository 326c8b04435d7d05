/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the file that has the kernels of a datatype; see cuda_kernels.h. */
#include "collectives/engine/cuda/cuda_kernels.h"

#define KERNELS(type) const void *fb_gpu_kernels_##type(int which, bool odd)
KERNELS(i8);
KERNELS(u8);
KERNELS(i32);
KERNELS(u32);
KERNELS(i64);
KERNELS(u64);
KERNELS(f16);
KERNELS(bf16);
KERNELS(f32);
KERNELS(f64);
KERNELS(f8e4m3);
KERNELS(f8e5m2);
KERNELS(move);

const void *fb_gpu_kernel(const struct fb_operation *op, int which, bool odd)
{
	static const void *(*const kernels[FB_DATATYPES])(int which, bool odd) = {
		[FB_I8] = fb_gpu_kernels_i8,   [FB_U8] = fb_gpu_kernels_u8,
		[FB_I32] = fb_gpu_kernels_i32, [FB_U32] = fb_gpu_kernels_u32,
		[FB_I64] = fb_gpu_kernels_i64, [FB_U64] = fb_gpu_kernels_u64,
		[FB_F16] = fb_gpu_kernels_f16, [FB_BF16] = fb_gpu_kernels_bf16,
		[FB_F32] = fb_gpu_kernels_f32, [FB_F64] = fb_gpu_kernels_f64,
		[FB_F8E4M3] = fb_gpu_kernels_f8e4m3,
		[FB_F8E5M2] = fb_gpu_kernels_f8e5m2,
	};

	if (!fb_collective_info(op->collective)->reduces || op->collective == FB_BARRIER)
		return fb_gpu_kernels_move(which, odd);
	return kernels[op->datatype](which, odd);
}
