/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of the movers between GPUs: what they do is in move.h. Two of them, so that code for
 * any address costs nothing where all are multiples of 16.
 */
#include "common/cuda/device.h"
#include "common/mover/gpu/kernels.h"
/* Needs the device's functions. */
#include "common/mover/gpu/move.h"

__global__ void __launch_bounds__(FB_MOVE_THREADS, 2)
	fb_move_aligned_kernel(const __grid_constant__ struct fb_move_launch launch)
{
	fb_move_run(&launch, false);
}

__global__ void __launch_bounds__(FB_MOVE_THREADS, 2)
	fb_move_any_kernel(const __grid_constant__ struct fb_move_launch launch)
{
	fb_move_run(&launch, true);
}

extern "C" const void *fb_move_kernel(bool odd)
{
	return odd ? (const void *)fb_move_any_kernel : (const void *)fb_move_aligned_kernel;
}
